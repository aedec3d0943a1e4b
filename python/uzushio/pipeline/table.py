"""Table of numbers over time in a CSV file, written by rank 0."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from uzushio.errors import OutputError
from uzushio.files import atomic_write


class Table:
    """CSV file whose first columns are the number and the time of a step.

    `add` writes all rows of a step to the file or none. A restarted or repeated run replaces the
    rows of the steps that it repeats.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        """Set path and columns; no file is opened.

        Args:
            path: path of the file.
            columns: names of the columns after `step` and `time`.
        """
        self.path, self.columns = path, ["step", "time", *columns]
        self._steps: list[np.ndarray] | None = None  # (rows, columns) of each

    @property
    def values(self) -> np.ndarray:
        """Return all rows, (rows, columns)."""
        return np.concatenate([np.empty((0, len(self.columns))), *(self._steps or [])])

    @property
    def last(self) -> np.ndarray:
        """Return the rows of the latest step, (rows, columns)."""
        return self._steps[-1] if self._steps else self.values

    def add(self, index: int, time: float, rows: Iterable[Sequence[float]] | np.ndarray) -> None:
        """Add the rows of a step.

        Raises:
            OutputError: the file has other columns. OSError: it cannot be written.
        """
        if self._steps is None:
            self._steps = self._found()
        again = [step for step in self._steps if step[0, 0] >= index]
        if again or not self.path.exists():
            del self._steps[len(self._steps) - len(again) :]
            self._rewrite(self.values)
        fresh = np.array([[index, time, *row] for row in rows], float)
        self._append(_text(fresh.tolist()))
        self._steps.append(fresh)

    def _found(self) -> list[np.ndarray]:
        """Read the rows of the file, by step."""
        if not self.path.exists():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        if not lines or lines[0] != self.columns:
            raise OutputError(
                f"{self.path} has other columns than {', '.join(self.columns)}; move it away, "
                "or give the action another name."
            )
        try:
            rows = np.array(lines[1:], float).reshape(-1, len(self.columns))
        except ValueError as error:
            raise OutputError(
                f"{self.path} contains a value that is not a number ({error}); move it away."
            ) from error
        ends = np.flatnonzero(np.diff(rows[:, 0])) + 1
        return [step for step in np.split(rows, ends) if len(step)]

    def _rewrite(self, rows: np.ndarray) -> None:
        atomic_write(self.path, _text([self.columns, *rows.tolist()]))

    def _append(self, text: str) -> None:
        data, file = text.encode(), os.open(self.path, os.O_WRONLY | os.O_APPEND)
        size = os.fstat(file).st_size
        try:
            while data:
                data = data[os.write(file, data) :]
        except OSError as error:
            os.ftruncate(file, size)
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        finally:
            os.close(file)


def _text(rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([_number(value) for value in row])
    return out.getvalue()


def _number(value: object) -> object:
    """Format a number with all its digits, integers without a point."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return value
