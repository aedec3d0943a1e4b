"""Run of a case on the ranks of a communicator, from set-up to the last file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import checkpoint
from uzushio.case import registry
from uzushio.case.model import Case
from uzushio.errors import CaseError, PipelineError
from uzushio.files import read_summary
from uzushio.job import run_folder
from uzushio.job.loop import TimeLoop
from uzushio.job.monitor import Monitor, RankZeroOutput
from uzushio.job.options import Options
from uzushio.job.publish import Publisher
from uzushio.job.publish_check import check_published
from uzushio.job.results import RunResults, import_modules
from uzushio.job.run_lock import RunLock
from uzushio.job.saved_state import restore, restore_averages, snapshot
from uzushio.parallel import memory
from uzushio.parallel.collective import collective
from uzushio.parallel.signals import Stop
from uzushio.solver import Solver, SolverDivergedError
from uzushio.statistics.averages import TimeAverage

if TYPE_CHECKING:
    from mpi4py import MPI


def run(case: Case, comm: MPI.Comm, options: Options) -> int:
    """Run `case` (collective).

    Returns:
        The exit status: 0 when the case's end is reached, 128 plus the signal when stopped.

    Raises:
        UzushioError: see `uzushio.errors`.
        SolverDivergedError: the message says which checkpoint is kept.
    """
    options.check()
    stop = Stop()
    lock = RunLock()
    try:
        with stop.listening():
            return _Run(case, comm, options, stop, lock).execute()
    finally:
        lock.release()


class _Run:
    """Components of one run, and the order of their calls."""

    def __init__(
        self, case: Case, comm: MPI.Comm, options: Options, stop: Stop, lock: RunLock
    ) -> None:
        self._case, self._options, self._stop, self._lock = case, options, stop, lock
        self._folder = options.out or case.output.folder
        self._comm = comm.Dup()
        self._output = RankZeroOutput(comm.rank, options.quiet)
        self._average = TimeAverage()
        self._monitor = Monitor(case.output.monitor_every, self._output.enabled)
        self._restored: Path | None = None
        self._latest: Path | None = None
        self._shown: Mapping[str, Any] | None = None
        self._figures = bool(case.output.figures) and options.figures
        kind = registry.solver_class(case.solver)
        with collective(self._comm):
            if comm.rank == 0:
                run_folder.check_for(self._folder, options)
                check_published(case, kind)
                import_modules(RunResults.modules(kind, self._figures))
        needed = kind.estimate(case, comm.size).memory_per_rank
        memory.require(self._comm, needed, "the run")
        self._solver: Solver = kind(case, comm)

    def execute(self) -> int:
        """Restore, step to the end or to a signal, and write the results."""
        if self._options.restart is not None:
            self._restore(self._options.restart)
            if self._has_ended(self._options.restart):
                return 0
        self._claim()
        publisher = Publisher(
            self._case, self._solver, self._comm, self._folder, self._output.warn, self._stop.asked
        )
        first, began = self._solver.step_index, time.monotonic()
        loop = TimeLoop(
            self._case, self._solver, self._average, self._monitor, self._stop, self._comm
        )
        try:
            with self._monitor:
                stopped = loop.run(self._write_checkpoint, publisher)
            seconds = time.monotonic() - began
            self._final_checkpoint(first)
            publisher.close()
        except SolverDivergedError as error:
            kept = f"The last good checkpoint is kept: {self._latest}."
            raise SolverDivergedError(
                f"{error} {kept if self._latest else 'No checkpoint had been written.'}"
            ) from error
        finally:
            publisher.abandon()
        self._shown = publisher.summary()
        self._output.say(publisher.report() or "")
        if publisher.stopped is not None:
            step = self._solver.step_index
            raise PipelineError(f"{publisher.stopped} Stopped after step {step}; {self._go_on()}")
        if stopped:
            self._output.say(
                f"Stopped after step {self._solver.step_index}, as asked; {self._go_on()}"
            )
            return 128 + stopped
        return self._results(first, seconds)

    def _restore(self, restart: Path) -> None:
        """Restore the state and the averages of a checkpoint."""
        options = self._options
        found = restore(
            restart,
            self._case,
            self._solver,
            self._comm,
            options.fallback,
            self._output.warn,
            options.interpolate,
        )
        with collective(self._comm):
            if self._comm.rank == 0:
                self._restore_averages(found)
        self._restored = self._latest = found.path
        self._output.say(f"Restarted from {found.path} (step {found.manifest.step}).")

    def _has_ended(self, restart: Path) -> bool:
        """Return whether the run has ended and written its results, with a message (collective).

        Raises:
            CaseError: the case ends before the checkpoint.
        """
        solver, limits = self._solver, self._case.time
        if not limits.reached(solver.step_index, solver.time):
            return False
        later = "--set time.steps=N" if limits.steps is not None else "--set time.end=T"
        if limits.passed(solver.step_index, solver.time):
            raise CaseError(
                f"the case ends before the checkpoint {self._restored}, which is of step "
                f"{solver.step_index} and time {solver.time:.6g}: give a later end ({later}), or "
                "restart from an earlier checkpoint."
            )
        there = False
        with collective(self._comm):
            if self._comm.rank == 0 and run_folder.continues(self._folder, restart):
                there = read_summary(self._folder).get("step") == solver.step_index
        if not self._comm.bcast(there):
            return False
        self._output.say(
            f"Nothing is left to do: the run has reached its end at step {solver.step_index}. To "
            f"continue it, give a later end ({later}); to write its results again: uzushio figures "
            f"{self._folder}"
        )
        return True

    def _restore_averages(self, found: checkpoint.Checkpoint) -> None:
        """Continue the averages of the earlier run, unless they are of another flow (rank 0)."""
        if not self._options.reset_statistics:
            why = restore_averages(found, self._case, self._average)
        else:
            why = "as asked" if found.manifest.statistics.get("samples") else None
        if why is not None:
            self._output.warn(f"Averages of the earlier run are discarded: {why}.")

    def _claim(self) -> None:
        """Lock the folder, and set checkpoints of later steps aside."""
        step, output = self._solver.step_index, self._output
        run_folder.occupy(
            self._folder, self._case, self._options, self._lock, step, self._comm, output.say
        )

    def _write_checkpoint(self) -> None:
        """Write a checkpoint of the current state."""
        taken = snapshot(self._case, self._solver, self._average)
        keep = self._case.checkpoint.keep
        self._latest = checkpoint.write(self._folder, taken, keep, self._comm)
        self._monitor.say(f"Wrote checkpoint {self._latest}.")

    def _final_checkpoint(self, first: int) -> None:
        """Write the checkpoint of the last step, unless it exists or no step was computed."""
        step = self._solver.step_index
        if step > first and (self._latest is None or checkpoint.step_of(self._latest) != step):
            self._write_checkpoint()

    def _go_on(self) -> str:
        """Return the command that continues a stopped run."""
        if self._latest is None:
            return "no step was computed."
        return self._options.going_on(checkpoint.run_of(self._latest))

    def _results(self, first: int, seconds: float) -> int:
        """Write statistics, figures and the summary; return the exit status."""
        results = RunResults(
            comm=self._comm,
            folder=self._folder,
            latest=self._latest,
            output=self._output,
            stop=self._stop,
            figures=self._figures,
            case=self._case,
            solver=self._solver,
            average=self._average,
        )
        return results.write(self._summary(first, seconds))

    def _summary(self, first: int, seconds: float) -> dict[str, Any]:
        steps = self._solver.step_index - first
        head = run_folder.summary_head(
            self._case,
            self._case.solver,
            self._comm.size,
            self._solver.step_index,
            self._restored,
            seconds,
        )
        return {
            **head,
            "steps_done": steps,
            "seconds_per_step": seconds / steps if steps else None,
            "published": self._shown,
        }
