"""Record of the iterations, for progress, plots and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_COLUMNS = ("iteration", "window", "J", "gradient")
_COUNTS = ("forward", "backward", "seconds")


class History:
    """Table with a row for each iteration; the first row is the first guess.

    Columns: iteration, steps of the window, J, maximum element of the projected gradient (in the
    optimiser's units), each parameter, forward and backward runs so far, seconds so far.
    """

    def __init__(self, parameters: Sequence[str]) -> None:
        """Create a table without rows."""
        self.parameters = list(parameters)
        self.columns = [*_COLUMNS, *self.parameters, *_COUNTS]
        self._rows: list[list[float]] = []
        self._before = 0.0

    @property
    def last(self) -> int:
        """Return the last iteration; -1 if there is none."""
        return int(self._rows[-1][0]) if self._rows else -1

    def add(self, row: Mapping[str, float]) -> None:
        """Add a row, a value for each column; its seconds are those since `restore`."""
        total = {**row, "seconds": self._before + row["seconds"]}
        self._rows.append([total[column] for column in self.columns])

    @property
    def window(self) -> int:
        """Return the window of the last row."""
        return int(self._rows[-1][1]) if self._rows else 0

    def windows_of(self, rows: Sequence[Sequence[float]]) -> list[int]:
        """Return the windows of the stages in rows from `stored`, without duplicates."""
        return list(dict.fromkeys(int(row[self.columns.index("window")]) for row in rows))

    def newest(self) -> dict[str, float]:
        """Return the last row."""
        return dict(zip(self.columns, self._rows[-1], strict=True))

    def first(self, column: str) -> float:
        """Return a value of the first row."""
        return self._rows[0][self.columns.index(column)]

    def of(self, column: str) -> np.ndarray:
        """Return a column."""
        return np.array([row[self.columns.index(column)] for row in self._rows])

    def stored(self) -> list[list[float]]:
        """Return plain values for `restore`."""
        return [[float(value) for value in row] for row in self._rows]

    def restore(self, rows: Sequence[Sequence[float]]) -> None:
        """Restore the rows that `stored` returned."""
        self._rows = [list(row) for row in rows]
        self._before = self._rows[-1][-1] if self._rows else 0.0

    def table(self) -> str:
        """Return all rows as comma-separated values."""
        lines = [",".join(self.columns)]
        lines += [",".join(_exact(value) for value in row) for row in self._rows]
        return "\n".join(lines) + "\n"


def _exact(value: Any) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
