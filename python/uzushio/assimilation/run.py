"""Do an assimilation on the ranks of a communicator, from set-up to the last file."""

from __future__ import annotations

import math
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from uzushio._base.parallel import memory
from uzushio._job import run_folder
from uzushio._job.case_job import CaseJob
from uzushio._job.options import JobOptions
from uzushio._job.vote import Vote
from uzushio.assimilation import saved
from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.deviations import Deviation, deviations
from uzushio.assimilation.ensemble import Member, ensemble_spreads
from uzushio.assimilation.memory import needs
from uzushio.assimilation.model import Guess
from uzushio.assimilation.results import AssimilationResults
from uzushio.errors import CaseError, OutputError

if TYPE_CHECKING:
    from mpi4py import MPI


def run(case: AssimilationCase, comm: MPI.Comm, options: JobOptions) -> int:
    """Do the assimilation of `case` (collective).

    Returns:
        The exit status: 0 when it has ended, 128 plus the signal when stopped, 1 when it has ended
        and a result could not be written.

    Raises:
        UzushioError: see `uzushio.errors`.
    """
    with CaseJob(case, case.checkpoint, comm, options, "iteration") as job:
        return _Run(case, job, options).execute()


class Stopped(Exception):  # noqa: N818 - not an error
    """End requested by a signal; raised on all ranks together."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Run:
    """Components of one assimilation, and the order of their calls."""

    def __init__(self, case: AssimilationCase, job: CaseJob, options: JobOptions) -> None:
        self._case, self._job, self._options = case, job, options
        self._affordable = job.vote.add(self._is_affordable, rank=0)
        self._members: list[Member] = []
        self._members_done = ""
        self._said = 0  # remarks
        self._written: set[str] = set()  # vectors in the latest checkpoint, if this run wrote it
        job.prepare(AssimilationResults.modules(job.figures), self._check_store)
        memory.require(job.comm, needs(case, job.comm.size).required, "the assimilation")
        self._assimilation = Assimilation(case, job.comm)
        self._problem = self._assimilation.problem

    def execute(self) -> int:
        """Observe, restore, search to the end or to a signal, and write the results."""
        options, job, work = self._options, self._job, self._assimilation
        observed, restored = self._case.observations, None
        if options.restart is not None:
            restored = saved.open_saved(
                options.restart, self._case, job.comm, options.restart_fallback, job.warn
            )
        store = observed.store
        job.say(f"Reading {store}." if store else "Observing the truth, with noise.")
        with self._problem.sections.section("observations"):
            self._problem.observe()
        if store is not None:
            used, whole = self._problem.observed_counts()
            seen = used + self._problem.rejected
            job.say(
                f"{seen} values at {len(self._problem.observations.steps)} times; {whole - seen} "
                f"of {whole} are masked (NaN, fill value or mask) and take no part."
            )
        if (checked := self._problem.background_check) is not None:
            job.say(checked.sentence)
            if checked.warning:
                job.warn(checked.warning)
        work.start(restored)
        self._search, self._said = work.setup.search, len(work.remarks)
        if restored is not None:
            job.restarted(restored)
        job.claim(self._search.iteration)
        if store is None and observed.keep:
            self._problem.keep_observations(job.path / run_folder.OBSERVATIONS)
        try:
            with job.monitor, self._problem.sections.section("search"):
                self._loop()
            self._save_last()
            with self._problem.sections.section("standard deviations"):
                deviations = self._deviations()
            if self._case.uncertainty.kind == "ensemble":
                deviations = self._with_ensemble(deviations)
        except Stopped as stopped:
            self._save_last()
            return job.stopped(stopped.number, f"{self._search.iteration}{self._members_done}")
        return self._results(deviations)

    def _check_store(self) -> None:
        """Raise `OutputError` if --overwrite would remove the observations to read."""
        store, folder = self._case.observations.store, self._job.path.resolve()
        if store is not None and self._options.overwrite and folder in store.resolve().parents:
            raise OutputError(
                f"--overwrite would remove {store}, which is to be read; move it out of "
                f"{self._job.path}, or choose another folder with --out."
            )

    # ---- the search ---------------------------------------------------------------------------

    def _loop(self) -> None:
        """Iterate to the end of the search or a signal."""
        job, work, search = self._job, self._assimilation, self._search
        limit = self._case.optimiser.iterations
        if job.restored is None:
            search.begin()
            if not math.isfinite(search.value):
                raise CaseError(
                    "J is not finite at the first guess: the model is not stable there; make "
                    "time.dt smaller, or choose another first_guess."
                )
            work.note()
        work.judge()
        self._vote()
        done = work.is_over
        while not done:
            if search.ended is not None:
                work.next_stage()
            if search.ended is None:
                search.step()
            if search.iteration > work.history.last:
                work.note()
            work.judge()
            self._say_remarks()
            self._vote()
            done = work.is_over
            if done or job.progress_due.agreed:
                fraction = 1.0 if done else search.iteration / limit
                job.monitor.show_step(search.iteration, None, fraction, work.readings())
            if not done and (job.checkpoint_due(search.iteration) or self._affordable.agreed):
                self._save()
        work.choose()
        self._say_remarks()

    def _say_remarks(self) -> None:
        """Print new remarks on the stages of the search."""
        remarks = self._assimilation.remarks
        for remark in remarks[self._said :]:
            self._job.say(remark)
        self._said = len(remarks)

    def _vote(self) -> None:
        """Take the vote; raise `Stopped` on all ranks after a signal (collective)."""
        if number := self._job.take_vote():
            raise Stopped(number)

    def _is_affordable(self) -> bool:
        """Whether a checkpoint fits the share of the time, if it takes as long as the last one."""
        settings, last = self._case.checkpoint, self._job.last_saving
        elapsed = time.monotonic() - self._job.saved_at
        return settings.every is None and settings.share * (elapsed + last) > last

    def _save(self) -> None:
        """Write a checkpoint of the search."""
        snapshot, vectors = self._assimilation.snapshot()
        with self._problem.sections.section("checkpoints"):
            self._job.save(snapshot, saved.unchanged(vectors, self._written))
        self._written = vectors
        if self._case.checkpoint.every is not None:  # otherwise there are many
            self._job.say(f"Wrote checkpoint {self._job.latest}.")

    def _save_last(self) -> None:
        """Write a checkpoint of the last iteration, unless it exists."""
        if not self._job.is_saved(self._search.iteration):
            self._save()

    # ---- results ------------------------------------------------------------------------------

    def _deviations(self) -> list[Deviation]:
        """Return standard deviations of the parameters."""
        wanted = self._case.uncertainty
        if not wanted.iterations:
            return [Deviation.unknown("not requested") for _ in self._problem.model.parameters]
        self._job.say("Finding standard deviations.")
        if by_differences := self._problem.model.by_differences():
            names = " and no ".join(by_differences)
            self._job.say(f"The model has no {names}: central differences take the place.")
        work = self._assimilation
        cost, space = work.setup.cost, work.setup.space
        hessian = cost.hessian(work.estimate(), self._problem.states)
        estimated = deviations(
            space,
            hessian,
            self._search.point,
            self._search.gradient,
            wanted,
            self._vote,
            lambda point: cost.value_at(Guess(space.state(point), space.parameters(point))),
        )
        part = work.part_of_run()
        return [deviation.of_part(part) for deviation in estimated] if part else estimated

    def _with_ensemble(self, estimated: list[Deviation]) -> list[Deviation]:
        """Add the spread of perturbed assimilations to the standard deviations."""
        job, groups, wanted = self._job, self._problem.groups, self._case.uncertainty
        files = self._assimilation.member_files(job.path)
        job.say(
            f"Minimising {wanted.members} perturbed assimilations"
            + (f" on {groups.count} groups of ranks." if groups.count > 1 else ".")
        )
        ensemble = self._problem.ensemble(self._assimilation.setup)
        in_group = Vote(groups.inside)
        stop = in_group.add(job.stop.asked)

        def is_stopped() -> bool:
            in_group.take()
            return bool(stop.agreed)

        with self._problem.sections.section("ensemble"):
            members = ensemble.run(wanted.members, files, is_stopped, self._say_member, job.comm)
        if members is None:
            done = job.comm.bcast(len(files.done(wanted.members)))
            self._members_done = f", with {done} of {wanted.members} members"
            self._vote()
            raise Stopped(signal.SIGTERM)  # not reached: a rank that stops has had a signal
        self._members = members
        return [
            replace(deviation, ensemble=spread)
            for deviation, spread in zip(estimated, ensemble_spreads(members), strict=True)
        ]

    def _say_member(self, member: Member) -> None:
        names = self._assimilation.history.parameters
        values = [
            f"{name} {value:.6g}" for name, value in zip(names, member.parameters, strict=True)
        ]
        columns = [f"J {member.J:.8g}", *values, f"{member.iterations} iterations"]
        wanted = self._case.uncertainty.members
        self._job.say("  ".join([f"member {member.number} of {wanted}", *columns]))

    def _results(self, estimated: list[Deviation]) -> int:
        """Write estimate, history, figures and the summary; returns the exit status."""
        job, work = self._job, self._assimilation
        results = AssimilationResults(
            job=job,
            work=work,
            deviations=estimated,
            members=self._members,
            seconds_in=self._problem.sections.seconds(),
            sections=self._problem.sections,
        )
        iteration = self._search.iteration
        return results.write(job.summary_head(self._case.model, iteration, work.seconds()))
