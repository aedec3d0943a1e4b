"""Table of numbers over time in a CSV file, written by rank 0."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from uzushio._base.files import atomic_write
from uzushio.errors import OutputError
from uzushio.pipeline.lines import truncate_after


class Table:
    """CSV file whose first columns are the number and the time of a step.

    `add` writes all rows of a step to the end of the file, or none; its cost does not depend on the
    number of earlier rows, which are in the file alone. A repeated job replaces the rows of the
    steps that it repeats: those from the number of its first step on.
    """

    def __init__(self, path: Path, columns: Sequence[str], begun: bool = False) -> None:
        """Set path and columns; no file is opened.

        Args:
            path: path of the file.
            columns: names of the columns after `step` and `time`.
            begun: whether this job has added rows to the file already; they are kept.
        """
        self.path, self.columns = path, ["step", "time", *columns]
        self.begun, self._checked = begun, False
        self._last = np.empty((0, len(self.columns)))

    @property
    def values(self) -> np.ndarray:
        """Read all rows, (rows, columns).

        Raises:
            OutputError: the file holds other rows.
        """
        if not self.path.exists():
            return np.empty((0, len(self.columns)))
        try:
            rows = np.loadtxt(self.path, delimiter=",", skiprows=self._heading_lines(), ndmin=2)
            return rows.reshape(-1, len(self.columns))
        except ValueError as error:
            raise OutputError(
                f"{self.path} contains a value that is not a number ({error}); move it away."
            ) from error

    @property
    def last(self) -> np.ndarray:
        """Rows that were added last, (rows, columns)."""
        return self._last

    def add(
        self,
        index: int,
        time: float | Sequence[float],
        rows: Iterable[Sequence[float]] | np.ndarray,
    ) -> None:
        """Add the rows of a step; `time` is that of all rows, or one for each.

        Raises:
            OutputError: the file has other columns. OSError: it cannot be written.
        """
        if not self.path.exists():
            atomic_write(self.path, _text([self.columns]))
        elif not self._checked:
            self._heading_lines()
            if not self.begun:
                truncate_after(self.path, index - 1)
        self.begun = self._checked = True
        rows = list(rows)
        times = np.broadcast_to(time, len(rows))
        added = np.array([[index, at, *row] for at, row in zip(times, rows, strict=True)], float)
        self._append(_text(added.tolist()))
        self._last = added

    def _heading_lines(self) -> int:
        """Return the number of lines of the names; raises `OutputError` for other columns."""
        with self.path.open(newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            if next(lines, None) != self.columns:
                raise OutputError(
                    f"{self.path} has other columns than {', '.join(self.columns)}; move it away, "
                    "or give the action another name."
                )
            return lines.line_num

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
