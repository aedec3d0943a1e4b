"""Mapping of boxes that extend beyond the ends of periodic axes to boxes of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from uzushio.domain.box import Box
from uzushio.pipeline.stream import Grid

SliceTriple = tuple[slice, slice, slice]


@dataclass(frozen=True)
class PeriodicWrap:
    """Pieces of the grid that fill an array on a box across the ends of periodic axes.

    Attributes:
        pieces: boxes of the grid, and their places in the array.
        fills: copies between layers of the array, (axis, to, from, number of layers): done in
            order, after all pieces are in the array.
    """

    pieces: list[tuple[Box, SliceTriple]]
    fills: list[tuple[int, int, int, int]]

    @staticmethod
    def of(grid: Grid, box: Box) -> PeriodicWrap:
        """Split a box at the ends of periodic axes; a box inside the grid is one piece.

        Along an axis that the box covers completely, layers beyond the ends are copied from layers
        of the array.
        """
        parts: list[list[tuple[int, int, int]]] = []
        fills = []
        for axis in range(3):
            low, high = box.start[axis], box.stop[axis]
            first, stop = grid.points.start[axis], grid.points.stop[axis]
            period_points = grid.period_points(axis)
            cuts = _cut(low, high, first, stop, period_points)
            if period_points and low <= first and high >= stop:
                fills += [
                    (axis, at - low, place - low, count) for at, place, count in cuts if at != place
                ]
                cuts = [cut for cut in cuts if cut[0] == cut[1]]
            parts.append([(at - low, place, count) for at, place, count in cuts])
        pieces = []
        for z, y, x in product(*parts):
            piece = Box((z[1], y[1], x[1]), (z[2], y[2], x[2]))
            places = tuple(slice(at, at + count) for at, _, count in (z, y, x))
            pieces.append((piece, (places[0], places[1], places[2])))
        return PeriodicWrap(pieces, fills)

    def fill(self, values: np.ndarray) -> None:
        """Copy the layers beyond the ends from those inside."""
        for axis, to, source, count in self.fills:
            layers = np.moveaxis(values, axis, 0)
            layers[to : to + count] = layers[source : source + count]


def _cut(
    low: int, high: int, first: int, stop: int, period_points: int
) -> list[tuple[int, int, int]]:
    """Split a range at the ends: (index in the range, index in the grid, count) of each piece."""
    pieces, at = [], low
    while at < high:
        if not period_points or first <= at < stop:
            place, end = at, high if not period_points else min(high, stop)
        else:
            place = first + (at - first) % period_points
            end = min(high, at + first + period_points - place)
        pieces.append((at, place, end - at))
        at = end
    return pieces
