"""The state of a search as a checkpoint: vectors as they lie on the ranks, a plane for each rank.

A plane is one rank's own part of the state, padded to that of the largest, so that each rank
writes one file for each vector. The table of parts is among the attributes: any number of ranks
can read them. Vectors whose names two checkpoints share are the same in both, but for point and
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio import checkpoint
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.model import Model
from uzushio.case.model import differences
from uzushio.errors import CheckpointError
from uzushio.solver import DistributedArray, State, StoredState

if TYPE_CHECKING:
    from mpi4py import MPI

#: What of a case says how J is made small, where and how fast, and not what J is.
_NOT_THE_PROBLEM = {
    "title",
    "optimiser",
    "trajectory",
    "uncertainty",
    "checkpoint",
    "output",
    "blocking",
    "tuned",
}


def posed(case: AssimilationCase) -> dict[str, Any]:
    """What of a case makes J, and what the search may be."""
    return case.model_dump(mode="json", exclude=_NOT_THE_PROBLEM)


def open_saved(
    where: Path,
    case: AssimilationCase,
    comm: MPI.Comm,
    fallback: bool,
    tell: Callable[[str], None],
) -> checkpoint.Checkpoint:
    """Open a checkpoint of this very problem (collective).

    Args:
        where: folder of a run, or of one checkpoint.
        case: of the problem.
        comm: all ranks.
        fallback: take the checkpoint before if one is damaged.
        tell: is given the sentences on damaged checkpoints that were passed over.

    Raises:
        CheckpointError: on all ranks; there is none, it is damaged or of another problem.
    """
    found = checkpoint.open_checkpoint(where, comm, fallback, tell)
    before = found.manifest.attributes.get("posed")
    if found.manifest.solver != case.model or before is None:
        raise CheckpointError(
            f"checkpoint {found.path} is not of an assimilation with the model '{case.model}'; "
            "restart it with its own case."
        )
    changed = differences(before, posed(case))
    if changed:
        raise CheckpointError(
            f"checkpoint {found.path} is of another problem: {', '.join(changed)} changed; "
            "restart it with its own case, or begin anew without --restart."
        )
    return found


def state_of(
    vectors: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    model: Model,
    writes: bool,
    comm: MPI.Comm,
) -> State:
    """Vectors and plain values as a checkpoint takes them (collective over `comm`).

    Args:
        vectors: of `ControlSpace`; the same names on all ranks.
        attributes: plain values.
        model: whose parts they are.
        writes: whether this rank's group writes them.
        comm: all ranks.
    """
    rows, columns = model.own
    mine = (rows.start, rows.stop, columns.start, columns.stop) if writes else None
    found = comm.allgather(mine)
    tiles = [tile for tile in found if tile is not None]
    largest = max((y1 - y0) * (x1 - x0) for y0, y1, x0, x1 in tiles)
    place = sum(tile is not None for tile in found[: comm.rank])
    points = (rows.stop - rows.start) * (columns.stop - columns.start)
    arrays, tails = {}, {}
    for name, vector in vectors.items():
        plane = vector[np.newaxis, :points] if writes else np.zeros((0, largest))
        if writes and points < largest:
            plane = np.zeros((1, largest))
            plane[0, :points] = vector[:points]
        start = (place if writes else 0, 0)
        arrays[name] = DistributedArray((len(tiles), largest), start, plane)
        tails[name] = vector[points:].tolist()
    layout = {"tiles": tiles, "shape": list(model.shape), "parameters": tails}
    return State(arrays, {**attributes, "layout": layout})


def unchanged(vectors: Collection[str], before: Collection[str]) -> set[str]:
    """Names of vectors that are the same as in the checkpoint that the same run wrote before."""
    return (set(vectors) & set(before)) - {"point", "gradient"}


def vectors_of(stored: StoredState, model: Model) -> dict[str, np.ndarray]:
    """This rank's part of the vectors; raises `CheckpointError` if they are of another grid."""
    layout = stored.attributes["layout"]
    if tuple(layout["shape"]) != tuple(model.shape):
        raise CheckpointError(
            f"the checkpoint is of a grid {tuple(layout['shape'])}, the case has {model.shape}; "
            "restart it with its own grid."
        )
    rows, columns = model.own
    found = {}
    for name, tail in layout["parameters"].items():
        own = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        for place, (y0, y1, x0, x1) in enumerate(layout["tiles"]):
            low, high = max(y0, rows.start), min(y1, rows.stop)
            left, right = max(x0, columns.start), min(x1, columns.stop)
            if low >= high or left >= right:
                continue
            plane = stored.read(name, (place, 0), (1, (y1 - y0) * (x1 - x0)))
            part = plane.reshape(y1 - y0, x1 - x0)[low - y0 : high - y0, left - x0 : right - x0]
            own[
                low - rows.start : high - rows.start, left - columns.start : right - columns.start
            ] = part
        found[name] = np.concatenate([own.reshape(-1), tail])
    return found
