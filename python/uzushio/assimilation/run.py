"""Do an assimilation on the ranks of a communicator, from set-up to the last file."""

from __future__ import annotations

import math
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uzushio import checkpoint
from uzushio.assimilation import saved
from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.deviations import Deviation, deviations
from uzushio.assimilation.ensemble import Member, ensemble_spreads
from uzushio.assimilation.memory import needs
from uzushio.assimilation.results import AssimilationResults
from uzushio.errors import CaseError, OutputError
from uzushio.job import run_folder
from uzushio.job.monitor import Monitor, RankZeroOutput
from uzushio.job.options import Options
from uzushio.job.results import import_modules
from uzushio.job.run_lock import RunLock
from uzushio.parallel import memory
from uzushio.parallel.collective import collective, maximum
from uzushio.parallel.signals import Stop

if TYPE_CHECKING:
    from mpi4py import MPI


def run(case: AssimilationCase, comm: MPI.Comm, options: Options) -> int:
    """Do the assimilation of `case` (collective).

    Returns:
        The exit status: 0 when it has ended, 128 plus the signal when stopped, 1 when it has ended
        and a result could not be written.

    Raises:
        UzushioError: see `uzushio.errors`.
    """
    options.check()
    stop = Stop()
    lock = RunLock()
    try:
        with stop.listening():
            return _Run(case, comm, options, stop, lock).execute()
    finally:
        lock.release()


class Stopped(Exception):  # noqa: N818 - not an error
    """A signal asked for the end; raised on all ranks together."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Run:
    """The parts of one assimilation and the order in which they work."""

    def __init__(
        self,
        case: AssimilationCase,
        comm: MPI.Comm,
        options: Options,
        stop: Stop,
        lock: RunLock,
    ) -> None:
        self._case, self._options, self._stop, self._lock = case, options, stop, lock
        self._comm = comm.Dup()
        self._folder = options.out or case.output.folder
        self._output = RankZeroOutput(comm.rank, options.quiet)
        self._monitor = Monitor(case.output.monitor_every, self._output.enabled, "iteration")
        self._latest: Path | None = None
        self._restored: Path | None = None
        self._saved_at = time.monotonic()
        self._saving = self._last_saving = 0.0
        self._members: list[Member] = []
        self._members_done = ""
        self._written: set[str] = set()  # vectors in the latest checkpoint, if this run wrote it
        self._figures = bool(case.output.figures) and options.figures
        with collective(self._comm):
            if comm.rank == 0:
                _check_store(case, self._folder, options)
                run_folder.check_for(self._folder, options)
                import_modules(AssimilationResults.modules(self._figures))
        memory.require(self._comm, needs(case, comm.size).required, "the assimilation")
        self._assimilation = Assimilation(case, self._comm)
        self._problem = self._assimilation.problem

    def execute(self) -> int:
        """Observe, restore, search to the end or to a signal, and write the results."""
        options, work = self._options, self._assimilation
        found = None
        if options.restart is not None:
            found = saved.open_saved(
                options.restart, self._case, self._comm, options.fallback, self._output.warn
            )
        store = self._case.observations.store
        self._output.say(f"Reading {store}." if store else "Observing the truth, with noise.")
        self._problem.observe()
        work.start(found)
        self._search = work.parts.search
        if found is not None:
            self._restored = self._latest = found.path
            self._output.say(f"Restarted from {found.path} (iteration {found.manifest.step}).")
        self._claim()
        try:
            with self._monitor, self._problem.timings.stage("search"):
                self._loop()
            self._save_last()
            deviations = self._deviations()
            if self._case.uncertainty.kind == "ensemble":
                deviations = self._with_ensemble(deviations)
        except Stopped as stopped:
            self._save_last()
            where = f"iteration {self._search.iteration}{self._members_done}"
            self._output.say(f"Stopped after {where}, as asked; {self._go_on()}")
            return 128 + stopped.number
        return self._results(deviations)

    # ---- before -------------------------------------------------------------------------------

    def _claim(self) -> None:
        """Take the folder, and put checkpoints aside that the restart leaves behind."""
        seen, step = self._case.observations, self._search.iteration
        run_folder.occupy(
            self._folder, self._case, self._options, self._lock, step, self._comm, self._output.say
        )
        if seen.store is None and seen.keep:
            self._problem.keep_observations(self._folder / run_folder.OBSERVATIONS)

    # ---- the search ---------------------------------------------------------------------------

    def _loop(self) -> None:
        """Iterate to the end of the search or a signal."""
        work, search, limit = self._assimilation, self._search, self._case.optimiser.iterations
        if self._restored is None:
            search.begin()
            if not math.isfinite(search.value):
                raise CaseError(
                    "J is not finite at the first guess: the model is not stable there; make "
                    "time.dt smaller, or choose another first_guess."
                )
            work.note()
        self._vote()
        done = work.is_over
        while not done:
            if search.ended is not None:
                work.next_stage()
            search.step()
            if search.iteration > work.history.last:
                work.note()
            show, overdue = self._vote()
            done = work.is_over
            if show or done:
                fraction = 1.0 if done else search.iteration / limit
                self._monitor.show(search.iteration, None, fraction, work.readings())
            if not done and (overdue or self._due()):
                self._save()

    def _vote(self) -> tuple[bool, bool]:
        """Agree on a signal that any rank received, and on what rank 0's clock says is due."""
        from mpi4py import MPI

        first = self._comm.rank == 0
        votes = np.array(
            [
                self._stop.received,
                first and self._monitor.due(),
                first and self._overdue(),
            ],
            dtype=np.int32,
        )
        agreed = np.empty_like(votes)
        self._comm.Allreduce(votes, agreed, MPI.MAX)
        if agreed[0]:
            raise Stopped(signal.Signals(int(agreed[0])))
        return bool(agreed[1]), bool(agreed[2])

    def _overdue(self) -> bool:
        """Whether a checkpoint is due by the clock."""
        wanted, elapsed = self._case.checkpoint, time.monotonic() - self._saved_at
        if wanted.minutes is not None and elapsed > 60.0 * wanted.minutes:
            return True
        # The next one will take about as long as the last one did.
        return wanted.every is None and wanted.share * (elapsed + self._last_saving) > (
            self._last_saving
        )

    def _due(self) -> bool:
        every = self._case.checkpoint.every
        return every is not None and self._search.iteration % every == 0

    # ---- checkpoints --------------------------------------------------------------------------

    def _save(self) -> None:
        """Write a checkpoint of the search."""
        taken, vectors = self._assimilation.snapshot()
        began = time.monotonic()
        self._latest = checkpoint.write(
            self._folder,
            taken,
            self._case.checkpoint.keep,
            self._comm,
            self._latest,
            saved.unchanged(vectors, self._written),
        )
        self._written = vectors
        self._saved_at = time.monotonic()
        self._last_saving = self._saved_at - began
        self._saving += self._last_saving
        if self._case.checkpoint.every is not None:  # else there are many
            self._monitor.say(f"Wrote checkpoint {self._latest}.")

    def _save_last(self) -> None:
        """Write a checkpoint of the last iteration, unless it is there."""
        step = self._search.iteration
        if self._latest is None or checkpoint.step_of(self._latest) != step:
            self._save()

    def _go_on(self) -> str:
        assert self._latest is not None
        return self._options.going_on(checkpoint.run_of(self._latest))

    # ---- results ------------------------------------------------------------------------------

    def _deviations(self) -> list[Deviation]:
        """Standard deviations of the parameters."""
        wanted = self._case.uncertainty
        if not wanted.iterations:
            return [Deviation.unknown("not asked for") for _ in self._problem.model.parameters]
        self._monitor.say("Finding standard deviations.")
        work = self._assimilation
        hessian = work.parts.cost.hessian(work.estimate(), self._problem.states)
        return deviations(
            work.parts.space,
            hessian,
            self._search.point,
            self._search.gradient,
            wanted,
            lambda: self._vote(),
        )

    def _with_ensemble(self, found: list[Deviation]) -> list[Deviation]:
        """Add the spread of perturbed assimilations to the standard deviations."""
        wanted, groups = self._case.uncertainty, self._problem.groups
        files = self._assimilation.member_files(self._folder)
        self._output.say(
            f"Minimising {wanted.members} perturbed assimilations"
            + (f" on {groups.count} groups of ranks." if groups.count > 1 else ".")
        )
        ensemble = self._problem.ensemble(self._assimilation.parts)
        with self._problem.timings.stage("ensemble"):
            members = ensemble.run(
                wanted.members, files, self._stop_in_group, self._tell_member, self._comm
            )
        if members is None:
            done = self._comm.bcast(len(files.done(wanted.members)))
            self._members_done = f", with {done} of {wanted.members} members"
            self._vote()
            raise Stopped(signal.SIGTERM)  # not reached: a rank that stops has had a signal
        self._members = members
        return [
            replace(one, ensemble=spread)
            for one, spread in zip(found, ensemble_spreads(members), strict=True)
        ]

    def _stop_in_group(self) -> bool:
        """Whether a rank of this group received a signal (collective over the group)."""
        asked: bool = self._problem.groups.inside.allreduce(bool(self._stop.received), maximum())
        return asked

    def _tell_member(self, member: Member) -> None:
        names = self._assimilation.history.parameters
        values = [
            f"{name} {value:.6g}" for name, value in zip(names, member.parameters, strict=True)
        ]
        told = [f"J {member.J:.8g}", *values, f"{member.iterations} iterations"]
        wanted = self._case.uncertainty.members
        self._output.say("  ".join([f"member {member.number} of {wanted}", *told]))

    def _results(self, found: list[Deviation]) -> int:
        """Write estimate, history, figures and the summary; returns the exit status."""
        work = self._assimilation
        results = AssimilationResults(
            comm=self._comm,
            folder=self._folder,
            latest=self._latest,
            output=self._output,
            stop=self._stop,
            figures=self._figures,
            work=work,
            found=found,
            members=self._members,
            seconds_in={**self._problem.timings, "checkpoints": self._saving},
        )
        head = run_folder.summary_head(
            self._case,
            self._case.model,
            self._comm.size,
            self._search.iteration,
            self._restored,
            work.seconds(),
        )
        return results.write(head)


def _check_store(case: AssimilationCase, folder: Path, options: Options) -> None:
    """Raise `OutputError` if --overwrite would remove what is to be read."""
    store = case.observations.store
    if store is not None and options.overwrite and folder.resolve() in store.resolve().parents:
        raise OutputError(
            f"--overwrite would remove {store}, which is to be read; move it out of {folder}, or "
            "choose another folder with --out."
        )
