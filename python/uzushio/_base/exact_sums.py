"""Sums over points and ranks that are independent of the decomposition.

Terms are added in double-double arithmetic (106 significant bits) and rounded once. The rounding
errors of any order of terms are then far below the last bit of the sum.

Source: T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26
(2005), algorithms 3.1 (TwoSum) and 5.3 (Dot2), in vector lanes in `src/stencil/dot.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio import _core

if TYPE_CHECKING:
    from mpi4py import MPI

#: Unevaluated sum of two doubles (high, low).
DoubleDouble = tuple[float, float]


def dot(a: np.ndarray, b: np.ndarray) -> DoubleDouble:
    """Return the dot product of two arrays of this rank. Not collective."""
    product: DoubleDouble = _core.stencil.dot(a.reshape(-1), b.reshape(-1))
    return product


def over_ranks(comm: MPI.Comm, values: Sequence[DoubleDouble]) -> list[DoubleDouble]:
    """Return the sum over ranks, in rank order, of each of several values (collective)."""
    mine = np.array(values, dtype=np.float64).reshape(len(values), 2)
    of_ranks = np.empty((comm.size, *mine.shape))
    comm.Allgather(mine, of_ranks)
    totals = np.empty_like(mine)
    _core.stencil.sum_over_ranks(of_ranks, totals)
    return [(float(high), float(low)) for high, low in totals]


def rounded(value: DoubleDouble) -> float:
    """Return the nearest double."""
    return value[0] + value[1]


def add(addend: DoubleDouble, other: DoubleDouble) -> DoubleDouble:
    """Return the sum of two double-double numbers."""
    a, b = addend[0], other[0]
    total = a + b
    back = total - a
    lost = (a - (total - back)) + (b - back) + addend[1] + other[1]
    high = total + lost
    return high, lost - (high - total)
