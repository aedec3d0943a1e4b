"""Numbers of a plot over the steps, and charts of steps, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from uzushio.pipeline.chart import Chart

#: Maximum number of steps in a record; even.
MAX_STEPS = 1000
#: Maximum bytes of the curves in a record of charts.
MAX_BYTES = 8 << 20


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


class ChartRecord:
    """Charts of the last steps, at most `MAX_STEPS` and `MAX_BYTES`; the newest is always there."""

    def __init__(self) -> None:
        self._charts: dict[int, tuple[float, Chart]] = {}
        self._bytes = 0

    @property
    def charts(self) -> Mapping[int, tuple[float, Chart]]:
        """Copy of all: time and chart of each step."""
        return dict(self._charts)

    def add(self, step: int, time: float, chart: Chart) -> None:
        """Add the chart of a step, which replaces that of a former run."""
        self._drop(step)
        self._charts[step] = time, chart
        self._bytes += _bytes(chart)
        while len(self._charts) > 1 and (len(self._charts) > MAX_STEPS or self._bytes > MAX_BYTES):
            self._drop(next(iter(self._charts)))

    def _drop(self, step: int) -> None:
        if step in self._charts:
            self._bytes -= _bytes(self._charts.pop(step)[1])


def _bytes(chart: Chart) -> int:
    return sum(curve.x.nbytes + curve.y.nbytes for curve in chart.curves)
