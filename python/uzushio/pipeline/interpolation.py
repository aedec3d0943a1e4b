"""Trilinear interpolation at arbitrary positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio import _core
from uzushio.domain.box import Box
from uzushio.errors import PipelineError
from uzushio.pipeline.blocks import curvilinear_block
from uzushio.raycast import default_threads

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.need import Part
    from uzushio.pipeline.stream import Grid

#: Number of the cell of a position outside all cells.
_NO_CELL = np.iinfo(np.int64).max


class Interpolation:
    """Positions on a grid, with the eight points around each and their weights.

    The values at these points are sent to rank 0 and summed there in a fixed order, so results are
    the same bits for any number of ranks.
    """

    def __init__(self, grid: Grid, places: np.ndarray, names: Sequence[str]) -> None:
        """Find the points around the positions.

        Args:
            grid: grid of the values.
            places: (n, 3), x, y, z.
            names: names of the positions, for messages.

        Raises:
            PipelineError: a position lies outside the grid, or the grid is curvilinear.
        """
        if grid.coordinates is None:
            raise PipelineError(
                f"{grid.name} is curvilinear; probe takes a grid with straight lines"
            )
        axes = [_along(grid, axis, places[:, 2 - axis], places, names) for axis in range(3)]
        corners = np.array(list(np.ndindex(2, 2, 2)))  # (8, 3)
        low = np.stack([axis[0] for axis in axes], axis=-1)
        high = np.stack([axis[1] for axis in axes], axis=-1)
        share = np.stack([axis[2] for axis in axes], axis=-1)
        start = np.array(grid.points.start)
        #: Global indices z, y, x of the points, (n, 8, 3), and their weights, (n, 8).
        self.points = start + np.where(corners[np.newaxis], high[:, np.newaxis], low[:, np.newaxis])
        parts = np.where(corners[np.newaxis], share[:, np.newaxis], 1.0 - share[:, np.newaxis])
        self.weights = parts.prod(axis=-1)

    @property
    def region(self) -> Box:
        """Bounding box of the points."""
        return Box.between(self.points.min(axis=(0, 1)), self.points.max(axis=(0, 1)) + 1)

    def __call__(self, comm: MPI.Comm, parts: Sequence[Part], fields: Sequence[str]) -> np.ndarray:
        """Return the interpolated values, (fields, positions), on rank 0 (collective)."""
        local = np.zeros((len(fields), *self.weights.shape))
        held = np.zeros(self.weights.shape, np.int32)
        for part in parts:
            start, stop = np.array(part.points.start), np.array(part.points.stop)
            here = ((self.points >= start) & (self.points < stop)).all(axis=-1)
            z, y, x = (self.points[here] - start).T
            held[here] += 1
            for number, field in enumerate(fields):
                local[number][here] = part.owned(field)[z, y, x]
        values, counts = np.empty_like(local), np.empty_like(held)
        comm.Reduce(local, values)
        comm.Reduce(held, counts)
        values[:, counts == 0] = np.nan  # no block has a value there
        # NaN at a point with weight 0 must not spread to the result.
        return np.asarray(np.where(self.weights == 0.0, 0.0, values * self.weights).sum(axis=-1))


def _along(
    grid: Grid, axis: int, positions: np.ndarray, places: np.ndarray, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the indices, from 0, of the points below and above, and the weight of the upper."""
    assert grid.coordinates is not None
    line, letter = grid.coordinates[axis], "zyx"[axis]
    count, near = len(line), 1e-9 * (float(line[-1] - line[0]) or 1.0)
    if count == 1:
        nothing = np.zeros(len(positions), int)
        return nothing, nothing, np.zeros(len(positions))
    period_points = grid.period_points(axis)
    if period_points:
        period_length = grid.period_length(axis)
        positions = (positions - line[0]) % period_length + line[0]
        line = np.append(line[:period_points], line[0] + period_length)
    else:
        outside = (positions < line[0] - near) | (positions > line[-1] + near)
        if outside.any():
            which = int(np.flatnonzero(outside)[0])
            place = ", ".join(f"{value:g}" for value in places[which])
            raise PipelineError(
                f"{names[which]} at ({place}) lies outside {grid.name}, whose {letter} reaches "
                f"from {line[0]:g} to {line[-1]:g}"
            )
    low = np.clip(np.searchsorted(line, positions, side="right") - 1, 0, len(line) - 2)
    share = np.clip((positions - line[low]) / (line[low + 1] - line[low]), 0.0, 1.0)
    return low, (low + 1) % (period_points or count), share


class CellInterpolation:
    """Positions in the cells of curvilinear meshes, or of several.

    They are found anew at each step. Of several cells with a position the first one counts, so
    results are the same bits for any number of ranks.

    Args:
        places: (n, 3), x, y, z.
        names: names of the positions, for messages.
    """

    def __init__(self, places: np.ndarray, names: Sequence[str]) -> None:
        self._places, self._names = np.ascontiguousarray(places, np.float64), names

    def __call__(
        self, comm: MPI.Comm, meshes: Sequence[tuple[Sequence[Part], Sequence[str]]]
    ) -> np.ndarray:
        """Return the interpolated values, (fields, positions), on all ranks (collective).

        Args:
            comm: the ranks.
            meshes: parts of each mesh with values at the vertices, and names of the fields in them.

        Raises:
            PipelineError: on all ranks, a position lies outside the meshes.
        """
        from mpi4py import MPI

        count = len(self._places)
        cells = np.full(count, _NO_CELL)
        values = np.zeros((len(meshes[0][1]), count))
        for number, (parts, fields) in enumerate(meshes):
            for part in parts:
                if part.cells.size:
                    self._add(part, fields, number << 40, cells, values)
        first = np.empty_like(cells)
        comm.Allreduce(cells, first, MPI.MIN)
        if (first == _NO_CELL).any():
            which = int(np.flatnonzero(first == _NO_CELL)[0])
            place = ", ".join(f"{value:g}" for value in self._places[which])
            raise PipelineError(f"{self._names[which]} at ({place}) lies outside the meshes")
        values[:, cells != first] = 0.0
        samples = np.empty_like(values)
        comm.Allreduce(values, samples)
        return samples

    def _add(
        self,
        part: Part,
        fields: Sequence[str],
        mesh: int,
        cells: np.ndarray,
        values: np.ndarray,
    ) -> None:
        """Take the values of the positions in a part's own cells."""
        block = curvilinear_block(part, dict(zip(fields, fields, strict=True)))
        index, share = np.empty((len(cells), 3), np.int64), np.empty((len(cells), 3))
        _core.pipeline.find_cells(
            block.corners, block.first, block.cells, self._places, index, share, default_threads()
        )
        at = np.flatnonzero(index[:, 0] >= 0)
        index, share = index[at], share[at]
        numbers = mesh + np.ravel_multi_index(
            tuple((index + part.stored.start - part.grid.points.start).T), part.grid.points.count
        )
        better = numbers < cells[at]
        at, index, share, numbers = at[better], index[better], share[better], numbers[better]
        cells[at] = numbers
        corners = np.array(list(np.ndindex(2, 2, 2)))
        weights = np.where(corners, share[:, np.newaxis], 1.0 - share[:, np.newaxis]).prod(axis=-1)
        z, y, x = np.moveaxis(index[:, np.newaxis] + corners, -1, 0)
        for row, field in enumerate(fields):
            # NaN at a vertex with weight 0 must not spread to the result.
            around = np.where(weights == 0.0, 0.0, weights * part.fields[field][z, y, x])
            values[row, at] = around.sum(axis=-1)
