"""Boxes that reach beyond the ends of periodic axes, as boxes of the grid that there is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from uzushio.pipeline.stream import Grid
from uzushio.staging.box import Box

Places = tuple[slice, slice, slice]


@dataclass(frozen=True)
class Seams:
    """How to make the values on a box that knows no ends.

    Attributes:
        pieces: boxes of the grid, and where in the result's array their values go.
        fills: layers of the array that other layers of it have, (axis, to, from, number): copied
            one after the other when all pieces are there.
    """

    pieces: list[tuple[Box, Places]]
    fills: list[tuple[int, int, int, int]]

    @staticmethod
    def of(grid: Grid, box: Box) -> Seams:
        """Cut a box; what lies in the grid altogether is one piece.

        Along an axis that a box has all of, layers beyond are copied from those inside.
        """
        parts: list[list[tuple[int, int, int]]] = []
        fills = []
        for axis in range(3):
            low, high = box.start[axis], box.stop[axis]
            first, stop = grid.points.start[axis], grid.points.stop[axis]
            turn = grid.turn(axis)
            cuts = _cut(low, high, first, stop, turn)
            if turn and low <= first and high >= stop:
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
        return Seams(pieces, fills)

    def fill(self, values: np.ndarray) -> None:
        """Copy the layers that are inside already."""
        for axis, to, source, count in self.fills:
            layers = np.moveaxis(values, axis, 0)
            layers[to : to + count] = layers[source : source + count]


def _cut(low: int, high: int, first: int, stop: int, turn: int) -> list[tuple[int, int, int]]:
    """Cut a range where it crosses the ends: (index in it, index in the grid, number) each."""
    found, at = [], low
    while at < high:
        if not turn or first <= at < stop:
            place, end = at, high if not turn else min(high, stop)
        else:
            place = first + (at - first) % turn
            end = min(high, at + first + turn - place)
        found.append((at, place, end - at))
        at = end
    return found
