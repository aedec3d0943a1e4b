"""Sums over all points and ranks that do not depend on how the points are spread over ranks.

Terms are added in doubled precision (two numbers that together hold 106 bits), and rounded once at
the end. The rounding errors of another order of terms are then far below the last bit of the sum.

Source: T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26
(2005), algorithms 3.1 (TwoSum) and 5.3 (Dot2), which `src/stencil/dot.cpp` has in lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio import _core

if TYPE_CHECKING:
    from mpi4py import MPI

Doubled = tuple[float, float]


def dot(a: np.ndarray, b: np.ndarray) -> Doubled:
    """The sum of products of two arrays of this rank, as a number and what it lacks."""
    high, low = _core.stencil.dot(a.reshape(-1), b.reshape(-1))
    return high, low


def over_ranks(comm: MPI.Comm, values: Sequence[Doubled]) -> list[Doubled]:
    """Add what the ranks have, each number by itself, in the order of ranks (collective)."""
    mine = np.array(values, dtype=np.float64).reshape(len(values), 2)
    everybody = np.empty((comm.size, *mine.shape))
    comm.Allgather(mine, everybody)
    totals = np.empty_like(mine)
    _core.stencil.sum_over_ranks(everybody, totals)
    return [(float(high), float(low)) for high, low in totals]


def rounded(total: Doubled) -> float:
    """The nearest double."""
    return total[0] + total[1]


def add(one: Doubled, other: Doubled) -> Doubled:
    """The sum of two doubled numbers."""
    a, b = one[0], other[0]
    total = a + b
    back = total - a
    lost = (a - (total - back)) + (b - back) + one[1] + other[1]
    high = total + lost
    return high, lost - (high - total)
