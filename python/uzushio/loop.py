"""The time loop: steps, samples, progress, checkpoints, and one vote of the ranks a step."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from uzushio.case import Case
from uzushio.monitor import Monitor
from uzushio.signals import Stop
from uzushio.solver import Solver
from uzushio.statistics import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI

#: Relative distance to the end time that counts as reached.
_CLOSE = 1e-12


class Loop:
    """Advances a solver until the case's end or a signal."""

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
            publish: shows the solver's present fields to whoever looks, and says whether the run
                goes on (collective).

        Returns:
            The signal that stopped the run before its end, if one did.
        """
        solver = self._solver
        stopping, _, _ = self._vote()
        while not stopping and not self._done():
            solver.step(self._left())
            self._sample()
            if self._shown() and not publish():
                break
            stopping, show, overdue = self._vote()
            if show or self._done():
                readings = solver.monitor()
                self._monitor.show(solver.step_index, solver.time, self._fraction(), readings)
            if not stopping and not self._done() and (overdue or self._due()):
                save()
                self._saved = time.monotonic()
        return signal.Signals(stopping) if stopping else None

    def _vote(self) -> tuple[int, bool, bool]:
        """Agree on a signal that any rank received, and on what rank 0's clock says is due."""
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

    def _sample(self) -> None:
        """Take a sample of the statistics if one is due."""
        when = self._case.statistics
        if self._solver.step_index % when.every or self._solver.time < when.start:
            return
        sample = self._solver.sample()
        if self._comm.rank == 0 and sample:
            self._average.add(sample, self._solver.time)

    def _shown(self) -> bool:
        shown = self._case.publish
        return shown is not None and self._solver.step_index % shown.every == 0

    def _due(self) -> bool:
        every = self._case.checkpoint.every
        return every is not None and self._solver.step_index % every == 0

    def _left(self) -> float:
        end = self._case.time.end
        return math.inf if end is None else end - self._solver.time

    def _done(self) -> bool:
        """Whether the last step or the end time is reached."""
        limits = self._case.time
        if limits.steps is not None and self._solver.step_index >= limits.steps:
            return True
        return limits.end is not None and self._left() <= _CLOSE * max(1.0, abs(limits.end))

    def _fraction(self) -> float:
        """Share of the run that is done."""
        limits, shares = self._case.time, [0.0]
        if limits.steps is not None:
            shares.append(self._solver.step_index / limits.steps)
        if limits.end is not None and limits.end > 0.0:
            shares.append(self._solver.time / limits.end)
        return min(1.0, max(shares))
