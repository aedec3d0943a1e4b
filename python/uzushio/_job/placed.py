"""Ranks of a run in the order of a placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from uzushio._base.parallel.sync import collective
from uzushio.case.model import Case
from uzushio.errors import CaseError
from uzushio.placement.launchers import read_permutation

if TYPE_CHECKING:
    from mpi4py import MPI


def placed(case: Case, comm: MPI.Intracomm) -> MPI.Intracomm:
    """Return the ranks in the order of `parallel.placement`, or as they are (collective).

    The launcher's rank p becomes the rank in line p of the file. Results do not depend on it.

    Args:
        case: case of the run.
        comm: ranks in the order of the launcher.

    Raises:
        CaseError: the file is for another number of ranks.
        PlacementError: the file cannot be read, or does not name each rank once.
    """
    file = case.parallel.placement
    if file is None:
        return comm
    with collective(comm):
        ranks = read_permutation(file) if comm.rank == 0 else None
    ranks = comm.bcast(ranks)
    assert ranks is not None
    if len(ranks) != comm.size:
        raise CaseError(
            f"parallel.placement: {file} places {len(ranks)} ranks, but the job has {comm.size}; "
            "make one for as many ranks with uzushio place."
        )
    return cast("MPI.Intracomm", comm.Split(0, int(ranks[comm.rank])))
