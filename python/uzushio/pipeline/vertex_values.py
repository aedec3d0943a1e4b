"""Values of elements at the vertices of curvilinear and of several meshes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uzushio import _core
from uzushio.domain.box import Box
from uzushio.domain.fields import Field
from uzushio.pipeline.nodes import Allocate, BoxValues, Node
from uzushio.pipeline.stream import Grid
from uzushio.raycast import default_threads

if TYPE_CHECKING:
    from mpi4py import MPI

#: Distance of vertices that are the same, relative to the extent of all, in single and in double
#: precision.
_SAME = {4: 1e-6, 8: 1e-10}
#: Directions without a relation to those of meshes, along which vertices are sorted.
_DIRECTIONS = np.array([[0.48, 0.61, 0.63], [-0.71, 0.69, 0.14], [0.29, -0.37, 0.88]])


@dataclass(frozen=True, eq=False)
class EndVertices:
    """Vertices at the ends of a mesh in one array.

    Attributes:
        positions: (n, 3), x, y, z.
        identity: (n,), different for all vertices of all meshes, the same on all ranks.
        owned: (n,), whether the values count; those of other parts are only replaced.
        values: array of the values.
        index: where the values are in it.
        tolerance: relative distance of vertices that are the same.
    """

    positions: np.ndarray
    identity: np.ndarray
    owned: np.ndarray
    values: np.ndarray
    index: tuple[np.ndarray, ...]
    tolerance: float


class VertexValues(Node):
    """Field of elements, interpolated to the vertices of its mesh.

    Exact for linear functions of the position, of second order for others. At the ends of the mesh
    values are extrapolated; `join` then replaces them by means over all meshes that meet there.
    """

    def __init__(self, quantity: Field, grid: Grid, of: str, source: Grid) -> None:
        """Make the node; `source` is the grid of the elements, `grid` that of the vertices."""
        corners = source.corner_field
        super().__init__(quantity, grid, [of, *([] if corners is None else [corners])])
        self._source, self._corners = source, corners

    def takes(self, box: Box) -> dict[str, Box]:
        """Return the elements on both sides of the vertices, two at least along each axis."""
        low, high = [], []
        elements = self._source.points
        for a, b, first, last in zip(
            box.start, box.stop, elements.start, elements.stop, strict=True
        ):
            low.append(max(min(a - 1, last - 2), first))
            high.append(min(max(b, first + 2), last))
        read = Box.between(low, high)
        boxes = {self.of[0]: read}
        if self._corners is not None:
            boxes[self._corners] = self._source.corners(read)
        return boxes

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Interpolate by the kernel, each component on its own."""
        read = self.takes(box)[self.of[0]]
        corners = self._positions(self._source.corners(read), values)
        cells = values[self.of[0]][1][read.slices(values[self.of[0]][0].start)]
        cells = cells.astype(self.quantity.dtype, copy=False)
        out = allocate((*box.count, *cells.shape[3:]), self.quantity.dtype)
        first = tuple(a - b for a, b in zip(box.start, read.start, strict=True))
        pairs = zip(_components(cells), _components(out), strict=True)
        for component, result in pairs:
            _core.pipeline.interpolate_to_vertices(
                component, corners, first, result, default_threads()
            )
        return out

    def _positions(self, box: Box, values: Mapping[str, BoxValues]) -> np.ndarray:
        """Return the positions of a box of vertices, (z, y, x, 3)."""
        if self._corners is None:
            return positions_of(self.grid, box)
        stored, corners = values[self._corners]
        return corners[box.slices(stored.start)].astype(np.float64, copy=False)

    def place(
        self, mesh: int, owned: Box, values: Mapping[str, BoxValues], name: str
    ) -> EndVertices:
        """Return the vertices at the ends of the mesh.

        Args:
            mesh: number of the mesh.
            owned: vertices that count here.
            values: arrays of this rank.
            name: name of this node.
        """
        box, out = values[name]
        whole = self.grid.points
        at_end = np.zeros(box.count, bool)
        inside = np.zeros(box.count, bool)
        inside[tuple(slice(max(s.start, 0), max(s.stop, 0)) for s in owned.slices(box.start))] = (
            True
        )
        for axis in range(3):
            for end in {whole.start[axis], whole.stop[axis] - 1}:
                if whole.count[axis] > 1 and box.start[axis] <= end < box.stop[axis]:
                    at_end[(slice(None),) * axis + (end - box.start[axis],)] = True
        index = np.nonzero(at_end)
        numbers = np.ravel_multi_index(
            tuple(i + b - w for i, b, w in zip(index, box.start, whole.start, strict=True)),
            whole.count,
        )
        itemsize = 8 if self._corners is None else values[self._corners][1].dtype.itemsize
        return EndVertices(
            self._positions(box, values)[index],
            numbers + (mesh << 40),
            inside[index],
            out,
            index,
            _SAME[itemsize],
        )


def positions_of(grid: Grid, box: Box) -> np.ndarray:
    """Return the positions of a box of a grid that is not curvilinear, (z, y, x, 3)."""
    z, y, x = np.meshgrid(*grid.lines(box), indexing="ij")
    return np.stack([x, y, z], axis=-1)


def _components(values: np.ndarray) -> list[np.ndarray]:
    return [values] if values.ndim == 3 else list(np.moveaxis(values, -1, 0))


def join(comm: MPI.Comm, places: Sequence[EndVertices]) -> None:
    """Replace values at the ends of meshes by means over all at the same position (collective).

    Ranks share the work by positions. Sums are in the order of the vertices' identities, so the
    means are the same bits on any number of ranks.
    """
    from mpi4py import MPI

    columns = []
    for place in places:
        held = place.values[place.index].reshape(len(place.owned), -1)
        columns.append(
            np.column_stack([place.positions, place.identity, place.owned, held.astype(np.float64)])
        )
    width = int(comm.allreduce(columns[0].shape[1] if columns else 0, MPI.MAX))
    tolerance = float(comm.allreduce(max((p.tolerance for p in places), default=0.0), MPI.MAX))
    rows = np.concatenate([*columns, np.zeros((0, width))])
    nothing = np.full(3, np.inf)
    ends = np.stack(
        [rows[:, :3].min(0, initial=np.inf), -rows[:, :3].max(0, initial=-np.inf)]
        if len(rows)
        else [nothing, nothing]
    )
    comm.Allreduce(ends.copy(), ends, MPI.MIN)
    if width == 0 or not np.isfinite(ends).all():
        return
    near = tolerance * float((-ends[1] - ends[0]).max())
    keys = rows[:, :3] @ _DIRECTIONS[0]
    first, last = (float(np.dot(np.abs(_DIRECTIONS[0]), end)) for end in (ends[0], -ends[1]))
    # A vertex near the border of two ranks' shares is sent to both.
    shares = [
        np.clip((keys + shift - first) / (last - first or 1.0) * comm.size, 0, comm.size - 1)
        for shift in (-near, near)
    ]
    homes = [share.astype(int) for share in shares]
    twice = np.flatnonzero(homes[0] != homes[1])
    home = np.concatenate([homes[0], homes[1][twice]])
    order = np.argsort(home, kind="stable")
    sent = np.concatenate([rows, rows[twice]])[order]
    counts = np.bincount(home, minlength=comm.size)
    received, given = _exchange(comm, sent, counts)
    means = _means(received, near)
    back, _ = _exchange(comm, means, given)
    result = np.empty((len(sent), width - 5))
    result[order] = back
    begin = 0
    for place in places:
        end = begin + len(place.owned)
        held = place.values[place.index]
        place.values[place.index] = result[begin:end].reshape(held.shape)
        begin = end


def _exchange(
    comm: MPI.Comm, rows: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Send rows to the ranks in their order; return those received, and the number from each."""
    if comm.size == 1:
        return rows, counts
    given = np.empty_like(counts)
    comm.Alltoall(counts, given)
    received = np.empty((int(given.sum()), rows.shape[1]))
    width = rows.shape[1]
    comm.Alltoallv([np.ascontiguousarray(rows), width * counts], [received, width * given])
    return received, given


def _means(rows: np.ndarray, near: float) -> np.ndarray:
    """Return for each row the mean of the owned values at its position."""
    group = np.zeros(len(rows), int)
    for direction in _DIRECTIONS:
        keys = rows[:, :3] @ direction
        order = np.lexsort((keys, group))
        new = np.ones(len(rows), bool)
        new[1:] = (np.diff(group[order]) != 0) | (np.diff(keys[order]) > near)
        group[order] = np.cumsum(new) - 1
    owned = np.flatnonzero(rows[:, 4] > 0)
    owned = owned[np.lexsort((rows[owned, 3], group[owned]))]
    count = group.max(initial=-1) + 1
    number = np.bincount(group[owned], minlength=count)
    sums = np.stack(
        [np.bincount(group[owned], column[owned], count) for column in rows[:, 5:].T], axis=-1
    )
    means = sums / np.maximum(number, 1)[:, np.newaxis]
    return np.where(number[group][:, np.newaxis] > 0, means[group], rows[:, 5:])
