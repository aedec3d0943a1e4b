"""Standard deviations by an ensemble of perturbed assimilations.

Each member minimises J again, with observations and background to which errors of their own sigmas
are added. Where the model is linear the minima scatter about the estimate with the inverse Hessian
of J as their covariance; where it is not, their scatter holds more of the posterior than the
curvature at one point does.

Members are shared out among the groups of ranks that try candidates elsewhere (`groups.py`). They
need nothing of each other, so each leaves a file when it is done, and a run that was killed goes on
with those that are not.

Sources: D. S. Oliver, N. He, A. C. Reynolds, Conditioning permeability fields to pressure data,
Proc. 5th ECMOR (1996), the method; L. Isaksen et al., Ensemble of data assimilations at ECMWF,
ECMWF Tech. Memo. 636 (2010), its use beside 4D-Var.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.assimilation.cost import Cost
from uzushio.assimilation.groups import Evaluator, Groups
from uzushio.assimilation.minimise import Minimiser, Settings
from uzushio.assimilation.model import Metric
from uzushio.assimilation.perturbed import Perturber
from uzushio.assimilation.space import ControlSpace
from uzushio.files import atomic_write
from uzushio.job import run_folder
from uzushio.parallel.collective import collective

if TYPE_CHECKING:
    from mpi4py import MPI

#: Folder of the members' files.
FOLDER = run_folder.MEMBERS


@dataclass(frozen=True)
class Member:
    """The minimum that one perturbed assimilation found.

    Attributes:
        number: from 1; its noise belongs to it.
        parameters: at the minimum.
        J: there.
        iterations: of the search.
        forward_runs: values of J.
        backward_runs: gradients.
        ended: why the search ended.
    """

    number: int
    parameters: Sequence[float]
    J: float
    iterations: int
    forward_runs: int
    backward_runs: int
    ended: str


@dataclass(frozen=True)
class EnsembleSpread:
    """The scatter of a parameter over the members.

    Attributes:
        sd: standard deviation about the members' mean.
        mean: of the members.
        members: number of them.
        sampling_error: of `sd`, as a share of it: one standard deviation, 1 / √(2 (members - 1)).
    """

    sd: float
    mean: float
    members: int
    sampling_error: float


def ensemble_spreads(members: Sequence[Member]) -> list[EnsembleSpread]:
    """The scatter of each parameter over two members or more."""
    values = np.array([one.parameters for one in members])
    count = len(members)
    error = 1.0 / math.sqrt(2.0 * (count - 1))
    means, deviations = values.mean(axis=0), values.std(axis=0, ddof=1)
    return [
        EnsembleSpread(float(sd), float(mean), count, error)
        for sd, mean in zip(deviations, means, strict=True)
    ]


def table(members: Sequence[Member], names: Sequence[str]) -> str:
    """All members as comma-separated values."""
    lines = [",".join(["member", *names, "J", "iterations", "forward", "backward", "ended"])]
    for one in members:
        numbers = [*map(repr, one.parameters), repr(one.J)]
        counts = [str(one.iterations), str(one.forward_runs), str(one.backward_runs)]
        lines.append(",".join([str(one.number), *numbers, *counts, one.ended]))
    return "\n".join(lines) + "\n"


class MemberFiles:
    """The files of the members that are done, one each, in a run's folder.

    Members of another estimate, which a run left that went on since, count as not done.
    """

    def __init__(self, folder: Path, problem: Mapping[str, Any]) -> None:
        """Name the files.

        Args:
            folder: of the run.
            problem: what the members depend on, as plain values.
        """
        self._folder = folder / FOLDER
        text = json.dumps(problem, sort_keys=True, default=str)
        self._key = hashlib.sha256(text.encode()).hexdigest()

    def done(self, count: int) -> dict[int, Member]:
        """The members up to `count` that are there, by number."""
        found = {}
        for number in range(1, count + 1):
            try:
                told = json.loads(self._path(number).read_text(encoding="utf-8"))
                if told.pop("of") == self._key:
                    found[number] = Member(**told)
            except (OSError, ValueError, TypeError, LookupError, AttributeError):
                continue  # there is none, or it is none of ours: it is made again
        return found

    def write(self, member: Member) -> None:
        """Write a member's file, whole or not at all; raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {"of": self._key, **asdict(member)}
        atomic_write(self._path(member.number), json.dumps(content, indent=1) + "\n")

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:05}.json"


@dataclass(frozen=True)
class Start:
    """Where the members' searches begin, and how they go on.

    Attributes:
        point: the estimate, a vector of the space.
        settings: of the searches.
        metric: of the whole run, for lbfgs; None: none.
        iterations: at most.
    """

    point: np.ndarray
    settings: Settings
    metric: Metric | None
    iterations: int


class Ensemble:
    """Searches for the minima of the members that one group of ranks has to do."""

    def __init__(
        self, cost: Cost, space: ControlSpace, groups: Groups, perturber: Perturber, start: Start
    ) -> None:
        """Take what a group has (collective over it).

        Args:
            cost: J of the whole run; its observations and background are replaced.
            space: of the vectors.
            groups: of all ranks.
            perturber: of this group's observations and background.
            start: of each search.
        """
        self._cost, self._space, self._groups = cost, space, groups
        self._perturber, self._start = perturber, start
        self._alone = Groups(groups.inside, 1)

    def member(self, number: int, between: Callable[[], bool]) -> Member | None:
        """Search for the minimum of a member (collective over the group).

        Args:
            number: of the member.
            between: is called before each iteration, and returns whether to stop.

        Returns:
            The member; None if it was stopped.
        """
        start, space = self._start, self._space
        self._cost.compare_with(
            self._perturber.observations(number), self._perturber.background(number)
        )
        evaluator = Evaluator(self._cost, space, self._alone)
        search = Minimiser(space, evaluator, start.point, start.settings, start.metric)
        search.begin()
        while search.ended is None and search.iteration < start.iterations:
            if between():
                return None
            search.step()
        found = Member(
            number=number,
            parameters=[float(one) for one in space.parameters(search.point)],
            J=search.value,
            iterations=search.iteration,
            forward_runs=evaluator.forward_runs,
            backward_runs=evaluator.gradients,
            ended=search.ended or f"the {start.iterations} iterations allowed are done",
        )
        search.release()
        evaluator.forget()
        return found

    def run(
        self,
        count: int,
        files: MemberFiles,
        between: Callable[[], bool],
        tell: Callable[[Member], None],
        comm: MPI.Comm,
    ) -> list[Member] | None:
        """Do all members that are not done yet, on all groups (collective over `comm`).

        Args:
            count: number of members.
            files: of those that are done.
            between: as in `member`.
            tell: is told of each member that this group has done.
            comm: all ranks.

        Returns:
            All members, on all ranks; None if they were stopped.
        """
        done: dict[int, Member] = comm.bcast(files.done(count) if comm.rank == 0 else None)
        left = [number for number in range(1, count + 1) if number not in done]
        mine, stopped = self._groups.mine, False
        for number in left[mine :: self._groups.count]:
            found = self.member(number, between)
            if found is None:
                stopped = True
                break
            with collective(self._groups.inside):
                if self._groups.inside.rank == 0:
                    files.write(found)
            done[number] = found
            tell(found)
        everybody = comm.allgather((stopped, done))
        if any(one for one, _ in everybody):
            return None
        all_of_them = {number: one for _, some in everybody for number, one in some.items()}
        return [all_of_them[number] for number in range(1, count + 1)]
