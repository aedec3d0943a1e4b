"""How many states of a trajectory a rank may keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio.errors import CaseError
from uzushio.memory import node_memory

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.model import Model

#: Share of a node's free memory that trajectories take, where the case does not say.
SHARE = 0.5


def states_that_fit(model: Model, comm: MPI.Comm, budget: float | None) -> int:
    """States that each rank can keep (collective over `comm`); the same number on all.

    Args:
        model: of this rank.
        comm: all ranks of the job.
        budget: bytes a rank; None for a share of the memory that is free now.

    Raises:
        CaseError: on all ranks, if the budget holds not even one state.
    """
    from mpi4py import MPI

    if budget is None:
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        budget = SHARE * min(node.allgather(node_memory().bytes)) / node.size
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
