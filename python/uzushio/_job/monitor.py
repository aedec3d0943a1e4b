"""Progress of a run: a bar on a terminal, otherwise one line every few seconds."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping

from uzushio._base.parallel.console import terminal_columns
from uzushio._base.terminal import ProgressOutput
from uzushio.solvers.contract import Reading

#: Seconds between updates of the bar on a terminal.
REFRESH = 0.5


class Monitor(ProgressOutput):
    """Progress of a run on rank 0; the other ranks print nothing.

    Args:
        period: seconds between two lines when the output is not a terminal.
        enabled: whether this rank prints at all.
        unit: name of a step of the run.
    """

    def __init__(self, period: float, enabled: bool, unit: str = "step") -> None:
        columns = terminal_columns() if enabled else 0
        super().__init__(columns, enabled)
        self._due_every = REFRESH if columns else period
        self._unit = unit
        self._last = -math.inf
        self._marks: deque[tuple[int, float]] = deque(maxlen=20)
        self._origin: tuple[float, float] | None = None

    def due(self) -> bool:
        """Return whether the progress is due."""
        return self._enabled and time.monotonic() - self._last >= self._due_every

    def show_step(
        self, step: int, moment: float | None, fraction: float, readings: Mapping[str, Reading]
    ) -> None:
        """Show the state of the run.

        Args:
            step: index of the step just done.
            moment: time after this step, in the solver's unit; None without a time.
            fraction: share of the run that is done, 0 to 1.
            readings: the solver's figures.
        """
        self._last = time.monotonic()
        self._marks.append((step, self._last))
        self._origin = self._origin or (fraction, self._last)
        if self._enabled:
            self.show(fraction, self._line(step, moment, fraction, readings))

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
