"""Do an assimilation on the ranks of a communicator, from set-up to the last file."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio import checkpoint, memory, run_folder
from uzushio.assimilation import results, saved
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.deviations import Deviation, deviations
from uzushio.assimilation.ensemble import Member, MemberFiles, spreads
from uzushio.assimilation.history import History
from uzushio.assimilation.memory import needs
from uzushio.assimilation.model import Guess
from uzushio.assimilation.problem import Problem
from uzushio.assimilation.summary import ending, summarise
from uzushio.case import differences
from uzushio.collective import collective, maximum
from uzushio.errors import CaseError, CheckpointError, OutputError
from uzushio.monitor import Monitor, Voice
from uzushio.options import Options
from uzushio.run_lock import RunLock
from uzushio.signals import Stop
from uzushio.solver import Reading

if TYPE_CHECKING:
    from mpi4py import MPI

#: What of a case says how J is made small, where and how fast, and not what J is.
_NOT_THE_PROBLEM = {
    "title",
    "optimiser",
    "trajectory",
    "uncertainty",
    "checkpoint",
    "output",
    "blocking",
    "tuned",
}


def run(case: AssimilationCase, comm: MPI.Comm, options: Options) -> int:
    """Do the assimilation of `case` (collective).

    Returns:
        The exit status: 0 when it has ended, 128 plus the signal when stopped.

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
        self._voice = Voice(comm.rank, options.quiet)
        self._monitor = Monitor(case.output.monitor_every, self._voice.speaks, "iteration")
        self._latest: Path | None = None
        self._restored: Path | None = None
        self._saved_at = self._began = time.monotonic()
        self._saving = self._last_saving = 0.0
        self._members: list[Member] = []
        self._members_done = ""
        self._written: Collection[
            str
        ] = ()  # vectors in the latest checkpoint, if this run wrote it
        with collective(self._comm):
            if comm.rank == 0:
                _check_store(case, self._folder, options)
                run_folder.check_for(self._folder, options)
        memory.require(self._comm, needs(case, comm.size).required, "the assimilation")
        self._problem = Problem(case, self._comm)
        self._history = History([one.name for one in self._problem.model.parameters])

    def execute(self) -> int:
        """Observe, restore, search to the end or to a signal, and write the results."""
        found = self._found()
        store = self._case.observations.store
        self._voice.say(f"Reading {store}." if store else "Observing the truth, with noise.")
        self._problem.observe()
        self._windows = self._problem.windows()
        if found is None:
            window = self._windows[0]
            units = self._problem.scales(self._problem.guess, window)
        else:
            attributes = found.manifest.attributes
            window = self._windows[attributes["search"]["stage"]]
            units = [float(unit) for unit in attributes["units"]]
        self._parts = self._problem.minimiser(units, window)
        self._search, self._cost, self._evaluator, self._space = self._parts
        self._search.rough = len(self._windows) > 1
        if found is not None:
            self._restore(found)
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
            self._voice.say(f"Stopped after {where}, as asked; {self._go_on()}")
            return 128 + stopped.number
        self._results(deviations)
        return 0

    # ---- before -------------------------------------------------------------------------------

    def _found(self) -> checkpoint.Checkpoint | None:
        """The checkpoint to go on from, of this very problem."""
        restart = self._options.restart
        if restart is None:
            return None
        found = checkpoint.open_checkpoint(
            restart, self._comm, self._options.fallback, self._voice.warn
        )
        posed = found.manifest.attributes.get("posed")
        if found.manifest.solver != self._case.model or posed is None:
            raise CheckpointError(
                f"checkpoint {found.path} is not of an assimilation with the model "
                f"'{self._case.model}'; restart it with its own case."
            )
        changed = differences(posed, _posed(self._case))
        if changed:
            raise CheckpointError(
                f"checkpoint {found.path} is of another problem: {', '.join(changed)} changed; "
                "restart it with its own case, or begin anew without --restart."
            )
        return found

    def _restore(self, found: checkpoint.Checkpoint) -> None:
        """Take the state of the search."""
        state, attributes = found.state(), found.manifest.attributes
        vectors: dict[str, np.ndarray] = {}
        with collective(self._comm):
            vectors = saved.vectors_of(state, self._problem.model)
        self._search.restore(vectors, attributes["search"])
        self._history.restore(attributes["history"])
        self._cost.sweeps.counts.restore(attributes["counts"])
        self._evaluator.forward_runs = attributes["forward_runs"]
        self._evaluator.gradients = attributes["gradients"]
        self._restored = self._latest = found.path
        self._voice.say(f"Restarted from {found.path} (iteration {found.manifest.step}).")

    def _claim(self) -> None:
        """Take the folder, and put checkpoints aside that the restart leaves behind."""
        seen, step = self._case.observations, self._search.iteration
        run_folder.occupy(
            self._folder, self._case, self._options, self._lock, step, self._comm, self._voice.say
        )
        if seen.store is None and seen.keep:
            self._problem.keep_observations(self._folder / run_folder.OBSERVATIONS)

    # ---- the search ---------------------------------------------------------------------------

    def _loop(self) -> None:
        """Iterate to the end of the search or a signal."""
        search, limit = self._search, self._case.optimiser.iterations
        if self._restored is None:
            search.begin()
            if not math.isfinite(search.value):
                raise CaseError(
                    "J is not finite at the first guess: the model is not stable there; make "
                    "time.dt smaller, or choose another first_guess."
                )
            self._note()
        self._vote()
        done = self._over()
        while not done:
            if search.ended is not None:
                self._next_stage()
            search.step()
            if search.iteration > self._history.last:
                self._note()
            show, overdue = self._vote()
            done = self._over()
            if show or done:
                fraction = 1.0 if done else search.iteration / limit
                self._monitor.show(search.iteration, None, fraction, self._readings())
            if not done and (overdue or self._due()):
                self._save()

    def _over(self) -> bool:
        """Whether the search is over, or has had all iterations that it may have."""
        search = self._search
        ended = search.ended is not None and search.stage == len(self._windows) - 1
        return ended or search.iteration >= self._case.optimiser.iterations

    def _next_stage(self) -> None:
        """Look at more of the run."""
        stage = self._search.stage + 1
        window = self._windows[stage]
        self._cost.look_at(self._problem.plan(window))
        self._evaluator.forget()
        units = self._problem.scales(self._estimate(), window)
        self._search.next_stage(
            units, rough=stage + 1 < len(self._windows), metric=self._problem.metric(window)
        )
        self._note()

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

    def _note(self) -> None:
        """Add the present iteration to the history."""
        search = self._search
        self._history.add(
            search.iteration,
            self._windows[search.stage],
            search.value,
            search.projected(),
            self._space.parameters(search.point),
            self._evaluator.forward_runs,
            self._runs_backward(),
            time.monotonic() - self._began,
        )

    def _runs_backward(self) -> int:
        """Adjoint runs of all groups; each is done by one of them."""
        counts: int = self._problem.groups.across.allreduce(self._cost.counts.backward_runs)
        return counts

    def _readings(self) -> dict[str, Reading]:
        row = self._history.newest()
        readings = {
            "steps": Reading(row["window"], format=".0f"),
            "J": Reading(row["J"], format=".8g"),
            "|g|": Reading(row["gradient"]),
        }
        for name in self._history.parameters:
            readings[name] = Reading(row[name], format=".6g")
        readings["forward"] = Reading(row["forward"], format=".0f")
        readings["backward"] = Reading(row["backward"], format=".0f")
        return readings

    # ---- checkpoints --------------------------------------------------------------------------

    def _save(self) -> None:
        """Write a checkpoint of the search."""
        vectors, numbers = self._search.stored()
        attributes = {
            "search": numbers,
            "units": self._space.scales.tolist(),
            "history": self._history.stored(),
            "counts": asdict(self._cost.counts),
            "forward_runs": self._evaluator.forward_runs,
            "gradients": self._evaluator.gradients,
            "posed": _posed(self._case),
        }
        first_group = self._problem.groups.mine == 0
        state = saved.state_of(vectors, attributes, self._problem.model, first_group, self._comm)
        snapshot = checkpoint.Snapshot(
            self._case.model, self._case.digest(), self._search.iteration, 0.0, state
        )
        began = time.monotonic()
        self._latest = checkpoint.write(
            self._folder,
            snapshot,
            self._case.checkpoint.keep,
            self._comm,
            self._latest,
            saved.unchanged(vectors, self._written),
        )
        self._written = set(vectors)
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

    def _estimate(self) -> Guess:
        point = self._search.point
        return Guess(self._space.state(point), self._space.parameters(point))

    def _deviations(self) -> list[Deviation]:
        """Standard deviations of the parameters."""
        wanted = self._case.uncertainty
        if not wanted.iterations:
            return [Deviation.unknown("not asked for") for _ in self._problem.model.parameters]
        self._monitor.say("Finding standard deviations.")
        hessian = self._cost.hessian(self._estimate(), self._problem.states)
        return deviations(
            self._space,
            hessian,
            self._search.point,
            self._search.gradient,
            wanted,
            lambda: self._vote(),
        )

    def _with_ensemble(self, found: list[Deviation]) -> list[Deviation]:
        """Add the spread of perturbed assimilations to the standard deviations."""
        wanted, search = self._case.uncertainty, self._search
        groups = self._problem.groups
        # The same members belong to the same estimate of the same problem, on any ranks.
        estimate = [search.value, *self._space.parameters(search.point).tolist()]
        optimiser = self._case.optimiser.model_dump(mode="json")
        files = MemberFiles(
            self._folder,
            {
                "posed": _posed(self._case),
                "estimate": [repr(one) for one in estimate],
                "optimiser": optimiser,
                "seed": wanted.seed,
            },
        )
        self._voice.say(
            f"Minimising {wanted.members} perturbed assimilations"
            + (f" on {groups.count} groups of ranks." if groups.count > 1 else ".")
        )
        ensemble = self._problem.ensemble(self._parts)
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
            for one, spread in zip(found, spreads(members), strict=True)
        ]

    def _stop_in_group(self) -> bool:
        """Whether a rank of this group received a signal (collective over the group)."""
        asked: bool = self._problem.groups.inside.allreduce(bool(self._stop.received), maximum())
        return asked

    def _tell_member(self, member: Member) -> None:
        names = self._history.parameters
        values = [
            f"{name} {value:.6g}" for name, value in zip(names, member.parameters, strict=True)
        ]
        told = [f"J {member.J:.8g}", *values, f"{member.iterations} iterations"]
        wanted = self._case.uncertainty.members
        self._voice.say("  ".join([f"member {member.number} of {wanted}", *told]))

    def _results(self, found: list[Deviation]) -> None:
        """Write estimate, history, figures and the summary, and name all that was written."""
        problem, estimate = self._problem, self._estimate()
        written = results.write(
            self._folder,
            self._case,
            problem,
            estimate,
            self._history,
            found,
            self._members,
            self._comm,
            draw=bool(self._case.output.figures) and self._options.figures,
        )
        found_out = summarise(
            problem,
            self._parts,
            self._history,
            found,
            ended=self._ended(),
            backward=self._runs_backward(),
        )
        head = run_folder.summary_head(
            self._case,
            self._case.model,
            self._comm.size,
            self._search.iteration,
            self._restored,
            time.monotonic() - self._began,
        )
        summary = {
            **head,
            **found_out,
            "seconds_in": {**self._problem.timings, "checkpoints": self._saving},
        }
        with collective(self._comm):
            if self._comm.rank == 0:
                files = [*filter(None, [self._latest]), *written]
                files.append(self._folder / run_folder.SUMMARY)
                summary["files"] = [str(file) for file in files]
                run_folder.write_summary(self._folder, summary)
                self._voice.say(ending(summary))
                self._voice.say("\n".join(["Wrote:", *(f"  {file}" for file in files)]))

    def _ended(self) -> str:
        """Why the search ended."""
        search, window = self._search, self._history.window
        if search.ended is not None and not search.rough:
            return search.ended
        ended = f"the {self._case.optimiser.iterations} iterations allowed are done"
        if window < self._windows[-1]:
            ended += f", of {self._windows[-1]} steps only {window} have been looked at"
        return ended


def _check_store(case: AssimilationCase, folder: Path, options: Options) -> None:
    """Raise `OutputError` if --overwrite would remove what is to be read."""
    store = case.observations.store
    if store is not None and options.overwrite and folder.resolve() in store.resolve().parents:
        raise OutputError(
            f"--overwrite would remove {store}, which is to be read; move it out of {folder}, or "
            "choose another folder with --out."
        )


def _posed(case: AssimilationCase) -> dict[str, Any]:
    """What of a case makes J, and what the search may be."""
    return case.model_dump(mode="json", exclude=_NOT_THE_PROBLEM)
