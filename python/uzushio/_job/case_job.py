"""Job of a case, a run or an assimilation: its folder, checkpoints, restart and end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import __version__
from uzushio._base.parallel import affinity, machine
from uzushio._base.parallel.sync import collective
from uzushio._base.store import checkpoint
from uzushio._base.store.checkpoint.writing import write
from uzushio._job.job import Job
from uzushio._job.options import JobOptions
from uzushio._job.run_folder import RunFolder
from uzushio.case.model import CaseFile, Checkpoint
from uzushio.errors import OutputError

if TYPE_CHECKING:
    from mpi4py import MPI


class CaseJob(Job):
    """Job that computes a case in steps or iterations, and writes checkpoints.

    Args:
        case: validated case.
        checkpoints: when checkpoints are written.
        comm: all ranks of the job.
        options: options of the command.
        unit: name of a step in messages.

    Attributes:
        path: path of the folder.
        figures: whether figures are drawn at the end.
        latest: newest checkpoint.
        restored: checkpoint of the restart.
        saved_at: time of the last checkpoint.
        last_saving: seconds that the last checkpoint took.
        progress_due: entry of the vote: whether a line of progress is due.
    """

    def __init__(
        self,
        case: CaseFile,
        checkpoints: Checkpoint,
        comm: MPI.Comm,
        options: JobOptions,
        unit: str = "step",
    ) -> None:
        options.check()
        self.folder = RunFolder(options.out or case.output.folder, options)
        super().__init__(
            comm,
            self.folder,
            quiet=options.quiet,
            period=case.output.monitor_every,
            unit=unit,
        )
        self._case, self._checkpoints, self._options, self._unit = case, checkpoints, options, unit
        self.path = self.folder.path
        self.figures = bool(case.output.figures) and options.figures
        self.latest: Path | None = None
        self.restored: Path | None = None
        self.saved_at = time.monotonic()
        self.last_saving = 0.0
        self.progress_due = self.vote.add(self.monitor.due, rank=0)
        self._overdue = self.vote.add(self._is_overdue, rank=0)

    def prepare(self, modules: Iterable[str], check: Callable[[], None] = lambda: None) -> None:
        """Check that the results can be written, and bind the ranks (collective).

        Memory is allocated after this function, in the NUMA domain of the bound rank.

        Args:
            modules: modules that the results need.
            check: further check of the command.


        Raises:
            UzushioError: on all ranks, if the folder cannot be used or a module is missing.
        """
        with collective(self.comm):
            if self.rank == 0:
                self.folder.check_free()
                self.folder.check()
                check()
                import_modules(modules)
        bound = affinity.bind(self.comm, self._options.affinity, self._case.threads_per_rank)
        if bound is not None:
            self.say(bound.text())
            for conflict in bound.conflicts:
                self.warn(conflict)

    def reopen(self, modules: Iterable[str]) -> None:
        """Lock the folder of a run whose results are written again (collective)."""
        with collective(self.comm):
            if self.rank == 0:
                import_modules(modules)
                self.folder.lock()

    def claim(self, step: int) -> None:
        """Occupy the folder for a run that begins at `step`, as `RunFolder.occupy` (collective)."""
        self.folder.occupy(self._case, step, self.comm, self.say)
        self.saved_at = time.monotonic()

    def restarted(self, restored: checkpoint.Checkpoint) -> None:
        """Note and print the checkpoint of the restart."""
        self.restored = self.latest = restored.path
        self.say(f"Restarted from {restored.path} ({self._unit} {restored.manifest.step}).")

    def checkpoint_due(self, step: int) -> bool:
        """Return whether a checkpoint is due after `step`, by the last vote."""
        every = self._checkpoints.every
        return bool(self._overdue.agreed) or (every is not None and step % every == 0)

    def save(self, snapshot: checkpoint.Snapshot, same: Collection[str] = ()) -> None:
        """Write a checkpoint (collective).

        Args:
            snapshot: state to write.
            same: arrays that are as in the latest checkpoint.
        """
        began = time.monotonic()
        of = self._checkpoints
        self.latest = write(
            self.path, snapshot, of.keep, self.comm, self.latest, same, of.compression
        )
        self.saved_at = time.monotonic()
        self.last_saving = self.saved_at - began

    def is_saved(self, step: int) -> bool:
        """Return whether the latest checkpoint is of `step`."""
        return self.latest is not None and checkpoint.step_of(self.latest) == step

    def continuation(self) -> str:
        """Return the command that continues a stopped job."""
        if self.latest is None:
            return "no step was computed."
        return self._options.continuation(checkpoint.run_of(self.latest))

    def stopped(self, signal: int, where: str) -> int:
        """Print where a signal ended the job, and return the exit status."""
        self.say(f"Stopped after {self._unit} {where}, as requested; {self.continuation()}")
        return 128 + signal

    def summary_head(self, solver: str, step: int, seconds: float | None) -> dict[str, Any]:
        """Return the first entries of the summary.

        Args:
            solver: name of the solver or model in the case.
            step: last step.
            seconds: wall time; None if not known.
        """
        return {
            "title": self._case.title,
            "solver": solver,
            "version": __version__,
            "case": self._case.digest(),
            "ranks": self.comm.size,
            "machine": machine.describe(),
            "affinity": self._options.affinity.value,
            "step": step,
            "restarted_from": str(self.restored) if self.restored else None,
            "seconds": seconds,
        }

    def _is_overdue(self) -> bool:
        minutes = self._checkpoints.minutes
        return minutes is not None and time.monotonic() - self.saved_at > 60.0 * minutes


def import_modules(names: Iterable[str]) -> None:
    """Import modules that results need before the first step: a later error would lose them.

    Raises:
        OutputError: a module is missing or cannot be imported.
    """
    for name in names:
        try:
            import_module(name)
        except Exception as error:
            raise OutputError(
                f"the module {name}, which the results of the run need, cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
