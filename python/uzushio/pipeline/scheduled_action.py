"""State and counters of the actions of a running pipeline."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uzushio._base.parallel.sync import WAIT_LIMIT
from uzushio.errors import PipelineError, UzushioError
from uzushio.pipeline.action import Action
from uzushio.pipeline.need import Need
from uzushio.pipeline.reductions import ReductionExpression
from uzushio.pipeline.trigger import Trigger


@dataclass
class ScheduledAction:
    """Action of the file with its triggers, state and counters.

    Attributes:
        action: the action.
        trigger: triggers in steps and time.
        where: file and line.
        stops: whether a failure stops the pipeline.
        limit: seconds that ranks wait for each other at the end of a run of the action.
        condition: trigger on values, once the stream is known.
        needs: values that the action reads.
        ready: whether `Action.prepare` succeeded; other methods are not called before.
        runs: number of runs, failed ones included.
        failures: number of failures.
        error: message of the last failure.
    """

    action: Action[Any]
    trigger: Trigger
    where: str
    stops: bool
    limit: float = WAIT_LIMIT
    condition: ReductionExpression | None = None
    needs: Sequence[Need] = ()
    ready: bool = False
    runs: int = 0
    failures: int = 0
    error: str | None = None

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return plain JSON values: counters, the given seconds, the summary of the action."""
        return {
            "runs": self.runs,
            "failures": self.failures,
            "error": self.error,
            "seconds": seconds,
            **(self.action.summary() if self.ready else {}),
        }


@dataclass
class StepCounts:
    """Counters of the steps of a pipeline.

    Attributes:
        steps: number of steps received.
        used: number of steps at which an action ran.
        bytes_read: bytes that this rank read from other processes.
        first: number of the first step.
        last: number of the last step.
        time: time of the last step.
        seen: number and time of the last step, also of the run before a restart.
        unordered: whether a step had the number of an earlier one, or a smaller one.
    """

    steps: int = 0
    used: int = 0
    bytes_read: int = 0
    first: int | None = None
    last: int | None = None
    time: float = 0.0
    seen: tuple[int, float] | None = None
    unordered: bool = False

    def add(self, index: int, time: float) -> str | None:
        """Count a step; return a notice at the first one that does not have a larger number."""
        before, self.last = self.last, index
        self.first = index if self.first is None else self.first
        self.steps, self.time, self.seen = self.steps + 1, time, (index, time)
        if before is None or index > before or self.unordered:
            return None
        self.unordered = True
        return (
            f"Step {index} follows step {before}: the numbers of the stream's steps do not "
            "increase. All steps are kept, in the order of their arrival; files that are named by "
            "the number of a step hold the latest one."
        )


def check_distinct(actions: Sequence[ScheduledAction]) -> None:
    """Raise `PipelineError` if two actions have the same name or write to the same file."""
    names = [scheduled.action.name for scheduled in actions]
    for scheduled in actions:
        if names.count(scheduled.action.name) > 1:
            raise PipelineError(
                f"{scheduled.where}: two actions are called '{scheduled.action.name}'; give each a "
                "'name'."
            )
    writers: dict[str, ScheduledAction] = {}
    for scheduled in actions:
        for file in map(os.path.normpath, scheduled.action.files()):
            if writers.setdefault(file, scheduled) is not scheduled:
                raise PipelineError(
                    f"{scheduled.where}: the actions {writers[file].action.name} and "
                    f"{scheduled.action.name} both write {file}; give each a file of its own."
                )


def trace_of(error: Exception) -> str:
    """Return the traceback of an unexpected error; "" for errors with a complete message."""
    own = error.__cause__ if isinstance(error.__cause__, PipelineError) else error
    if notes := "\n".join(getattr(own, "__notes__", ())):
        return notes
    if isinstance(error, (UzushioError, OSError)):
        return ""
    return "".join(traceback.format_exception(error)).rstrip()
