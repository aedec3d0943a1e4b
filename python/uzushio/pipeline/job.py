"""An action of a pipeline's file while the pipeline works, and what became of it."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uzushio.errors import PipelineError, UzushioError
from uzushio.parallel.agreement import WAIT_LIMIT
from uzushio.pipeline.action import Action
from uzushio.pipeline.need import Need
from uzushio.pipeline.reductions import Reduced
from uzushio.pipeline.trigger import Clock


@dataclass
class Job:
    """An action of the file, its triggers, and what became of it.

    Attributes:
        action: what is done.
        clock: when.
        where: file and line.
        stops: whether its failure stops all.
        limit: seconds that ranks wait for each other at its end.
        condition: what has to be true, once the stream is known.
        needs: what it looks at.
        ready: whether its names were found good; nothing but that is asked of it before.
        runs: how often it ran, failures too.
        failures: how often it failed.
        error: the last failure.
    """

    action: Action[Any]
    clock: Clock
    where: str
    stops: bool
    limit: float = WAIT_LIMIT
    condition: Reduced | None = None
    needs: Sequence[Need] = ()
    ready: bool = False
    runs: int = 0
    failures: int = 0
    error: str | None = None
    seconds: float = 0.0


@dataclass
class Counts:
    """What a pipeline saw.

    Attributes:
        steps: that it was given.
        used: at which something ran.
        bytes_read: of this rank, from other processes.
        first: number of the first step.
        last: of the last one.
        time: of the last one.
    """

    steps: int = 0
    used: int = 0
    bytes_read: int = 0
    first: int | None = None
    last: int | None = None
    time: float = 0.0


def trace_of(error: Exception) -> str:
    """The traceback of what a user's function raised; "" of what says enough without."""
    own = error.__cause__ if isinstance(error.__cause__, PipelineError) else error
    if notes := "\n".join(getattr(own, "__notes__", ())):
        return notes
    if isinstance(error, (UzushioError, OSError)):
        return ""
    return "".join(traceback.format_exception(error)).rstrip()
