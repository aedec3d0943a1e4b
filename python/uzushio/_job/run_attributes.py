"""Attributes of published steps that describe the run: the solver's figures, limits and pace."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from uzushio.case.model import Time
from uzushio.solvers.contract import Reading

#: Begin of the names of the solver's figures, and end of those of their units.
_MONITOR, _UNIT = "monitor/", "/unit"
#: Begin of the names of the run's limits and pace.
_RUN = "run/"
#: Number of published steps over which the pace is measured.
_MARKS = 10


@dataclass(frozen=True)
class RunPace:
    """Limits and pace of a run; None: not known.

    Attributes:
        end_step: number of the last step.
        end_time: time at which the run stops.
        seconds_per_step: wall-clock time of a step of the solver.
        seconds_waited: share of these in which the solver waits for readers.
        seconds_left: estimated wall-clock time to the end of the run.
    """

    end_step: int | None = None
    end_time: float | None = None
    seconds_per_step: float | None = None
    seconds_waited: float | None = None
    seconds_left: float | None = None

    def attributes(self) -> dict[str, int | float | str]:
        """Return the known values as attributes of a step."""
        return {_RUN + name: value for name, value in asdict(self).items() if value is not None}

    @staticmethod
    def of(attributes: Mapping[str, int | float | str]) -> RunPace:
        """Return the pace in the attributes of a step; texts and other attributes are ignored."""
        values: dict[str, Any] = {}
        for field in fields(RunPace):
            value = attributes.get(_RUN + field.name)
            if value is not None and not isinstance(value, str):
                values[field.name] = int(value) if field.name == "end_step" else float(value)
        return RunPace(**values)


class PaceMeter:
    """Pace of a run over its last published steps.

    Args:
        limits: end of the run.
        step: number of the step at which the run begins.
        moment: time of that step.
    """

    def __init__(self, limits: Time, step: int, moment: float) -> None:
        self._limits = limits
        self._marks = deque([(step, moment, time.monotonic(), 0.0)], maxlen=_MARKS + 1)

    def add(self, step: int, moment: float, waited: float) -> RunPace:
        """Note a step that is published, and return the pace.

        Args:
            step: number of the step.
            moment: time of the step.
            waited: seconds that the solver has waited for readers since the beginning.
        """
        self._marks.append((step, moment, time.monotonic(), waited))
        limits, (first, start, began, before) = self._limits, self._marks[0]
        steps, seconds = step - first, time.monotonic() - began
        if steps <= 0:
            return RunPace(limits.steps, limits.end)
        left = [] if limits.steps is None else [(limits.steps - step) / steps * seconds]
        if limits.end is not None and moment > start:
            left.append((limits.end - moment) / (moment - start) * seconds)
        return RunPace(
            limits.steps,
            limits.end,
            seconds / steps,
            (waited - before) / steps,
            max(0.0, min(left)) if left else None,
        )


def monitor_attributes(readings: Mapping[str, Reading]) -> dict[str, int | float | str]:
    """Return the figures of `Solver.monitor` as attributes of a step."""
    values = {_MONITOR + name: float(reading.value) for name, reading in readings.items()}
    units = {
        f"{_MONITOR}{name}{_UNIT}": reading.unit
        for name, reading in readings.items()
        if reading.unit
    }
    return {**values, **units}


def monitor_readings(attributes: Mapping[str, int | float | str]) -> dict[str, Reading]:
    """Return the figures of `Solver.monitor` in the attributes of a step."""
    return {
        name.removeprefix(_MONITOR): Reading(float(value), str(attributes.get(name + _UNIT, "")))
        for name, value in attributes.items()
        if name.startswith(_MONITOR) and not isinstance(value, str)
    }
