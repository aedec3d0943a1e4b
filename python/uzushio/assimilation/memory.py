"""Memory of an assimilation on a rank: what it takes at least, and what trajectories may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uzushio.assimilation.store import observed_times
from uzushio.case import registry
from uzushio.errors import CaseError
from uzushio.parallel.memory import node_memory

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.case import AssimilationCase
    from uzushio.assimilation.model import Model

#: What libraries for stores and figures take, whatever the size.
_LIBRARIES = 80e6
#: Arrays of the size of a state beside observations, optimiser and trajectories: buffers of sweeps
#: and of the metric, truth, first guess and noise, and what figures are drawn from. Measured on
#: 800 x 800 and 1200 x 1200 points, where the peak is within 10 % of the sum.
_OTHERS = 36
#: Share of a node's free memory that trajectories take, where the case does not say.
SHARE = 0.5


@dataclass(frozen=True)
class Needs:
    """Bytes of a rank.

    Attributes:
        state: one state.
        observations: all that were seen.
        optimiser: vectors that the search holds.
        others: everything else but trajectories.
        trajectories: all states that a gradient or a Hessian-vector product can use, and the
            observations of a member of an ensemble.
        least: the same where only the fewest states are kept.
    """

    state: float
    observations: float
    optimiser: float
    others: float
    trajectories: float
    least: float

    @property
    def required(self) -> float:
        """Without which there is no assimilation."""
        return self.observations + self.optimiser + self.others + self.least


def needs(case: AssimilationCase, ranks: int) -> Needs:
    """What a rank of a job needs; observations of a store are counted there."""
    kind = registry.model_class(case.model)
    each = max(1, ranks // kind.groups(case))
    state = 8.0 * kind.points(case) / each
    steps, by_hessian = case.time.steps, case.uncertainty.iterations > 0
    seen = observed_times(case)
    of_gradient = -(-steps // kind.kept_every(case, each))
    states, least = max(of_gradient, 3 * steps if by_hessian else 0), 3 if by_hessian else 1
    if case.trajectory.memory is not None:
        states = min(states, max(least, int(case.trajectory.memory // state)))
        least = states
    if case.uncertainty.kind == "ensemble":  # after the Hessian's are released
        states = max(states, seen + min(states, of_gradient))
        least = max(least, seen + 1)
    return Needs(
        state=state,
        observations=seen * state,
        optimiser=(2 * case.optimiser.memory + 8) * state,
        others=_LIBRARIES + _OTHERS * state,
        trajectories=states * state,
        least=min(states, least) * state,
    )


def states_that_fit(
    model: Model, comm: MPI.Comm, budget: float | None, reserved: float = 0.0
) -> int:
    """States that each rank can keep (collective over `comm`); the same number on all.

    Args:
        model: of this rank.
        comm: all ranks of the job.
        budget: bytes a rank; None for a share of the memory that is free now.
        reserved: bytes of this rank that it will allocate beside them.

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
