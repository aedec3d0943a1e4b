"""Declared fields of a compiled core as distributed arrays, one per zone, as in checkpoints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uzushio._base.store.array import DistributedArray
from uzushio._base.store.chunks import MAX_BYTES
from uzushio.solvers.block_solver.published import ZoneBlock

if TYPE_CHECKING:
    from mpi4py import MPI


class ZoneArray(NamedTuple):
    """Values of a field on a zone; of a field at faces, those at faces normal to one axis.

    Attributes:
        name: name in a checkpoint.
        field: declaration of the field.
        zone: index of the zone.
        stagger: whether values are at vertices along k, j, i.
        array: the values, (k, j, i), with components last if there are several.
    """

    name: str
    field: dict[str, Any]
    zone: int
    stagger: tuple[bool, bool, bool]
    array: DistributedArray


def zone_arrays(
    core: Any, blocks: Sequence[ZoneBlock], block_cells: np.ndarray, whole: bool
) -> Iterator[ZoneArray]:
    """Yield the arrays of all declared fields.

    Args:
        core: a solver after its set-up.
        blocks: blocks of the solver.
        block_cells: as `max_block_cells`.
        whole: whether parts have all values of a block. Otherwise values shared with the next
            block of the zone are in the next block's part only.
    """
    zones = core.zones()
    for field in core.fields():
        for number, zone in enumerate(zones):
            name = f"{zone['name']}/{field['name']}" if len(zones) > 1 else field["name"]
            for axis, stagger in enumerate(_staggers(field["centring"], core.dimension)):
                parts = []
                for local, (of, box) in enumerate(blocks):
                    if of != number:
                        continue
                    own = zip(box.count, box.stop, stagger, zone["cells"], strict=True)
                    nk, nj, ni = (c + (s and (whole or end == n)) for c, end, s, n in own)
                    values = components_last(core.values(field["name"], local, axis))
                    start = (*box.start, 0)[: values.ndim]
                    parts.append((start, values[:nk, :nj, :ni]))
                nk, nj, ni = (n + s for n, s in zip(zone["cells"], stagger, strict=True))
                several = field["components"] > 1
                shape = (nk, nj, ni, field["components"]) if several else (nk, nj, ni)
                dims = ("k", "j", "i", "component")[: len(shape)]
                chunks = _chunks(shape, zone["cells"], block_cells[number])
                array = DistributedArray(shape, np.dtype(np.float64), parts, dims, chunks)
                faces = f"_{'ijk'[axis]}" if field["centring"] == "face" else ""
                yield ZoneArray(name + faces, field, number, stagger, array)


def stored_bytes(core: Any) -> int:
    """Return the bytes of the arrays of a checkpoint; the solver need not be set up."""
    values: int = sum(
        field["components"] * math.prod(map(sum, zip(zone["cells"], stagger, strict=True)))
        for field in core.fields()
        if field["kind"] != "output"
        for zone in core.zones()
        for stagger in _staggers(field["centring"], core.dimension)
    )
    return 8 * values


def components_last(values: np.ndarray) -> np.ndarray:
    """Return a view (k, j, i), with components last if there are several."""
    return values[0] if len(values) == 1 else np.moveaxis(values, 0, -1)


def _staggers(centring: str, dimension: int) -> list[tuple[bool, bool, bool]]:
    """Return for each array of a field whether its values are at vertices along k, j, i."""
    if centring == "face":
        return [(axis == 2, axis == 1, axis == 0) for axis in range(dimension)]
    at = centring == "vertex"
    return [(at and dimension > 2, at and dimension > 1, at)]


def max_block_cells(blocks: Sequence[ZoneBlock], zones: int, comm: MPI.Comm) -> np.ndarray:
    """Return for each zone the largest extents k, j, i of a block of any rank (collective)."""
    from mpi4py import MPI

    cells = np.zeros((zones, 3), np.int64)
    for zone, box in blocks:
        cells[zone] = np.maximum(cells[zone], box.count)
    comm.Allreduce(MPI.IN_PLACE, cells, MPI.MAX)
    return cells


def _chunks(shape: Sequence[int], cells: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
    """Return extents of the chunks of an array (k, j, i, component): one a block.

    Thinner along k, then along j, where a chunk would exceed `MAX_BYTES`: as equal parts of a
    block, so that blocks share no chunk of values at cells, and little is padded.

    Args:
        shape: extents of the array.
        cells: extents k, j, i of its zone.
        block: the largest extents k, j, i of a block.
    """
    chunks = list(shape)
    for axis, (n, m) in enumerate(zip(cells, block, strict=True)):
        blocks = -(-n // int(m))
        chunks[axis] = -(-shape[axis] // blocks)
    for axis in (0, 1):
        line = 8 * math.prod(chunks[axis + 1 :])
        thinner = -(-chunks[axis] // max(1, MAX_BYTES // line))
        chunks[axis] = -(-chunks[axis] // thinner)
    return tuple(chunks)
