"""Part of the domain with the values of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uzushio import _core
from uzushio._base.array_values import real, with_nan
from uzushio.domain.box import Box, Triple
from uzushio.raycast.layers import check_coordinates

#: Global cells (start, count), each (z, y, x): a cell lies between points i and i + 1.
Cells: TypeAlias = Box | tuple[Sequence[int], Sequence[int]]


def start_count(cells: Cells) -> tuple[Triple, Triple]:
    """Return start and count of a box of cells, each (z, y, x)."""
    start, count = (cells.start, cells.count) if isinstance(cells, Box) else cells
    if len(start) != 3 or len(count) != 3 or any(n < 0 for n in count):
        raise ValueError(f"cells are (start, count), each three integers z, y, x, not {cells}")
    return (
        (int(start[0]), int(start[1]), int(start[2])),
        (int(count[0]), int(count[1]), int(count[2])),
    )


def cell_centres(coordinates: ArrayLike) -> NDArray[np.float64]:
    """Return the midpoints between points: the coordinates of cell-centred data.

    The ray caster interpolates between points. Cell-centred values are drawn from cell centre to
    cell centre: pass the result as coordinates of the domain and of its blocks. The picture then
    ends half a cell inside the mesh.
    """
    points = real(coordinates, "an axis of coordinates")
    return (points[1:] + points[:-1]) / 2


class Block:
    """Cells to draw, and views of the values at their points.

    Exactly one block draws each cell of the domain. The arrays must not change during the lifetime
    of the block: it keeps the ranges of their values from its first picture on. Make a new block
    for each step.

    Args:
        coordinates: (z, y, x) of the stored points, ghost points included.
        start: Global index (z, y, x) of the first stored point.
        cells: Global cells that this block draws, `Box` or (start, count); may be empty.
        fields: Arrays (z, y, x) by name: float32 or float64, of any strides; not copied, except
            masked arrays of NumPy, whose masked values become NaN.

    Raises:
        ValueError: Shapes do not match, or a point of the cells is not stored.
    """

    def __init__(
        self,
        coordinates: Sequence[ArrayLike],
        start: Sequence[int],
        cells: Cells,
        fields: Mapping[str, NDArray[Any]],
    ) -> None:
        self.cells = start_count(cells)
        self.start: Triple = (int(start[0]), int(start[1]), int(start[2]))
        self.fields = {name: with_nan(array, f"field {name!r}") for name, array in fields.items()}
        self.empty = min(self.cells[1]) == 0
        shape = tuple(np.shape(c)[0] for c in coordinates)
        for name, array in self.fields.items():
            if array.shape != shape:
                raise ValueError(
                    f"field {name!r} has the shape {array.shape}; its block stores {shape} points"
                )
            if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
                raise ValueError(f"field {name!r} is of type {array.dtype}, not float32 or float64")
        if self.empty:
            self.coordinates = tuple(real(c, "an axis of a block") for c in coordinates)
            return
        self.coordinates = check_coordinates(coordinates, "a block")
        for axis, name in enumerate("zyx"):
            first, last = self.start[axis], self.start[axis] + shape[axis] - 1
            begin = self.cells[0][axis]
            end = begin + self.cells[1][axis]
            if begin < first or end > last:
                raise ValueError(
                    f"a block draws the cells {begin} to {end - 1} along {name}, for which it "
                    f"needs the points {begin} to {end}; it stores {first} to {last}"
                )
        self.core = _core.raycast.Block(
            self.start, shape, *self.cells, [self.fields[name] for name in self.fields]
        )
