"""State of an assimilation: problem, search and history, as checkpoints store them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.parallel.sync import collective
from uzushio._base.store import checkpoint
from uzushio.assimilation import saved
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.ensemble import MemberFiles
from uzushio.assimilation.fit import Fit
from uzushio.assimilation.history import History
from uzushio.assimilation.model import Guess
from uzushio.assimilation.problem import Problem, SearchSetup
from uzushio.errors import CheckpointError
from uzushio.solvers.contract import Reading

if TYPE_CHECKING:
    from mpi4py import MPI

#: Relative difference of J at the same point with another version of the program or its libraries.
_SAME = 1e-8


class Assimilation:
    """Problem, search and history on the ranks of a job. Methods are collective.

    Attributes:
        case: the case.
        comm: communicator of all ranks.
        problem: components of the assimilation.
        windows: steps of each stage's window; after `start`. The last two are the whole run if it
            was tried again.
        remarks: sentences on stages that were not handed on, and on a search that was repeated.
        tried_again: J of the first and of the second search of the whole run, or None.
        setup: the search and its components; after `start`.
        history: a row for each iteration.
    """

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        """Create the problem; raise `UzushioError` on all ranks if it does not fit them."""
        self.case, self.comm = case, comm
        self.problem = Problem(case, comm)
        self.history = History([parameter.name for parameter in self.problem.model.parameters])
        self.windows: list[int] = []
        self.remarks: list[str] = []
        self.tried_again: dict[str, float | None] | None = None
        self._fresh = False  # whether the stage began at the first guess
        self._kept: np.ndarray | None = None  # result of the first search, in the model's units
        self.setup: SearchSetup
        self._began = time.monotonic()

    def start(self, restored: checkpoint.Checkpoint | None) -> None:
        """Create the search, at its beginning or at the state of a checkpoint.

        Call `Problem.observe` before.
        """
        problem = self.problem
        if restored is not None:
            rows = restored.manifest.attributes["history"]
            problem.resume_after_stages(self.history.windows_of(rows))
        self.windows = problem.windows()
        if restored is not None and restored.manifest.attributes.get("tried_again") is not None:
            self.windows.append(self.windows[-1])
        if restored is None:
            window = self.windows[0]
            units = problem.scales(problem.guess, window)
        else:
            attributes = restored.manifest.attributes
            window = self.windows[attributes["search"]["stage"]]
            units = [float(unit) for unit in attributes["units"]]
            self._fresh = attributes.get("fresh", False)
        self.setup = problem.set_up_search(units, window, self._fresh)
        self.setup.search.rough = len(self.windows) > 1
        if restored is not None:
            self._restore(restored)

    def _restore(self, restored: checkpoint.Checkpoint) -> None:
        state, attributes = restored.state(), restored.manifest.attributes
        vectors: dict[str, np.ndarray] = {}
        with collective(self.comm):
            vectors = saved.vectors_of(state, self.problem.model)
        self._kept = vectors.pop("kept", None)
        self.remarks = list(attributes.get("remarks", []))
        self.tried_again = attributes.get("tried_again")
        self.setup.search.restore(vectors, attributes["search"])
        self._require_same_value(restored.path)
        self.history.restore(attributes["history"])
        self.setup.cost.sweeps.counts.restore(attributes["counts"])
        self.setup.evaluator.forward_runs = attributes["forward_runs"]
        self.setup.evaluator.gradients = attributes["gradients"]

    def _require_same_value(self, path: Path) -> None:
        """Raise `CheckpointError` if J at the point of a checkpoint is another one today.

        The case names stores and perhaps the file of the model; their content may have changed.
        """
        search, evaluator = self.setup.search, self.setup.evaluator
        (value,) = evaluator.values([search.point])
        evaluator.forget()
        if not math.isclose(value, search.value, rel_tol=_SAME):
            raise CheckpointError(
                f"checkpoint {path} is of another problem: J is {search.value:.10g} there, and "
                f"{value:.10g} now: the content of a store or the file of the model was changed "
                "since; restart it with the content of that time, or begin anew without --restart."
            )

    def snapshot(self) -> tuple[checkpoint.Snapshot, set[str]]:
        """Return the content of a checkpoint of the search, and the names of its vectors."""
        search, cost, evaluator, space = self.setup
        vectors, numbers = search.stored()
        if self._kept is not None:
            vectors["kept"] = self._kept
        attributes = {
            "search": numbers,
            "units": space.scales.tolist(),
            "history": self.history.stored(),
            "counts": asdict(cost.counts),
            "forward_runs": evaluator.forward_runs,
            "gradients": evaluator.gradients,
            "posed": saved.posed(self.case),
            "fresh": self._fresh,
            "remarks": self.remarks,
            "tried_again": self.tried_again,
        }
        writes = self.problem.groups.mine == 0
        state = saved.state_of(vectors, attributes, self.problem.model, writes, self.comm)
        digest = self.case.digest()
        taken = checkpoint.Snapshot(self.case.model, digest, search.iteration, 0.0, state)
        return taken, set(vectors)

    def next_stage(self) -> None:
        """Begin the next stage, with a longer window, at the current point.

        It begins at the first guess if the search of the whole run is repeated, or if a parameter
        is at a bound. The observations of the window did not determine it.
        """
        again = self.tried_again is not None
        held = [] if again else self.setup.space.at_bounds(self.setup.search.point)
        if held:
            names = " and ".join(self.history.parameters[index] for index in held)
            self.remarks.append(
                f"The stage of {self.history.window} steps ended with {names} at a bound; the next "
                "one begins at the first guess."
            )
        handed_on = self.estimate()
        self._fresh = again or bool(held)
        self._begin(self.problem.guess if self._fresh else handed_on)
        if self._fresh and not again and not math.isfinite(self.setup.search.value):
            self.remarks.append("J is not finite there; the stage begins at that bound.")
            self.setup.search.stage -= 1
            self._fresh = False
            self._begin(handed_on)
        if again and not math.isfinite(self.setup.search.value):
            self.setup.search.ended = "J of the whole run is not finite at the first guess"
        self.note()

    def _begin(self, start: Guess) -> None:
        """Begin the next stage at a point."""
        search, cost, evaluator, space = self.setup
        stage = search.stage + 1
        window = self.windows[stage]
        cost.set_schedule(self.problem.plan(window))
        evaluator.forget()
        search.move(space.vector(start.state, start.parameters))
        units = self.problem.scales(self.estimate(), window)
        rough = stage + 1 < len(self.windows)
        search.next_stage(units, rough=rough, metric=self.problem.metric(window, self._fresh))

    def judge(self) -> None:
        """Add a search of the whole run from the first guess if that by stages fits poorly.

        A last stage that began at the first guess was that search already.
        """
        search = self.setup.search
        is_last = search.stage == len(self.windows) - 1 and not search.rough
        if search.ended is None or not is_last or len(self.windows) == 1 or self.tried_again:
            return
        if self._fresh or search.iteration >= self.case.optimiser.iterations:
            return
        if not (self.setup.space.at_bounds(search.point) or self.fit().is_poor):
            return
        guess = self.estimate()
        self._kept = np.concatenate([guess.state.reshape(-1), guess.parameters])
        self.tried_again = {"first": search.value, "second": None}
        self.windows.append(self.windows[-1])
        self.remarks.append(
            "The search by growing windows ended with a poor fit or at a bound: the whole run is "
            "tried again from the first guess."
        )

    def choose(self) -> None:
        """Keep the better one of two searches of the whole run; call it at their end."""
        search, _, evaluator, space = self.setup
        if self._kept is None or self.tried_again is None:
            return
        if search.stage < len(self.windows) - 1:  # the second one has not begun
            return
        first = self.tried_again["first"]
        assert first is not None
        self.tried_again["second"] = search.value if math.isfinite(search.value) else None
        second, is_first = search.value, not search.value < first
        self.remarks.append(
            f"J is {first:.8g} after the first search and {second:.8g} after the second one: the "
            f"result is that of the {'first' if is_first else 'second'} one."
        )
        if is_first:
            points = space.size - len(self.history.parameters)
            state = self._kept[:points].reshape(space.shape)
            evaluator.forget()
            search.move(space.vector(state, self._kept[points:]))
            search.begin()
            search.ended = "the second search did not find a smaller J"
            self.note()
        self._kept = None

    def part_of_run(self) -> str:
        """Return words on the observations that J has looked at; empty if these are all."""
        window, whole = self.history.window, self.windows[-1]
        if window >= whole:
            return ""
        seen, total = self.problem.observed_within(window), self.problem.observed_counts()[0]
        return (
            f"the first {window} of {whole} steps, with {seen} of {total} observations, not the "
            "whole run"
        )

    def fit(self) -> Fit:
        """Return the goodness of fit of the current estimate."""
        search, cost, _, space = self.setup
        return self.problem.fit(cost, space, search.point, self.history.window)

    def note(self) -> None:
        """Add the current iteration to the history."""
        search, _, evaluator, space = self.setup
        parameters = zip(self.history.parameters, space.parameters(search.point), strict=True)
        self.history.add(
            {
                "iteration": search.iteration,
                "window": self.windows[search.stage],
                "J": search.value,
                "gradient": search.projected(),
                **dict(parameters),
                "forward": evaluator.forward_runs,
                "backward": self.runs_backward(),
                "seconds": self.seconds(),
            }
        )

    def seconds(self) -> float:
        """Return the seconds since the set-up in this process."""
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        """Return whether the search has ended or reached its maximum of iterations."""
        search = self.setup.search
        ended = search.ended is not None and search.stage == len(self.windows) - 1
        return ended or search.iteration >= self.case.optimiser.iterations

    def ended(self) -> str:
        """Return the reason of the end of the search."""
        search, window = self.setup.search, self.history.window
        if search.ended is not None and not search.rough:
            return search.ended
        allowed = self.case.optimiser.iterations
        ended = f"the {allowed} iterations allowed are done"
        if search.iteration < allowed:
            ended = f"not yet, after iteration {search.iteration} of at most {allowed}"
        if window < self.windows[-1]:
            ended += f", of {self.windows[-1]} steps only {window} have been looked at"
        return ended

    def runs_backward(self) -> int:
        """Return the number of adjoint runs of all groups."""
        counts: int = self.problem.groups.across.allreduce(self.setup.cost.counts.backward_runs)
        return counts

    def readings(self) -> Mapping[str, Reading]:
        """Return the figures of the progress line."""
        row = self.history.newest()
        readings = {
            "steps": Reading(row["window"], format=".0f"),
            "J": Reading(row["J"], format=".8g"),
            "|g|": Reading(row["gradient"]),
        }
        for name in self.history.parameters:
            readings[name] = Reading(row[name], format=".6g")
        readings["forward"] = Reading(row["forward"], format=".0f")
        readings["backward"] = Reading(row["backward"], format=".0f")
        return readings

    def estimate(self) -> Guess:
        """Return the current estimate."""
        space, point = self.setup.space, self.setup.search.point
        return Guess(space.state(point), space.parameters(point))

    def member_files(self, folder: Path) -> MemberFiles:
        """Return the files of an ensemble of this estimate, in the folder of the run.

        The members depend on the estimate and the problem, not on the number of ranks.
        """
        search, space = self.setup.search, self.setup.space
        estimate: list[Any] = [search.value, *space.parameters(search.point).tolist()]
        problem = {
            "posed": saved.posed(self.case),
            "estimate": [repr(value) for value in estimate],
            "optimiser": self.case.optimiser.model_dump(mode="json"),
            "seed": self.case.uncertainty.seed,
        }
        return MemberFiles(folder, problem)
