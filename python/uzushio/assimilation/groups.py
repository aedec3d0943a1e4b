"""Forward blocking: groups of ranks try candidates at the same time.

Each group runs the whole model on its own ranks. What a round of candidates costs between groups:
phase A, one all-gather of their J, of which every group chooses the best; phase B, one broadcast of
the winner's *gradient*, an array as large as one state, after its group went backward, or all of
them did where one of the candidates was likely to be taken. The seed shares the winner's whole
trajectory so that each group can go backward by itself: steps times as many bytes for the same
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.assimilation.cost import Cost
from uzushio.assimilation.space import Space
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI


class Groups:
    """The ranks of a job in groups of equal size.

    Attributes:
        count: number of groups.
        mine: index of this rank's group.
        inside: the ranks of this rank's group.
        across: the ranks with this one's place in each group, ordered by group.
    """

    def __init__(self, comm: MPI.Comm, count: int) -> None:
        """Split a job (collective); raises `CaseError` on all ranks if it cannot be."""
        if comm.size % count:
            fitting = [n for n in range(1, comm.size + 1) if comm.size % n == 0]
            raise CaseError(
                f"blocking.oblt: {count} groups do not divide {comm.size} ranks evenly; use one of "
                f"{', '.join(map(str, fitting))}."
            )
        self.count, each = count, comm.size // count
        self.mine = comm.rank // each
        self.inside: MPI.Comm = comm.Split(self.mine, comm.rank)
        self.across: MPI.Comm = comm.Split(comm.rank % each, comm.rank)


class Evaluator:
    """J and its gradient for the optimiser, on all groups together.

    Attributes:
        shared_bytes: that this rank's phase B has brought to it or sent, so far.
        forward_runs: values of J that all groups computed, so far.
        gradients: that were asked for, so far; more may have been computed, as none was wanted in
            the end.
    """

    def __init__(self, cost: Cost, space: Space, groups: Groups) -> None:
        """Take what a group has; `cost` and `space` are of this rank's group."""
        self._cost, self._space, self._groups = cost, space, groups
        self._held: list[np.ndarray | None] = [None] * groups.count
        self._gradient: np.ndarray | None = None  # of what this group holds, if it went backward
        self.shared_bytes = self.forward_runs = self.gradients = 0

    def values(self, points: Sequence[np.ndarray], likely: bool = False) -> list[float]:
        """J at each point (collective); infinite where it is not finite.

        Args:
            points: to evaluate J at.
            likely: whether the gradient at one of them will probably be asked for next: where each
                group has one point at most, it is computed at once, which is cheaper than later.
        """
        groups = self._groups
        mine = np.full(len(points), np.inf)
        self._drop()
        together = likely and len(points) <= groups.count
        for i in range(groups.mine, len(points), groups.count):
            mine[i] = self._both(points[i]) if together else self._value(points[i])
        # Memory of an earlier point may be that of another one now.
        self._held = [None if any(held is one for one in points) else held for held in self._held]
        for i, point in enumerate(points):
            self._held[i % groups.count] = point
        self.forward_runs += len(points)
        if groups.count == 1:
            return [float(one) for one in mine]
        everybody = np.empty((groups.count, len(points)))
        groups.across.Allgather(mine, everybody)  # phase A
        return [float(everybody[i % groups.count, i]) for i in range(len(points))]

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """The gradient of J (collective).

        The group that has the trajectory of the point goes backward, unless it already has; without
        one, the first runs forward again.
        """
        groups = self._groups
        holder = next((g for g, held in enumerate(self._held) if held is point), None)
        owner = 0 if holder is None else holder
        if groups.mine == owner and self._gradient is not None and holder is not None:
            gradient, self._gradient = self._gradient, None
        else:
            self._drop()
            gradient = self._space.new()
            if groups.mine == owner:
                if holder is None:
                    self._value(point)
                state, parameters, unit = self._controls(point)
                part = self._space.part(gradient)
                _, slopes = self._cost.gradient(state, parameters, unit, out=part)
                gradient[part.size :] = slopes * self._space.scales[1:]
        self.forward_runs += holder is None
        self.gradients += 1
        self._held[owner] = None  # its trajectory has been gone through
        if groups.count > 1:
            groups.across.Bcast(gradient, root=owner)  # phase B
            self.shared_bytes += gradient.nbytes
        return gradient

    def forget(self) -> None:
        """Take no trajectory for that of a point any more, as where J has changed."""
        self._held = [None] * self._groups.count
        self._drop()

    def _drop(self) -> None:
        """Give back a gradient that was not asked for."""
        if self._gradient is not None:
            self._space.give(self._gradient)
            self._gradient = None

    def _both(self, point: np.ndarray) -> float:
        """J, with its gradient for later."""
        gradient = self._space.new()
        part = self._space.part(gradient)
        value, slopes = self._cost.both(*self._controls(point), out=part)
        gradient[part.size :] = slopes * self._space.scales[1:]
        self._gradient = gradient
        return value

    def _value(self, point: np.ndarray) -> float:
        return self._cost.value(*self._controls(point))

    def _controls(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """State, parameters, and the unit that the state is in."""
        space = self._space
        return space.part(point), space.parameters(point), float(space.scales[0])
