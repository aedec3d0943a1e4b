"""Lines and tables on the standard streams of a command, which may be closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress


def tell(text: str) -> None:
    """Print a line to the standard output, if it is still open."""
    with output_may_end():
        print(encodable(text, sys.stdout), flush=True)


def warn(text: str) -> None:
    """Print a warning to the standard error, if it is still open."""
    with output_may_end("stderr"):
        line = encodable(f"uzushio: warning: {text}", sys.stderr)
        print(line, file=sys.stderr, flush=True)


def encodable(text: str, stream: TextIO) -> str:
    """Return a text with a replacement for each character that a stream cannot encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


@contextmanager
def output_may_end(stream: str = "stdout") -> Iterator[None]:
    """Continue a run whose output was closed (`| head`, a closed terminal).

    The stream is then redirected to the null device.
    """
    try:
        yield
    except OSError:
        discard(stream)


def discard(stream: str = "stdout") -> None:
    """Redirect a stream to the null device."""
    # A stream without a file (as under a test runner) raises a kind of OSError here.
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, getattr(sys, stream).fileno())
        os.close(nowhere)


class TerminalConsole(Console):
    """Console that discards its output when the stream is closed."""

    def on_broken_pipe(self) -> None:
        """Discard the output; Rich would end the program."""
        discard()


class ProgressOutput:
    """Progress as a bar on a terminal, otherwise as lines; messages appear above the bar.

    Args:
        columns: width of the terminal; 0: no terminal.
        enabled: whether anything is printed.
        text: text of the bar before the first `show`.
    """

    def __init__(self, columns: int, enabled: bool, text: str = "") -> None:
        self._columns, self._enabled, self._text = columns, enabled, text
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        """Show the bar if there is a terminal."""
        if self._enabled and self._columns:
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                BarColumn(bar_width=20),
                TextColumn(
                    "{task.percentage:3.0f}% {task.description}",
                    markup=False,
                    table_column=Column(no_wrap=True, overflow="ellipsis"),
                ),
                console=TerminalConsole(force_terminal=True, width=self._columns),
                auto_refresh=False,
            )
            self._bar.add_task(self._text, total=1.0)
            with output_may_end():
                self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state of the bar on the terminal."""
        if self._bar is not None:
            with output_may_end():
                self._bar.stop()
            self._bar = None

    def show(self, fraction: float, text: str) -> None:
        """Show the share that is done, 0 to 1, and a text."""
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0], completed=fraction, description=encodable(text, sys.stdout)
            )
            with output_may_end():
                self._bar.refresh()
        elif self._enabled:
            tell(f"{fraction:4.0%} {text}")

    def say(self, text: str) -> None:
        """Print a line, unless it is empty."""
        if self._bar is not None:
            with output_may_end():
                text = encodable(text, sys.stdout)
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self._enabled and text:
            tell(text)


def print_table(table: Table, console: Console) -> None:
    """Print a table, or its rows as lists of values where its words do not fit the width."""
    if sum(map(_narrowest, table.columns)) + 3 * len(table.columns) + 1 <= console.width:
        console.print(table)
        return
    if table.title:
        console.print(table.title, markup=False)
    names = [str(column.header) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first, *others = map(_plain, cells)
        if first:
            console.print(f"{names[0]} {first}".strip(), markup=False)
        lead = "- "
        for name, value in zip(names[1:], others, strict=True):
            if value:
                console.print(f"{lead}{name}: {value}", markup=False)
                lead = "  "
    if table.caption:
        console.print(table.caption, markup=False)


def _narrowest(column: Column) -> int:
    """Return the width of the longest cell of a column, or of its longest word if it may wrap."""
    texts = [_plain(column.header), *map(_plain, column.cells)]
    parts = texts if column.no_wrap else [word for text in texts for word in text.split()]
    return max(map(cell_len, parts), default=0)


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
