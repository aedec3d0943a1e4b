"""Standard deviations by an ensemble of perturbed assimilations.

Each member minimises J with perturbed observations and background: random errors with their sigmas
are added. If the model is linear, the covariance of the minima is the inverse Hessian of J. If it
is not, their spread represents the posterior better than the curvature at one point.

Members are distributed over the groups of ranks that evaluate candidates in the search
(`groups.py`). They are independent: each is written to a file when it is complete, and a run that
was killed continues with the others.

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

from uzushio._base.files import atomic_write
from uzushio._base.parallel.sync import collective, on_root
from uzushio._job import run_folder
from uzushio.assimilation.cost import Cost
from uzushio.assimilation.groups import Evaluator, Groups
from uzushio.assimilation.minimise import Minimiser, Settings
from uzushio.assimilation.model import Metric
from uzushio.assimilation.perturbed import Perturber
from uzushio.assimilation.space import ControlSpace

if TYPE_CHECKING:
    from mpi4py import MPI

#: Name of the folder of the members' files.
FOLDER = run_folder.MEMBERS


@dataclass(frozen=True)
class Member:
    """Minimum of one perturbed assimilation.

    Attributes:
        number: number from 1, which determines the noise.
        parameters: parameters at the minimum.
        J: value of J at the minimum.
        iterations: iterations of the search.
        forward_runs: number of values of J.
        backward_runs: number of gradients.
        ended: reason of the end of the search.
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
    """Spread of a parameter over the members.

    Attributes:
        sd: standard deviation about the mean.
        mean: mean of the members.
        members: number of members.
        sampling_error: relative standard deviation of `sd`: 1 / √(2 (members - 1)).
    """

    sd: float
    mean: float
    members: int
    sampling_error: float


def ensemble_spreads(members: Sequence[Member]) -> list[EnsembleSpread]:
    """Return the spread of each parameter over two or more members."""
    values = np.array([member.parameters for member in members])
    count = len(members)
    error = 1.0 / math.sqrt(2.0 * (count - 1))
    means, deviations = values.mean(axis=0), values.std(axis=0, ddof=1)
    return [
        EnsembleSpread(float(sd), float(mean), count, error)
        for sd, mean in zip(deviations, means, strict=True)
    ]


def table(members: Sequence[Member], names: Sequence[str]) -> str:
    """Return all members as comma-separated values."""
    lines = [",".join(["member", *names, "J", "iterations", "forward", "backward", "ended"])]
    for member in members:
        numbers = [*map(repr, member.parameters), repr(member.J)]
        counts = [str(member.iterations), str(member.forward_runs), str(member.backward_runs)]
        lines.append(",".join([str(member.number), *numbers, *counts, member.ended]))
    return "\n".join(lines) + "\n"


class MemberFiles:
    """Files of the complete members in a run's folder, one each.

    Members of an earlier estimate count as not complete.
    """

    def __init__(self, folder: Path, problem: Mapping[str, Any]) -> None:
        """Set the names of the files.

        Args:
            folder: folder of the run.
            problem: all values that the members depend on, for JSON.
        """
        self._folder = folder / FOLDER
        text = json.dumps(problem, sort_keys=True, default=str)
        self._key = hashlib.sha256(text.encode()).hexdigest()

    def done(self, count: int) -> dict[int, Member]:
        """Return the complete members with numbers up to `count`, by number."""
        members = {}
        for number in range(1, count + 1):
            try:
                stored = json.loads(self._path(number).read_text(encoding="utf-8"))
                if stored.pop("of") == self._key:
                    members[number] = Member(**stored)
            except (OSError, ValueError, TypeError, LookupError, AttributeError):
                continue  # missing or invalid: it will be computed again
        return members

    def write(self, member: Member) -> None:
        """Write a member's file atomically; raise `OSError` on failure."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {"of": self._key, **asdict(member)}
        atomic_write(self._path(member.number), json.dumps(content, indent=1) + "\n")

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:05}.json"


@dataclass(frozen=True)
class Start:
    """Start and settings of the members' searches.

    Attributes:
        point: the estimate, a vector of the space.
        settings: settings of the searches.
        metric: metric of the whole run for lbfgs, or None.
        iterations: maximum number of iterations.
    """

    point: np.ndarray
    settings: Settings
    metric: Metric | None
    iterations: int


class Ensemble:
    """Search for the minima of one group's members."""

    def __init__(
        self, cost: Cost, space: ControlSpace, groups: Groups, perturber: Perturber, start: Start
    ) -> None:
        """Use the cost function of a group (collective over the group).

        Args:
            cost: J of the whole run; its observations and background are replaced.
            space: space of the vectors.
            groups: groups of all ranks.
            perturber: source of this group's perturbed observations and background.
            start: start of each search.
        """
        self._cost, self._space, self._groups = cost, space, groups
        self._perturber, self._start = perturber, start
        self._alone = Groups(groups.inside, 1)

    def member(self, number: int, between: Callable[[], bool]) -> Member | None:
        """Search for the minimum of a member (collective over the group).

        Args:
            number: number of the member.
            between: called before each iteration; returns whether to stop.

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
        member = Member(
            number=number,
            parameters=[float(value) for value in space.parameters(search.point)],
            J=search.value,
            iterations=search.iteration,
            forward_runs=evaluator.forward_runs,
            backward_runs=evaluator.gradients,
            ended=search.ended or f"the {start.iterations} iterations allowed are done",
        )
        search.release()
        evaluator.forget()
        return member

    def run(
        self,
        count: int,
        files: MemberFiles,
        between: Callable[[], bool],
        tell: Callable[[Member], None],
        comm: MPI.Comm,
    ) -> list[Member] | None:
        """Compute all members that are not complete, on all groups (collective over `comm`).

        Args:
            count: number of members.
            files: files of complete members.
            between: as in `member`.
            tell: called with each member that this group has completed.
            comm: communicator of all ranks.

        Returns:
            All members, on all ranks; None if they were stopped.
        """
        done = on_root(comm, lambda: files.done(count))
        left = [number for number in range(1, count + 1) if number not in done]
        mine, stopped = self._groups.mine, False
        for number in left[mine :: self._groups.count]:
            member = self.member(number, between)
            if member is None:
                stopped = True
                break
            with collective(self._groups.inside):
                if self._groups.inside.rank == 0:
                    files.write(member)
            done[number] = member
            tell(member)
        everybody = comm.allgather((stopped, done))
        if any(ended for ended, _ in everybody):
            return None
        all_of_them = {number: member for _, some in everybody for number, member in some.items()}
        return [all_of_them[number] for number in range(1, count + 1)]
