"""State of a search in a checkpoint: each vector is an array of the grid.

The parameters of a vector are attributes. A chunk is as large as the largest part of a rank, so
that ranks write about one file for each vector. Vectors of the same name in two checkpoints of a
run are equal, except point and gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.parallel.sync import maximum
from uzushio._base.store import checkpoint
from uzushio._base.store.array import DistributedArray, State, StoredState
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.model import Model
from uzushio.case.model import differences
from uzushio.domain.box import Box, intersection
from uzushio.errors import CheckpointError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Sections of a case that do not change J.
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
    """Return the values of a case that define J and the controls."""
    return case.model_dump(mode="json", exclude=_NOT_THE_PROBLEM)


def open_saved(
    where: Path,
    case: AssimilationCase,
    comm: MPI.Comm,
    fallback: bool,
    tell: Callable[[str], None],
) -> checkpoint.Checkpoint:
    """Open a checkpoint of the problem of a case (collective).

    Args:
        where: folder of a run, or of one checkpoint.
        case: case of the problem.
        comm: all ranks.
        fallback: use the checkpoint before a damaged one.
        tell: called with a sentence for each damaged checkpoint.

    Raises:
        CheckpointError: on all ranks; there is none, it is damaged or of another problem.
    """
    restored = checkpoint.open_checkpoint(where, comm, fallback, tell)
    before = restored.manifest.attributes.get("posed")
    if restored.manifest.solver != case.model or before is None:
        raise CheckpointError(
            f"checkpoint {restored.path} is not of an assimilation with the model '{case.model}'; "
            "restart it with its own case."
        )
    changed = differences(before, posed(case))
    if changed:
        raise CheckpointError(
            f"checkpoint {restored.path} is of another problem: {', '.join(changed)} changed; "
            "restart it with its own case, or begin anew without --restart."
        )
    return restored


def state_of(
    vectors: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    model: Model,
    writes: bool,
    comm: MPI.Comm,
) -> State:
    """Return vectors and plain values as the state of a checkpoint (collective over `comm`).

    Args:
        vectors: vectors of `ControlSpace`; the same names on all ranks.
        attributes: plain values.
        model: model, which has this rank's part of the grid.
        writes: whether this rank's group writes them.
        comm: all ranks.
    """
    own = _own(model)
    chunks = tuple(comm.allreduce(n, maximum()) for n in own.count)
    arrays, tails = {}, {}
    for name, vector in vectors.items():
        parts = [(own.start, vector[: own.size].reshape(own.count))] if writes else []
        double = np.dtype(np.float64)
        arrays[name] = DistributedArray(
            model.shape, double, parts, tuple("zyx")[-len(model.shape) :], chunks
        )
        tails[name] = vector[own.size :].tolist()
    layout = {"shape": list(model.shape), "parameters": tails}
    return State(arrays, {**attributes, "layout": layout})


def unchanged(vectors: Collection[str], before: Collection[str]) -> set[str]:
    """Return the names of vectors that are equal in the earlier checkpoint of the same run."""
    return (set(vectors) & set(before)) - {"point", "gradient"}


def vectors_of(stored: StoredState, model: Model) -> dict[str, np.ndarray]:
    """Read this rank's part of the vectors; raises `CheckpointError` for another grid."""
    layout = stored.attributes["layout"]
    if tuple(layout["shape"]) != tuple(model.shape):
        raise CheckpointError(
            f"the checkpoint is of a grid {tuple(layout['shape'])}, the case has {model.shape}; "
            "restart it with its own grid."
        )
    own, vectors = _own(model), {}
    for name, tail in layout["parameters"].items():
        if "tiles" in layout:
            values = _read_tiles(stored, name, own)
        else:
            values = stored.read(name, own.start, own.count)
        vectors[name] = np.concatenate([values.reshape(-1), tail])
    return vectors


def _own(model: Model) -> Box:
    """Return this rank's part of the grid."""
    start = tuple(part.start for part in model.own)
    return Box(start, tuple(part.stop - part.start for part in model.own))


def _read_tiles(stored: StoredState, name: str, own: Box) -> np.ndarray:
    """Read a vector of the earlier layout: row K is the part of rank K, padded."""
    values = np.empty(own.count)
    for row, (y0, y1, x0, x1) in enumerate(stored.attributes["layout"]["tiles"]):
        tile = Box((y0, x0), (y1 - y0, x1 - x0))
        overlap = intersection(tile, own)
        if overlap.size:
            tile_values = stored.read(name, (row, 0), (1, tile.size)).reshape(tile.count)
            values[overlap.slices(own.start)] = tile_values[overlap.slices(tile.start)]
    return values
