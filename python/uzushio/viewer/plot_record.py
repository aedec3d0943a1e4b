"""Numbers of a plot over the steps, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Maximum number of steps in a record; even.
MAX_STEPS = 1000


class PlotRecord:
    """Rows of numbers, one for each step, thinned evenly to at most `MAX_STEPS`.

    When the record is full, every second row is dropped, and from then on half as many are kept.
    The newest row is always there. A step that comes again, as after a restart, replaces the rows
    from this step on.

    Args:
        columns: names of the columns after number and time of the step.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._rows = np.empty((MAX_STEPS + 1, 2 + len(self.columns)))
        self._count, self._stride = 0, 1
        self._since = 0  # steps of the last row after the last one that stays

    @property
    def rows(self) -> NDArray[np.float64]:
        """Copy of all rows: step, time and the columns; shape (rows, 2 + columns)."""
        return self._rows[: self._count].copy()

    def add(self, step: int, time: float, values: Sequence[float] | NDArray[np.float64]) -> None:
        """Add the row of a step; `values` has one number for each column."""
        first = int(np.searchsorted(self._rows[: self._count, 0], step))
        if first < self._count:
            self._count, self._since = first, 0
            self._stride = self._stride if first else 1
        elif self._since:
            self._count -= 1  # this row was there only as the newest
        self._rows[self._count] = step, time, *values
        self._count += 1
        self._since = (self._since + 1) % self._stride
        if self._count > MAX_STEPS:
            kept = self._rows[: self._count : 2].copy()
            self._since += self._stride if self._since else 0
            self._count, self._stride = len(kept), 2 * self._stride
            self._rows[: self._count] = kept
