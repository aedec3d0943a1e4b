"""Assignments of least total cost."""

from __future__ import annotations

import numpy as np

from uzushio.placement.machines.machine import Floats, Indices


def assign(costs: Floats) -> Indices:
    """Return the column of each row that minimises the total cost, each column once.

    H. W. Kuhn's method with shortest augmenting paths: R. Jonker and A. Volgenant, Computing 38
    (1987) 325.

    Args:
        costs: cost of each pair, (n, n).
    """
    count = len(costs)
    columns: Indices = np.argmin(costs, axis=1)
    if len(np.unique(columns)) == count:  # every row has its cheapest column
        return columns
    row_of = np.full(count, -1)
    row_price, column_price = np.zeros(count), np.zeros(count)
    for first in range(count):
        row, column = first, -1
        reached = np.zeros(count, bool)
        shortest = np.full(count, np.inf)
        before = np.full(count, -1)
        length = 0.0
        rows = []
        while row >= 0:
            rows.append((row, length))
            reduced = length + costs[row] - row_price[row] - column_price
            better = ~reached & (reduced < shortest)
            shortest[better] = reduced[better]
            before[better] = column
            column = int(np.argmin(np.where(reached, np.inf, shortest)))
            length = float(shortest[column])
            reached[column] = True
            row = int(row_of[column])
        for passed, at in rows:
            row_price[passed] += length - at
        column_price[reached] -= length - shortest[reached]
        while column >= 0:
            previous = int(before[column])
            row_of[column] = first if previous < 0 else row_of[previous]
            column = previous
    result = np.empty(count, np.int64)
    result[row_of] = np.arange(count)
    return result
