"""State of an assimilation: problem, search and history, as checkpoints store them."""

from __future__ import annotations

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
from uzushio.assimilation.history import History
from uzushio.assimilation.model import Guess
from uzushio.assimilation.problem import Parts, Problem
from uzushio.solvers.contract import Reading

if TYPE_CHECKING:
    from mpi4py import MPI


class Assimilation:
    """Problem, search and history on the ranks of a job. Methods are collective.

    Attributes:
        case: the case.
        comm: communicator of all ranks.
        problem: components of the assimilation.
        windows: steps of each stage's window; after `start`.
        parts: the search and its components; after `start`.
        history: a row for each iteration.
    """

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        """Create the problem; raise `UzushioError` on all ranks if it does not fit them."""
        self.case, self.comm = case, comm
        self.problem = Problem(case, comm)
        self.history = History([one.name for one in self.problem.model.parameters])
        self.windows: list[int] = []
        self.parts: Parts
        self._began = time.monotonic()

    def start(self, found: checkpoint.Checkpoint | None) -> None:
        """Create the search, at its beginning or at the state of a checkpoint.

        Call `Problem.observe` before.
        """
        problem = self.problem
        if found is not None:
            rows = found.manifest.attributes["history"]
            problem.pass_stages(self.history.windows_of(rows))
        self.windows = problem.windows()
        if found is None:
            window = self.windows[0]
            units = problem.scales(problem.guess, window)
        else:
            attributes = found.manifest.attributes
            window = self.windows[attributes["search"]["stage"]]
            units = [float(unit) for unit in attributes["units"]]
        self.parts = problem.minimiser(units, window)
        self.parts.search.rough = len(self.windows) > 1
        if found is not None:
            self._restore(found)

    def _restore(self, found: checkpoint.Checkpoint) -> None:
        state, attributes = found.state(), found.manifest.attributes
        vectors: dict[str, np.ndarray] = {}
        with collective(self.comm):
            vectors = saved.vectors_of(state, self.problem.model)
        self.parts.search.restore(vectors, attributes["search"])
        self.history.restore(attributes["history"])
        self.parts.cost.sweeps.counts.restore(attributes["counts"])
        self.parts.evaluator.forward_runs = attributes["forward_runs"]
        self.parts.evaluator.gradients = attributes["gradients"]

    def snapshot(self) -> tuple[checkpoint.Snapshot, set[str]]:
        """Return the content of a checkpoint of the search, and the names of its vectors."""
        search, cost, evaluator, space = self.parts
        vectors, numbers = search.stored()
        attributes = {
            "search": numbers,
            "units": space.scales.tolist(),
            "history": self.history.stored(),
            "counts": asdict(cost.counts),
            "forward_runs": evaluator.forward_runs,
            "gradients": evaluator.gradients,
            "posed": saved.posed(self.case),
        }
        writes = self.problem.groups.mine == 0
        state = saved.state_of(vectors, attributes, self.problem.model, writes, self.comm)
        digest = self.case.digest()
        taken = checkpoint.Snapshot(self.case.model, digest, search.iteration, 0.0, state)
        return taken, set(vectors)

    def next_stage(self) -> None:
        """Begin the next stage, with a longer window."""
        search, cost, evaluator, _ = self.parts
        stage = search.stage + 1
        window = self.windows[stage]
        cost.look_at(self.problem.plan(window))
        evaluator.forget()
        units = self.problem.scales(self.estimate(), window)
        rough = stage + 1 < len(self.windows)
        search.next_stage(units, rough=rough, metric=self.problem.metric(window))
        self.note()

    def note(self) -> None:
        """Add the current iteration to the history."""
        search, _, evaluator, space = self.parts
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
        search = self.parts.search
        ended = search.ended is not None and search.stage == len(self.windows) - 1
        return ended or search.iteration >= self.case.optimiser.iterations

    def ended(self) -> str:
        """Return the reason of the end of the search."""
        search, window = self.parts.search, self.history.window
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
        counts: int = self.problem.groups.across.allreduce(self.parts.cost.counts.backward_runs)
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
        space, point = self.parts.space, self.parts.search.point
        return Guess(space.state(point), space.parameters(point))

    def member_files(self, folder: Path) -> MemberFiles:
        """Return the files of an ensemble of this estimate, in the folder of the run.

        The members depend on the estimate and the problem, not on the number of ranks.
        """
        search, space = self.parts.search, self.parts.space
        estimate: list[Any] = [search.value, *space.parameters(search.point).tolist()]
        problem = {
            "posed": saved.posed(self.case),
            "estimate": [repr(one) for one in estimate],
            "optimiser": self.case.optimiser.model_dump(mode="json"),
            "seed": self.case.uncertainty.seed,
        }
        return MemberFiles(folder, problem)
