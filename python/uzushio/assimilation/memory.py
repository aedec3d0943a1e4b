"""Memory of an assimilation on a rank: its minimum, and the budget of trajectories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uzushio._base.parallel.memory import node_memory
from uzushio.assimilation.model import model_class
from uzushio.assimilation.observation_store import observed_times
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.case import AssimilationCase
    from uzushio.assimilation.model import Model

#: Bytes of libraries for stores and figures.
_LIBRARIES = 80e6
#: Arrays of the size of a state beside observations, optimiser and trajectories: buffers of sweeps
#: and of the metric, truth, first guess, noise and data of figures. Measured on
#: 800 x 800 and 1200 x 1200 points, where the peak is within 10 % of the sum.
_OTHERS = 36
#: Default share of a node's free memory for trajectories.
SHARE = 0.5


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes of a rank.

    Attributes:
        state: one state.
        observations: all observations.
        optimiser: vectors of the search.
        others: everything else but trajectories.
        trajectories: all states that a gradient or a Hessian-vector product can use, and the
            observations of a member of an ensemble.
        min_trajectories: the same with the minimum number of states.
    """

    state: float
    observations: float
    optimiser: float
    others: float
    trajectories: float
    min_trajectories: float

    @property
    def required(self) -> float:
        """Minimum for an assimilation."""
        return self.observations + self.optimiser + self.others + self.min_trajectories


def needs(case: AssimilationCase, ranks: int) -> MemoryNeeds:
    """Return the memory of a rank of a job; observations of a store are counted there."""
    kind = model_class(case.model)
    each = max(1, ranks // kind.groups(case, ranks))
    state = 8.0 * math.prod(kind.shape_of(case)) / each
    steps, by_hessian = case.time.steps, case.uncertainty.iterations > 0
    times = observed_times(case)
    checked = times if case.observations.background_check is not None else 0
    if case.observations.huber is not None and by_hessian:  # weights of the quadratic part
        checked += times
    of_gradient = -(-steps // kind.kept_every(case, each))
    states, least = max(of_gradient, 3 * steps if by_hessian else 0), 3 if by_hessian else 1
    if case.trajectory.memory is not None:
        states = min(states, max(least, int(case.trajectory.memory // state)))
        least = states
    if case.uncertainty.kind == "ensemble":  # after the Hessian's are released
        states = max(states, times + min(states, of_gradient))
        least = max(least, times + 1)
    return MemoryNeeds(
        state=state,
        observations=(times + checked) * state,
        optimiser=(2 * case.optimiser.memory + 8) * state,
        others=_LIBRARIES + _OTHERS * state,
        trajectories=states * state,
        min_trajectories=min(states, least) * state,
    )


def states_that_fit(
    model: Model, comm: MPI.Comm, budget: float | None, reserved: float = 0.0
) -> int:
    """Return the number of states that each rank can keep, the same on all (collective).

    Args:
        model: model of this rank.
        comm: all ranks of the job.
        budget: bytes a rank; None: a share of the free memory.
        reserved: bytes that this rank will allocate beside them.

    Raises:
        CaseError: on all ranks, if the budget holds not even one state.
    """
    from mpi4py import MPI

    if budget is None:
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        free = min(node.allgather(node_memory().bytes)) / node.size
        budget = max(0.0, min(SHARE * free, free - reserved))
        node.Free()
    each = max(model.trajectory(1).bytes, model.checkpoints(1).bytes)
    fitting: int = comm.allreduce(int(budget // each), MPI.MIN)
    largest: int = comm.allreduce(each, MPI.MAX)
    if fitting < 1:
        raise CaseError(
            f"trajectory.memory: a rank needs {largest:,} bytes for each state that it keeps, and "
            f"at least one; got {int(budget):,}. Give it more, or use more ranks."
        )
    return fitting
