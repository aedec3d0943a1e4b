"""Progress of a run: a bar on a terminal, otherwise one line every few seconds."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from uzushio.parallel.launch import TERMINAL
from uzushio.solver import Reading
from uzushio.terminal import TerminalConsole, output_may_end, tell, warn

#: Seconds between updates of the bar on a terminal.
REFRESH = 0.5


class RankZeroOutput:
    """Messages of rank 0 beside the progress; the other ranks print nothing.

    Args:
        rank: of this process.
        quiet: print errors and warnings only.

    Attributes:
        enabled: whether this rank prints messages other than errors and warnings.
    """

    def __init__(self, rank: int, quiet: bool) -> None:
        self._first, self.enabled = rank == 0, rank == 0 and not quiet

    def say(self, text: str) -> None:
        """Print a line, unless it is empty."""
        if self.enabled and text:
            tell(text)

    def error(self, text: str) -> None:
        """Print an error to the standard error, with --quiet too."""
        if self._first:
            with output_may_end("stderr"):
                print(f"uzushio: error: {text}", file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Print a warning to the standard error, with --quiet too."""
        if self._first:
            warn(text)


class Monitor:
    """Progress of a run on rank 0; the other ranks print nothing.

    Args:
        seconds: time between two lines when the output is not a terminal.
        enabled: whether this rank prints at all.
        unit: name of a step of the run.
    """

    def __init__(self, seconds: float, enabled: bool, unit: str = "step") -> None:
        self._enabled, self._unit = enabled, unit
        self._columns = _terminal_columns() if enabled else 0
        self._period = REFRESH if self._columns else seconds
        self._last = -math.inf
        self._marks: deque[tuple[int, float]] = deque(maxlen=20)
        self._origin: tuple[float, float] | None = None
        self._bar: Progress | None = None

    def __enter__(self) -> Monitor:
        """Show the bar if there is a terminal."""
        if self._columns:
            console = TerminalConsole(force_terminal=True, width=self._columns)
            self._bar = Progress(
                BarColumn(bar_width=20),
                TextColumn(
                    "{task.percentage:3.0f}% {task.description}",
                    markup=False,
                    table_column=Column(no_wrap=True, overflow="ellipsis"),
                ),
                console=console,
                auto_refresh=False,
            )
            self._bar.add_task("", total=1.0)
            with output_may_end():
                self._bar.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Leave the last state of the bar on the terminal."""
        if self._bar is not None:
            with output_may_end():
                self._bar.stop()
            self._bar = None

    def due(self) -> bool:
        """Return whether the progress is due."""
        return self._enabled and time.monotonic() - self._last >= self._period

    def show(
        self, step: int, moment: float | None, fraction: float, readings: Mapping[str, Reading]
    ) -> None:
        """Show the state of the run.

        Args:
            step: index of the step just done.
            moment: its time, in the solver's unit; None without a time.
            fraction: share of the run that is done, 0 to 1.
            readings: the solver's figures.
        """
        self._last = time.monotonic()
        self._marks.append((step, self._last))
        self._origin = self._origin or (fraction, self._last)
        if not self._enabled:
            return
        text = self._line(step, moment, fraction, readings)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=fraction, description=text)
            with output_may_end():
                self._bar.refresh()
        else:
            tell(f"{fraction:4.0%} {text}")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None:
            with output_may_end():
                self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self._enabled:
            tell(text)

    def _line(
        self, step: int, moment: float | None, fraction: float, readings: Mapping[str, Reading]
    ) -> str:
        parts = [f"{self._unit} {step}", *([] if moment is None else [f"t {moment:.5g}"])]
        for name, reading in readings.items():
            unit = f" {reading.unit}" if reading.unit else ""
            parts.append(f"{name} {format(reading.value, reading.format)}{unit}")
        first_step, first_time = self._marks[0]
        if step > first_step:
            seconds = (self._last - first_time) / (step - first_step)
            parts.append(f"{seconds:.3g} s/{self._unit}")
            left = self._time_left(fraction)
            if left is not None:
                parts.append(f"{left} left")
        return "  ".join(parts)

    def _time_left(self, fraction: float) -> str | None:
        """Return an estimate from the share done since the start (or restart)."""
        share, moment = self._origin or (fraction, self._last)
        done = fraction - share
        if done <= 0.0:
            return None
        seconds = round((self._last - moment) / done * (1.0 - fraction))
        hours, rest = divmod(seconds, 3600)
        minutes, seconds = divmod(rest, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _terminal_columns() -> int:
    """Return the columns of rank 0's terminal, 0 if there is none.

    A rank under `mpiexec` may see a pseudo-terminal whatever the output really is, so the
    parent process that started the job passes the columns on.
    """
    told = os.environ.get(TERMINAL)
    if told is not None:
        return int(told) if told.isdigit() else 0
    from uzushio.parallel.launch import ranks_around

    if ranks_around() is None and sys.stdout.isatty():
        return Console().width
    return 0
