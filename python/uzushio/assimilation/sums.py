"""Sums over all points and ranks that do not depend on how the points are spread over ranks.

Terms are added in doubled precision (two numbers that together hold 106 bits), and rounded once at
the end. The rounding errors of another order of terms are then far below the last bit of the sum.

Source: T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26
(2005), algorithms 3.1 (TwoSum), 3.3 (TwoProduct) and, in pairs instead of one by one, 5.3 (Dot2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI

#: 2^27 + 1 cuts a double into two halves whose products are exact (T. J. Dekker, 1971).
_SPLIT = 134217729.0
#: Elements worked on at once: their temporaries stay in the cache.
_BLOCK = 8192

Doubled = tuple[float, float]


def dot(a: np.ndarray, b: np.ndarray) -> Doubled:
    """The sum of products of two arrays of one shape, as a number and what it lacks."""
    a, b = a.reshape(-1), b.reshape(-1)
    total: Doubled = (0.0, 0.0)
    for first in range(0, a.size, _BLOCK):
        part = slice(first, first + _BLOCK)
        total = add(total, _block(a[part], b[part]))
    return total


def over_ranks(comm: MPI.Comm, values: Sequence[Doubled]) -> list[Doubled]:
    """Add what the ranks have, each number by itself, in the order of ranks (collective)."""
    mine = np.array(values, dtype=np.float64).reshape(len(values), 2)
    everybody = np.empty((comm.size, *mine.shape))
    comm.Allgather(mine, everybody)
    totals = [(0.0, 0.0)] * len(values)
    for table in everybody:
        totals = [
            add(total, (float(high), float(low)))
            for total, (high, low) in zip(totals, table, strict=True)
        ]
    return totals


def rounded(total: Doubled) -> float:
    """The nearest double."""
    return total[0] + total[1]


def _block(a: np.ndarray, b: np.ndarray) -> Doubled:
    high, low = _two_product(a, b)
    while high.size > 1:
        half = high.size // 2
        rest = high[2 * half :], low[2 * half :]
        total, lost = _two_sum(high[:half], high[half : 2 * half])
        lost += low[:half]
        lost += low[half : 2 * half]
        high, low = np.concatenate([total, rest[0]]), np.concatenate([lost, rest[1]])
    return (float(high[0]), float(low[0])) if high.size else (0.0, 0.0)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    c = _SPLIT * a
    high = c - (c - a)
    return high, a - high


def add(one: Doubled, other: Doubled) -> Doubled:
    """The sum of two doubled numbers."""
    a, b = one[0], other[0]
    total = a + b
    back = total - a
    lost = (a - (total - back)) + (b - back) + one[1] + other[1]
    high = total + lost
    return high, lost - (high - total)
