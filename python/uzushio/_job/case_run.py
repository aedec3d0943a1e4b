"""Run of a case on the ranks of a communicator, from set-up to the last file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.files import read_summary
from uzushio._base.parallel import memory
from uzushio._base.parallel.affinity import thread_count
from uzushio._base.parallel.sync import collective, on_root
from uzushio._base.parallel.trace import start_trace, write_trace
from uzushio._base.store import checkpoint
from uzushio._job import run_folder
from uzushio._job.case_job import CaseJob
from uzushio._job.loop import TimeLoop
from uzushio._job.options import RunOptions
from uzushio._job.placed import placed
from uzushio._job.publish import Publisher
from uzushio._job.publish_check import check_published
from uzushio._job.results import RunResults
from uzushio._job.saved_state import (
    PUBLISHED,
    restore,
    restore_averages,
    snapshot,
    stored_actions,
)
from uzushio._job.steering import Steering
from uzushio.case import registry
from uzushio.case.model import Case
from uzushio.errors import CaseError, PipelineError, StepCollapsedError
from uzushio.solvers.contract import Solver, SolverDivergedError, StoredState
from uzushio.solvers.statistics.averages import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI


def run(case: Case, comm: MPI.Intracomm, options: RunOptions) -> int:
    """Run `case` (collective).

    Returns:
        The exit status: 0 when the case's end is reached, 128 plus the signal when stopped.

    Raises:
        UzushioError: see `uzushio.errors`.
        SolverDivergedError: the message says which checkpoint is kept.
    """
    with CaseJob(case, case.checkpoint, placed(case, comm), options) as job:
        return _Run(case, job, options).execute()


class _Run:
    """Components of one run, and the order of their calls."""

    def __init__(self, case: Case, job: CaseJob, options: RunOptions) -> None:
        self._case, self._job, self._options = case, job, options
        self._average = TimeAverage()
        self._published: Mapping[str, Any] | None = None
        self._publisher: Publisher | None = None
        self._notes: Mapping[str, Any] | None = None  # of the publisher, in the checkpoint
        self._actions: Mapping[str, StoredState] = {}  # of the pipeline, in the checkpoint
        kind: type[Solver] = registry.solver_class(case.solver)
        modules = RunResults.modules(kind, case, job.figures)
        job.prepare(modules, lambda: check_published(case, kind))
        estimate = kind.estimate(case, job.comm.size)
        averages = estimate.average_bytes if job.comm.rank == 0 else 0
        memory.require(job.comm, estimate.memory_per_rank + averages, "the run")
        for note in estimate.result_notes:
            job.say(f"note: {note}")
        began = time.monotonic()
        self._solver: Solver = kind(case, job.comm)
        reserved = case.threads_per_rank or thread_count()
        if reserved > self._solver.threads:
            job.warn(
                f"OMP_NUM_THREADS reserves {reserved} threads a rank, and the solver {case.solver} "
                f"uses {self._solver.threads}; start more ranks instead"
            )
        if options.restart is None:
            self._solver.begin()
        self._sections = self._solver.sections
        spent = time.monotonic() - began
        self._sections.reset(earlier=spent)
        self._sections.add_section("set-up", spent)

    def execute(self) -> int:
        """Restore, step to the end or to a signal, and write the results and the trace."""
        if self._options.trace is not None:
            start_trace(self._sections, self._job.comm)
        status = self._execute()
        if self._options.trace is not None:
            kept, dropped = write_trace(self._options.trace, self._sections, self._job.comm)
            left_out = f", {dropped:,} more were dropped" if dropped else ""
            self._job.say(f"Wrote the trace {self._options.trace}: {kept:,} events{left_out}.")
        return status

    def _execute(self) -> int:
        job, solver = self._job, self._solver
        if self._options.restart is not None:
            with self._sections.section("restart"):
                self._restore(self._options.restart)
            if self._has_ended(self._options.restart):
                return 0
        with self._sections.section("set-up"):
            job.claim(solver.step_index)
            publisher = self._publisher = Publisher(
                self._case,
                solver,
                job.comm,
                job.path,
                job.warn,
                job.stop.asked,
                self._notes,
                self._actions,
            )
            self._actions = {}
        first, began = solver.step_index, time.monotonic()
        allowed = self._case.publish is not None and self._case.publish.steering
        steering = Steering(solver, publisher, job, allowed, job.path)
        loop = TimeLoop(self._case, solver, self._average, job, publisher, steering)
        try:
            with job.monitor:
                stopped = loop.run(self._write_checkpoint)
            seconds = time.monotonic() - began
            if solver.step_index > first and not job.is_saved(solver.step_index):
                self._write_checkpoint()
            with self._sections.section("publishing"):
                publisher.close()
        except SolverDivergedError as error:
            if isinstance(error, StepCollapsedError) and not job.is_saved(solver.step_index):
                self._write_checkpoint()
            kept = f"The last good checkpoint is kept: {job.latest}."
            raise SolverDivergedError(
                f"{error} {kept if job.latest else 'No checkpoint had been written.'}"
            ) from error
        finally:
            publisher.abandon()
        self._published = publisher.summary()
        job.say(publisher.report() or "")
        step = solver.step_index
        if publisher.stopped is not None:
            raise PipelineError(
                f"{publisher.stopped} Stopped after step {step}; {job.continuation()}"
            )
        if stopped:
            return job.stopped(stopped, str(step))
        results = RunResults(
            job=job,
            case=self._case,
            solver=solver,
            average=self._average,
            sections=self._sections,
            always_shows_sections=self._options.trace is not None,
        )
        status = results.write(self._summary(step - first, seconds))
        return status or int(publisher.failed)

    def _restore(self, restart: Path) -> None:
        """Restore the state and the averages of a checkpoint."""
        options, job = self._options, self._job
        try:
            restored = restore(
                restart,
                self._case,
                self._solver,
                job.comm,
                options.restart_fallback,
                job.warn,
                options.interpolate,
            )
        except CaseError as error:  # the checkpoint does not fit the case
            own = run_folder.continues(job.path, restart)
            if options.case_file is None or options.case_file.parent == checkpoint.run_of(restart):
                raise
            other = "" if not own else "; to begin another run with it, name its folder with --out"
            raise CaseError(
                f"{error} To continue the run with its own case, leave {options.case_file} out"
                f"{other}."
            ) from error
        with collective(job.comm):
            if job.rank == 0:
                self._restore_averages(restored)
        self._notes = restored.manifest.statistics.get(PUBLISHED)
        if not options.reset_statistics:
            self._actions = stored_actions(restored, self._case)
        job.restarted(restored)

    def _has_ended(self, restart: Path) -> bool:
        """Return whether the run has ended and written its results, with a message (collective).

        Raises:
            CaseError: the case ends before the checkpoint.
        """
        job, solver, limits = self._job, self._solver, self._case.time
        if not limits.reached(solver.step_index, solver.time):
            return False
        later = "--set time.steps=N" if limits.steps is not None else "--set time.end=T"
        if limits.passed(solver.step_index, solver.time):
            raise CaseError(
                f"the case ends before the checkpoint {self._job.restored}, which is of step "
                f"{solver.step_index} and time {solver.time:.6g}: give a later end ({later}), or "
                "restart from an earlier checkpoint."
            )
        if not on_root(
            job.comm,
            lambda: (
                run_folder.continues(job.path, restart)
                and read_summary(job.path).get("step") == solver.step_index
            ),
        ):
            return False
        job.say(
            f"Nothing is left to do: the run has reached its end at step {solver.step_index}. To "
            f"continue it, give a later end ({later}); to write its results again: uzushio figures "
            f"{job.path}"
        )
        return True

    def _restore_averages(self, restored: checkpoint.Checkpoint) -> None:
        """Continue the averages of the earlier run, unless they are of another flow (rank 0)."""
        if not self._options.reset_statistics:
            why = restore_averages(restored, self._case, self._average)
        else:
            why = "as requested" if restored.manifest.statistics.get("samples") else None
        if why is not None:
            self._job.warn(f"Averages of the earlier run are discarded: {why}.")

    def _write_checkpoint(self) -> None:
        """Write a checkpoint of the current state."""
        with self._sections.section("checkpoint"):
            publisher = self._publisher
            notes, actions = (None, {}) if publisher is None else publisher.state()
            self._job.save(snapshot(self._case, self._solver, self._average, notes, actions))
        self._job.say(f"Wrote checkpoint {self._job.latest}.")

    def _summary(self, steps: int, seconds: float) -> dict[str, Any]:
        solver, step = self._case.solver, self._solver.step_index
        return {
            **self._job.summary_head(solver, step, seconds),
            "steps_done": steps,
            "seconds_per_step": seconds / steps if steps else None,
            "published": self._published,
        }
