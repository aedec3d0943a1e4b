"""Blocks of the ray caster that refer to parts of fields."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from uzushio.domain.axes import Lines
from uzushio.pipeline.need import Part
from uzushio.pipeline.stream import Grid
from uzushio.pipeline.vertex_values import positions_of
from uzushio.raycast import Block
from uzushio.raycast.surface import CurvilinearBlock
from uzushio.render.plates import thickened


def lines_of(grid: Grid) -> Lines | None:
    """Return the coordinates of the drawn domain: up to the end of the period where periodic."""
    return None if grid.coordinates is None else grid.lines(grid.wrapped_points)


def block_of(part: Part) -> Block:
    """Make a ray caster's block of a part; a flat part has its values twice, by stride 0."""
    fields = {
        name: values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)
        for name, values in part.fields.items()
    }
    whole = lines_of(part.grid)
    assert whole is not None
    if min(part.grid.points.count) > 1:
        return Block(part.coordinates, part.stored.start, part.cells, fields)
    flat = [n == 1 for n in part.grid.points.count]
    shape = [2 if is_flat else n for is_flat, n in zip(flat, part.stored.count, strict=True)]
    cells = [is_flat or n for is_flat, n in zip(flat, part.cells.count, strict=True)]
    places = part.stored.slices(part.grid.points.start)
    return Block(
        [
            line if is_flat else line[place]
            for is_flat, line, place in zip(flat, thickened(whole), places, strict=True)
        ],
        part.stored.start,
        (part.cells.start, [int(n) for n in cells]),
        {name: np.broadcast_to(values, shape) for name, values in fields.items()},
    )


def curvilinear_block(part: Part, names: Mapping[str, str]) -> CurvilinearBlock:
    """Make a block of a part with values at vertices.

    Args:
        part: the part; its grid may have straight lines.
        names: names of the fields in the block, by those in the part.
    """
    if part.corners is None:
        corners = positions_of(part.grid, part.stored)
    else:
        corners = part.corners.astype(np.float64, copy=False)
    if corners.strides[2:] != (3 * corners.itemsize, corners.itemsize):
        corners = np.ascontiguousarray(corners)
    fields = {
        names[name]: values
        if values.dtype in (np.float32, np.float64)
        else values.astype(np.float64)
        for name, values in part.fields.items()
    }
    first = tuple(a - b for a, b in zip(part.cells.start, part.stored.start, strict=True))
    return CurvilinearBlock(corners, fields, first, part.cells.count)
