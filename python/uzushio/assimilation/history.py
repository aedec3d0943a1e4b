"""What happened in each iteration, for progress, plots and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_COLUMNS = ("iteration", "window", "J", "gradient")
_COUNTS = ("forward", "backward", "seconds")


class History:
    """A row for each iteration, the first for the first guess.

    Columns: iteration, steps of the run that J looks at, J, the largest element of the projected
    gradient (in the optimiser's units), each parameter, forward and backward runs so far, seconds
    so far.
    """

    def __init__(self, parameters: Sequence[str]) -> None:
        """Begin without rows."""
        self.parameters = list(parameters)
        self.columns = [*_COLUMNS, *self.parameters, *_COUNTS]
        self._rows: list[list[float]] = []
        self._before = 0.0

    @property
    def last(self) -> int:
        """The last iteration noted; -1 if there is none."""
        return int(self._rows[-1][0]) if self._rows else -1

    def add(
        self,
        iteration: int,
        window: int,
        value: float,
        gradient: float,
        parameters: np.ndarray,
        forward: int,
        backward: int,
        seconds: float,
    ) -> None:
        """Add a row."""
        self._rows.append(
            [
                iteration,
                window,
                value,
                gradient,
                *parameters,
                forward,
                backward,
                self._before + seconds,
            ]
        )

    @property
    def window(self) -> int:
        """The last window noted."""
        return int(self._rows[-1][1]) if self._rows else 0

    def windows_of(self, rows: Sequence[Sequence[float]]) -> list[int]:
        """The windows of rows that `stored` gave: each once, of one stage after the other."""
        return list(dict.fromkeys(int(row[self.columns.index("window")]) for row in rows))

    def newest(self) -> dict[str, float]:
        """The last row."""
        return dict(zip(self.columns, self._rows[-1], strict=True))

    def first(self, column: str) -> float:
        """A value of the first row."""
        return self._rows[0][self.columns.index(column)]

    def of(self, column: str) -> np.ndarray:
        """A column."""
        return np.array([row[self.columns.index(column)] for row in self._rows])

    def stored(self) -> list[list[float]]:
        """Plain values for `restore`."""
        return [[float(value) for value in row] for row in self._rows]

    def restore(self, rows: Sequence[Sequence[float]]) -> None:
        """Take what `stored` gave."""
        self._rows = [list(row) for row in rows]
        self._before = self._rows[-1][-1] if self._rows else 0.0

    def table(self) -> str:
        """All rows as comma-separated values."""
        lines = [",".join(self.columns)]
        lines += [",".join(_exact(value) for value in row) for row in self._rows]
        return "\n".join(lines) + "\n"


def _exact(value: Any) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
