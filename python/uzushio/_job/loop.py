"""Time loop: steps, samples, progress, checkpoints, and one vote of the ranks a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from uzushio._job.case_job import CaseJob
from uzushio._job.publish import Publisher
from uzushio._job.steering import Steering
from uzushio.case.model import Case
from uzushio.solvers.contract import Solver
from uzushio.solvers.statistics.averages import TimeAverage

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
    with solver.sections.section("statistics"):
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
        job: CaseJob,
        publisher: Publisher,
        steering: Steering,
    ) -> None:
        self._case, self._solver, self._average, self._job = case, solver, average, job
        self._publisher, self._steering = publisher, steering

    def run(self, save: Callable[[], object]) -> int:
        """Step to the end, or until the publisher ends it (collective).

        Args:
            save: writes a checkpoint of the solver's present state (collective).

        Returns:
            The signal that stopped the run before its end; 0 if none did.
        """
        solver, job, publisher = self._solver, self._job, self._publisher
        section = solver.sections.section
        stopped = job.take_vote()
        while not stopped and not is_over(self._case, solver):
            with section("step"):
                solver.step(time_left(self._case, solver))
            sample(self._case, solver, self._average, job.comm)
            if publisher.is_due():
                with section("publishing"):
                    goes_on = publisher.publish_step()
                if not goes_on:
                    break
            with section("vote"):
                stopped = job.take_vote()
                requested = self._steering.apply()
            over = is_over(self._case, solver)
            if over or job.progress_due.agreed:
                with section("progress"):
                    self._show_progress()
            due = requested or job.checkpoint_due(solver.step_index)
            if due and not over and not stopped:
                save()
        return stopped

    def _show_progress(self) -> None:
        solver = self._solver
        self._job.monitor.show_step(
            solver.step_index, solver.time, self._fraction(), solver.monitor()
        )

    def _fraction(self) -> float:
        """Return the share of the run that is done."""
        limits, shares = self._case.time, [0.0]
        if limits.steps is not None:
            shares.append(self._solver.step_index / limits.steps)
        if limits.end is not None and limits.end > 0.0:
            shares.append(self._solver.time / limits.end)
        return min(1.0, max(shares))
