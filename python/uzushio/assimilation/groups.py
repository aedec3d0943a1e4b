"""Forward blocking: groups of ranks try candidates at the same time.

Each group runs the whole model on its own ranks. Groups communicate twice in a round of candidates:

- Phase A: an all-gather of their J, from which every group chooses the best candidate.
- Phase B: a broadcast of the best candidate's *gradient*, an array of the size of a state. Its
  group has run the adjoint before; all groups have, if a candidate will probably be accepted.

A broadcast of the whole trajectory, for an adjoint run on each group, would multiply the bytes by
the number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.assimilation.cost import Cost
from uzushio.assimilation.space import ControlSpace
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI


class Groups:
    """Ranks of a job in groups of equal size.

    Attributes:
        count: number of groups.
        mine: index of this rank's group.
        inside: the ranks of this rank's group.
        across: the ranks with the same index in each group, ordered by group.
    """

    def __init__(self, comm: MPI.Comm, count: int) -> None:
        """Split a job (collective); raise `CaseError` on all ranks if the sizes do not fit."""
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
        shared_bytes: bytes that this rank has sent or received in phase B.
        forward_runs: values of J that all groups have computed.
        gradients: gradients that were requested; more may have been computed.
    """

    def __init__(self, cost: Cost, space: ControlSpace, groups: Groups) -> None:
        """Use the cost function and the control space of this rank's group."""
        self._cost, self._space, self._groups = cost, space, groups
        self._held: list[np.ndarray | None] = [None] * groups.count
        self._gradient: np.ndarray | None = None  # at this group's point, if it has run backward
        self.shared_bytes = self.forward_runs = self.gradients = 0

    def values(self, points: Sequence[np.ndarray], likely: bool = False) -> list[float]:
        """Return J at each point (collective); infinity if it is not finite.

        Args:
            points: points at which J is evaluated.
            likely: whether a gradient at one of them will probably be requested next. If each group
                has at most one point, it is computed at once, which is cheaper than later.
        """
        groups = self._groups
        mine = np.full(len(points), np.inf)
        self._drop()
        together = likely and len(points) <= groups.count
        # A group keeps the trajectory of its last point: the first is the likeliest to be accepted.
        for i in reversed(range(groups.mine, len(points), groups.count)):
            mine[i] = self._value_and_gradient(points[i]) if together else self._value(points[i])
        # The memory of an earlier point may have been reused for another one.
        self._held = [
            None if any(held is point for point in points) else held for held in self._held
        ]
        newest = points[: groups.count]
        self._held[: len(newest)] = newest
        self.forward_runs += len(points)
        if groups.count == 1:
            return [float(value) for value in mine]
        gathered = np.empty((groups.count, len(points)))
        groups.across.Allgather(mine, gathered)  # phase A
        return [float(gathered[i % groups.count, i]) for i in range(len(points))]

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient of J (collective).

        The group with the trajectory of the point runs the adjoint, unless it has the gradient
        already; without a trajectory, the first group runs forward again.
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
        self._held[owner] = None  # the adjoint run has overwritten its trajectory
        if groups.count > 1:
            groups.across.Bcast(gradient, root=owner)  # phase B
            self.shared_bytes += gradient.nbytes
        return gradient

    def forget(self) -> None:
        """Invalidate stored trajectories and gradients, after a change of J."""
        self._held = [None] * self._groups.count
        self._drop()

    def _drop(self) -> None:
        """Release a gradient that was not requested."""
        if self._gradient is not None:
            self._space.release(self._gradient)
            self._gradient = None

    def _value_and_gradient(self, point: np.ndarray) -> float:
        """Return J, and store its gradient."""
        gradient = self._space.new()
        part = self._space.part(gradient)
        value, slopes = self._cost.value_and_gradient(*self._controls(point), out=part)
        gradient[part.size :] = slopes * self._space.scales[1:]
        self._gradient = gradient
        return value

    def _value(self, point: np.ndarray) -> float:
        return self._cost.value(*self._controls(point))

    def _controls(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return state, parameters, and the unit of the state."""
        space = self._space
        return space.part(point), space.parameters(point), float(space.scales[0])
