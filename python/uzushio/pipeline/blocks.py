"""Blocks of the ray caster that refer to parts of fields."""

from __future__ import annotations

import numpy as np

from uzushio.domain.axes import Lines
from uzushio.pipeline.need import Part
from uzushio.pipeline.stream import Grid
from uzushio.raycast import Block
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
