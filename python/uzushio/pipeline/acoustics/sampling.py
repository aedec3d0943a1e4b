"""Interpolation of fields to positions on the grids of any number of meshes, rank by rank.

Each rank adds what its own points of the grids contribute to each position: no value is sent to
another rank. So only quantities may be sampled in which further computations are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.domain.box import Box
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.need import Part
    from uzushio.pipeline.stream import Grid

#: Positions that are interpolated together, so that the values of their stencils stay in cache.
_BLOCK = 256
#: Tolerance of positions on cells, relative to a cell.
_NEAR = 1e-9
#: Maximum number of cuts whose weights are kept.
_MAX_CUTS = 4
#: Number of a grid and of its part; places in `Sampler.rows`; points of the part; for each place
#: indices in these points, and weights.
_Piece = tuple[int, int, np.ndarray, tuple[np.ndarray, ...], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Stencils:
    """Points around positions on a grid, and their weights, axis by axis.

    Attributes:
        rows: numbers of the positions, (m,).
        points: indices along z, y, x, of each axis (m, k).
        weights: weights, of each axis (m, k).
    """

    rows: np.ndarray
    points: list[np.ndarray]
    weights: list[np.ndarray]

    @property
    def region(self) -> Box | None:
        """Bounding box of the points; None without any."""
        if not len(self.rows):
            return None
        return Box.between(
            [int(one.min()) for one in self.points], [int(one.max()) + 1 for one in self.points]
        )


def _along(
    line: np.ndarray, places: np.ndarray, order: int, period: tuple[int, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices, from 0, and Lagrange's weights of the `order` points about places.

    Args:
        line: increasing coordinates.
        places: positions, also beyond the ends.
        order: number of points, even.
        period: number of points in a period, and its length.
    """
    pad = 0
    if period is not None:
        count, length = period
        pad = order = min(order, count // 2 * 2)
        places = (places - line[0]) % length + line[0]
        line = line[:count]
        line = np.concatenate([line[-order:] - length, line, line[:order] + length])
    order = min(order, len(line))
    low = np.searchsorted(line, places, side="right") - order // 2
    low = np.clip(low, 0, len(line) - order)
    index = low[:, None] + np.arange(order)
    nodes = line[index]
    weights = np.ones(index.shape)
    for one in range(order):
        for other in range(order):
            if other != one:
                weights[:, one] *= (places - nodes[:, other]) / (nodes[:, one] - nodes[:, other])
    if period is not None:
        index = (index - pad) % period[0]
    return index, weights


def _on_lines(grid: Grid, places: np.ndarray, order: int) -> Stencils:
    """Return the stencils of those positions, (n, 3), that a grid of straight lines contains."""
    assert grid.coordinates is not None
    ends = grid.faces if grid.faces is not None else grid.coordinates
    inside = np.ones(len(places), bool)
    for axis, line in enumerate(ends):
        if len(grid.coordinates[axis]) < 2:
            raise PipelineError(
                f"{grid.name} has one point along {'zyx'[axis]}; the far field of sound needs "
                "three-dimensional fields"
            )
        if not grid.period_points(axis):
            position, near = places[:, 2 - axis], _NEAR * (line[-1] - line[0])
            inside &= (position >= line[0] - near) & (position <= line[-1] + near)
    rows = np.flatnonzero(inside)
    points, weights = [], []
    for axis, line in enumerate(grid.coordinates):
        count = grid.period_points(axis)
        period = (count, grid.period_length(axis)) if count else None
        index, weight = _along(line, places[rows, 2 - axis], order, period)
        points.append(index + grid.points.start[axis])
        weights.append(weight)
    return Stencils(rows, points, weights)


def _in_cells(part: Part, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find positions in the cells of a part of a curvilinear mesh.

    Returns:
        Numbers of the positions in the part, and their indices along z, y, x in its grid, with
        fractions.
    """
    from vtkmodules.vtkCommonCore import mutable
    from vtkmodules.vtkCommonDataModel import vtkGenericCell, vtkStaticCellLocator

    from uzushio.pipeline.vtk_view import VtkView

    assert part.corners is not None
    corners = part.corners.reshape(-1, 3)
    low, high = corners.min(axis=0), corners.max(axis=0)
    near = _NEAR * float((high - low).max())
    rows = np.flatnonzero(((places >= low - near) & (places <= high + near)).all(axis=1))
    if min(part.corners.shape[:3]) < 2 or not len(rows):
        return rows[:0], np.empty((0, 3))
    view = VtkView(part, elements=part.grid.of_elements)
    locator: Any = vtkStaticCellLocator()
    locator.SetDataSet(view.dataset)
    locator.BuildLocator()
    cell, sub, weights, local = vtkGenericCell(), mutable(0), [0.0] * 8, [0.0] * 3
    cells, inside = [], []
    for place in places[rows]:
        found = locator.FindCell(place, near**2, cell, sub, local, weights)
        cells.append(found)
        inside.append(tuple(local))
    found, shape = np.array(cells), [n - 1 for n in part.corners.shape[:3]]
    held = found >= 0
    first = np.stack(np.unravel_index(found[held], shape), axis=1)
    index = first + np.array(inside)[held][:, ::-1] + np.array(part.stored.start)
    del locator, cell
    return rows[held], index - 0.5 * part.grid.of_elements


class Sampler:
    """Positions on grids, with the points around each and their weights."""

    def __init__(self, grids: Sequence[Grid], places: np.ndarray, order: int) -> None:
        """Find the positions on the grids with straight lines.

        Args:
            grids: one for each mesh; a position that is on several is on the first of them.
            places: (n, 3), x, y, z.
            order: points along each axis: 2 or 4.

        Raises:
            PipelineError: positions lie outside the grids.
        """
        self._grids, self._places, self._order = grids, places, order
        self._stencils: list[Stencils | None] = [None] * len(grids)
        self._curved = any(grid.coordinates is None for grid in grids)
        if not self._curved:
            left = np.ones(len(places), bool)
            for number, grid in enumerate(grids):
                found = _on_lines(grid, places, order)
                keep = left[found.rows]
                left[found.rows] = False
                self._stencils[number] = Stencils(
                    found.rows[keep],
                    [one[keep] for one in found.points],
                    [one[keep] for one in found.weights],
                )
            self._require(~left)
        self._known: object = None
        #: Rows and weights by the cuts of this rank's points, which depend on other due actions.
        self._cache: dict[object, tuple[np.ndarray, list[_Piece]]] = {}
        #: Numbers of the positions to which this rank contributes.
        self.rows = np.empty(0, np.int64)
        self._pieces: list[_Piece] = []

    def region(self, number: int) -> Box | None:
        """Return the points of a grid that are read; None: all."""
        stencils = self._stencils[number]
        return None if stencils is None else stencils.region

    def uses(self, number: int) -> bool:
        """Whether a grid may have positions."""
        stencils = self._stencils[number]
        return stencils is None or len(stencils.rows) > 0

    def _require(self, held: np.ndarray) -> None:
        """Raise `PipelineError` unless all positions are held."""
        if not held.all():
            missing = np.flatnonzero(~held)
            at = ", ".join(f"{value:g}" for value in self._places[missing[0]])
            names = ", ".join(grid.name for grid in self._grids)
            raise PipelineError(
                f"the surface lies outside the values of {names} at {len(missing)} of its "
                f"{len(held)} positions, as at ({at})"
            )

    def update(self, comm: MPI.Comm, parts: Sequence[Sequence[Part]]) -> bool:
        """Prepare for the parts of a step; return whether `rows` may have changed (collective).

        Args:
            comm: the ranks.
            parts: this rank's parts of each grid.

        Raises:
            PipelineError: on all ranks, positions lie outside the values; a complete sentence.
        """
        known = tuple(tuple((part.points.pair, part.stored.pair) for part in one) for one in parts)
        if not comm.allreduce(int(known != self._known)):
            return False
        if not comm.allreduce(int(known not in self._cache)):
            self.rows, self._pieces = self._cache[known]
            self._known = known
            return True
        self._known = None
        if None in self._stencils:
            self._locate(comm, parts)
        self._pieces, held = [], np.zeros(len(self._places))
        for number, of_grid in enumerate(parts):
            for place, part in enumerate(of_grid):
                self._add(number, place, part, held)
        comm.Allreduce(held.copy(), held)
        try:
            self._require(np.abs(held - 1.0) < 1e-6)
        except PipelineError as error:
            raise PipelineError(f"{error}.".capitalize()) from None
        every = [rows for _, _, rows, _, _ in self._pieces]
        self.rows = np.unique(np.concatenate([*every, np.empty(0, np.int64)]))
        self._pieces = [
            (number, place, np.searchsorted(self.rows, rows), points, stencils)
            for number, place, rows, points, stencils in self._pieces
        ]
        self._known = known
        if len(self._cache) >= _MAX_CUTS:
            self._cache.clear()
        self._cache[known] = self.rows, self._pieces
        return True

    def _locate(self, comm: MPI.Comm, parts: Sequence[Sequence[Part]]) -> None:
        """Find the positions on all grids; the ranks know their own cells of curvilinear ones."""
        count = len(self._places)
        mesh, index = np.full(count, len(self._grids)), np.full((count, 3), -np.inf)
        for number, (grid, of_grid) in enumerate(zip(self._grids, parts, strict=True)):
            if grid.coordinates is not None:
                rows = _on_lines(grid, self._places, self._order).rows
                mesh[rows] = np.minimum(mesh[rows], number)
                continue
            for part in of_grid:
                rows, found = _in_cells(part, self._places)
                first = mesh[rows] > number
                index[rows[first]] = found[first]
                mesh[rows] = np.minimum(mesh[rows], number)
        from mpi4py import MPI

        own = mesh.copy()
        comm.Allreduce(own, mesh, MPI.MIN)
        index[own != mesh] = -np.inf
        comm.Allreduce(index.copy(), index, MPI.MAX)
        for number, grid in enumerate(self._grids):
            rows = np.flatnonzero(mesh == number)
            if grid.coordinates is not None:
                lines = _on_lines(grid, self._places[rows], self._order)
                self._stencils[number] = Stencils(rows, lines.points, lines.weights)
                continue
            points, weights = [], []
            for axis, (start, size) in enumerate(zip(*grid.points.pair, strict=True)):
                line = start + np.arange(size, dtype=np.float64)
                low, weight = _along(line, index[rows, axis], self._order)
                points.append(low + start)
                weights.append(weight)
            self._stencils[number] = Stencils(rows, points, weights)

    def _add(self, number: int, place: int, part: Part, held: np.ndarray) -> None:
        """Add the weights of a part's own points."""
        stencils = self._stencils[number]
        assert stencils is not None
        near = np.ones(len(stencils.rows), bool)
        own = []
        for points, start, stop in zip(
            stencils.points, part.points.start, part.points.stop, strict=True
        ):
            own.append((points >= start) & (points < stop))
            near &= own[-1].any(axis=1)
        rows = np.flatnonzero(near)
        if not len(rows):
            return
        count, sizes = part.points.count, [one.shape[1] for one in own]
        flat = np.zeros((len(rows), *sizes), np.int64)
        weights = np.ones((len(rows), *sizes))
        for axis in range(3):
            shape = [len(rows), 1, 1, 1]
            shape[axis + 1] = sizes[axis]
            inside = own[axis][rows]
            local = np.where(inside, stencils.points[axis][rows] - part.points.start[axis], 0)
            flat = flat * count[axis] + local.reshape(shape)
            weights = weights * np.where(inside, stencils.weights[axis][rows], 0.0).reshape(shape)
        taps = int(np.prod(sizes))
        used, inverse = np.unique(flat, return_inverse=True)
        weights = weights.reshape(-1, taps)
        held[stencils.rows[rows]] += weights.sum(axis=1)
        self._pieces.append(
            (
                number,
                place,
                stencils.rows[rows],
                np.unravel_index(used, count),
                (inverse.reshape(-1, taps).astype(np.int32), weights),
            )
        )

    def __call__(
        self,
        parts: Sequence[Sequence[Part]],
        quantities: Callable[[int, Part, tuple[np.ndarray, ...]], np.ndarray],
        components: int,
    ) -> np.ndarray:
        """Return this rank's contribution to quantities at the positions `rows`.

        Args:
            parts: this rank's parts of each grid, those of the last `update`.
            quantities: returns quantities at points of a part, (points, components), from the
                number of the grid, the part and the indices of its own points along z, y, x.
            components: their number.
        """
        out = np.zeros((len(self.rows), components))
        for number, place, rows, points, (taps, weights) in self._pieces:
            values = quantities(number, parts[number][place], points)
            for start in range(0, len(rows), _BLOCK):
                block = slice(start, start + _BLOCK)
                # (m, points of a stencil, components); twice as fast as by an index
                near = np.take(values, taps[block], axis=0)
                out[rows[block]] += np.matmul(weights[block, None], near)[:, 0]
        return out
