"""Time loop: steps, samples, progress, checkpoints, and one vote of the ranks a step."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from uzushio.case.model import Case
from uzushio.job.monitor import Monitor
from uzushio.parallel.signals import Stop
from uzushio.solver import Solver
from uzushio.statistics.averages import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI


def time_left(case: Case, solver: Solver) -> float:
    """Return the time until the case's end; infinity if it has none."""
    return math.inf if case.time.end is None else case.time.end - solver.time


def is_over(case: Case, solver: Solver) -> bool:
    """Return whether the last step or the end time is reached."""
    return case.time.reached(solver.step_index, solver.time)


def sample(case: Case, solver: Solver, average: TimeAverage, comm: MPI.Comm) -> None:
    """Take a sample of the statistics if one is due at this step (collective)."""
    when = case.statistics
    if solver.step_index % when.every or solver.time < when.start:
        return
    taken = solver.sample()
    if comm.rank == 0 and taken:
        average.add(taken, solver.time)


class TimeLoop:
    """Time loop of a solver until the case's end or a signal."""

    def __init__(
        self,
        case: Case,
        solver: Solver,
        average: TimeAverage,
        monitor: Monitor,
        stop: Stop,
        comm: MPI.Comm,
    ) -> None:
        self._case, self._solver, self._comm = case, solver, comm
        self._average, self._monitor, self._stop = average, monitor, stop
        self._votes = np.zeros(3, np.int32)
        self._agreed = np.zeros(3, np.int32)
        self._saved = time.monotonic()

    def run(self, save: Callable[[], object], publish: Callable[[], bool]) -> signal.Signals | None:
        """Step to the end, or until `publish` ends it (collective).

        Args:
            save: writes a checkpoint of the solver's present state (collective).
            publish: publishes the solver's present fields; returns whether the run continues
                (collective).

        Returns:
            The signal that stopped the run before its end, if one did.
        """
        solver = self._solver
        stopping, _, _ = self._vote()
        while not stopping and not is_over(self._case, solver):
            solver.step(time_left(self._case, solver))
            sample(self._case, solver, self._average, self._comm)
            if self._shown() and not publish():
                break
            stopping, show, overdue = self._vote()
            if show or is_over(self._case, solver):
                readings = solver.monitor()
                self._monitor.show(solver.step_index, solver.time, self._fraction(), readings)
            if not stopping and not is_over(self._case, solver) and (overdue or self._due()):
                save()
                self._saved = time.monotonic()
        return signal.Signals(stopping) if stopping else None

    def _vote(self) -> tuple[int, bool, bool]:
        """Agree on a signal of any rank, and on progress and checkpoints due by rank 0's clock."""
        from mpi4py import MPI

        minutes = self._case.checkpoint.minutes
        elapsed = time.monotonic() - self._saved
        first = self._comm.rank == 0
        self._votes[:] = (
            self._stop.received,
            first and self._monitor.due(),
            first and minutes is not None and elapsed > 60.0 * minutes,
        )
        self._comm.Allreduce(self._votes, self._agreed, MPI.MAX)
        return int(self._agreed[0]), bool(self._agreed[1]), bool(self._agreed[2])

    def _shown(self) -> bool:
        shown = self._case.publish
        return shown is not None and self._solver.step_index % shown.every == 0

    def _due(self) -> bool:
        every = self._case.checkpoint.every
        return every is not None and self._solver.step_index % every == 0

    def _fraction(self) -> float:
        """Return the share of the run that is done."""
        limits, shares = self._case.time, [0.0]
        if limits.steps is not None:
            shares.append(self._solver.step_index / limits.steps)
        if limits.end is not None and limits.end > 0.0:
            shares.append(self._solver.time / limits.end)
        return min(1.0, max(shares))
