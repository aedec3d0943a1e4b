"""One-to-one connections of a grid, found by matching the vertices of its faces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uzushio.domain.box import Triple
from uzushio.errors import GridError
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.patch import FACES, Connection, Patch, donor_range, rectangles

#: Direction of no symmetry; cell sides are sorted by their positions along it.
_DIRECTION = np.array([0.5163977795, 0.6180339887, 0.5927343712])
#: Corners of a cell side: steps along the first and second axis of its face.
_CORNERS = np.array([(0, 0), (1, 0), (0, 1), (1, 1)])


@dataclass
class _Sides:
    """Open cell sides of all zones: face (number), cell (first, second axis), corners, length."""

    faces: list[tuple[GridZone, str]]
    face: np.ndarray
    cell: np.ndarray
    corners: np.ndarray
    length: np.ndarray

    def place(self, side: int) -> str:
        zone, face = self.faces[self.face[side]]
        (a, b) = (int(n) for n in self.cell[side])
        return f"zone '{zone.name}', {Patch(face, ((a, a + 1), (b, b + 1)))}"


def find_connections(
    grid: Grid,
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0),
    tolerance: float = 1e-4,
) -> list[Connection]:
    """Connect the cell sides without a name or connection whose vertices coincide.

    Sides with an edge of no length, as at an axis, are not connected.

    Args:
        grid: the grid, to which the connections are added.
        translation: shift of periodic connections: vertices coincide after it.
        tolerance: maximum distance of two vertices, relative to the shortest edge of their sides.

    Returns:
        The new connections.

    Raises:
        GridError: more than two sides coincide.
    """
    sides = _open_sides(grid)
    pairs = _pairs(sides, np.asarray(translation), tolerance)
    connections = list(_connections(sides, pairs, np.asarray(translation), translation, tolerance))
    grid.connections += connections
    return connections


def _open_sides(grid: Grid) -> _Sides:
    faces: list[tuple[GridZone, str]] = []
    number, cells = [np.empty(0, dtype=np.int64)], [np.empty((0, 2), dtype=np.int64)]
    corners = [np.empty((0, 4, 3))]
    for zone in grid.zones:
        for face in FACES:
            is_open = grid.open_sides(zone, face)
            if not is_open.any():
                continue
            x = Patch.whole(face, zone.cells).vertices(zone.vertices)
            second, first = np.nonzero(is_open)
            four = np.stack([x[second + b, first + a] for a, b in _CORNERS], axis=1)
            number.append(np.full(len(first), len(faces)))
            cells.append(np.stack([first, second], axis=1))
            corners.append(four)
            faces.append((zone, face))
    every = np.concatenate(corners).astype(np.float64, copy=False)
    edges = every[:, [1, 3, 3, 2]] - every[:, [0, 1, 2, 0]]
    length = np.linalg.norm(edges, axis=-1).min(axis=1)
    keep = length > 0
    return _Sides(
        faces,
        np.concatenate(number)[keep],
        np.concatenate(cells)[keep],
        every[keep],
        length[keep],
    )


def _pairs(sides: _Sides, translation: np.ndarray, tolerance: float) -> np.ndarray:
    """Return pairs of sides whose centres coincide after a translation of the first, (n, 2)."""
    count = len(sides.length)
    centres = sides.corners.mean(axis=1)
    reach = tolerance * sides.length
    periodic = bool(translation.any())
    if periodic:  # shifted copies, then the sides themselves
        centres = np.concatenate([centres + translation, centres])
        reach = np.concatenate([reach, reach])
    along = centres @ _DIRECTION
    order = np.argsort(along, kind="stable")
    along, centres, reach = along[order], centres[order], reach[order]
    close_pairs: list[np.ndarray] = []
    candidates = np.arange(len(order))
    for shift in range(1, len(order)):
        candidates = candidates[candidates + shift < len(order)]
        candidates = candidates[along[candidates + shift] - along[candidates] <= reach[candidates]]
        if not len(candidates):
            break
        far = np.linalg.norm(centres[candidates + shift] - centres[candidates], axis=1)
        close = candidates[far <= reach[candidates]]
        close_pairs.append(np.stack([order[close], order[close + shift]], axis=1))
    pairs = (
        np.sort(np.concatenate(close_pairs), axis=1)
        if close_pairs
        else np.empty((0, 2), dtype=np.int64)
    )
    if periodic:
        pairs = pairs[(pairs[:, 0] < count) & (pairs[:, 1] >= count)] - [0, count]
    _refuse_thirds(sides, pairs, periodic)
    return pairs


def _refuse_thirds(sides: _Sides, pairs: np.ndarray, periodic: bool) -> None:
    """Raise `GridError` if a side has two partners."""
    columns = [pairs[:, 0], pairs[:, 1]] if periodic else [pairs.ravel()]
    for column in columns:
        values, counts = np.unique(column, return_counts=True)
        if (counts > 1).any():
            side = int(values[counts > 1][0])
            rows = pairs[(pairs == side).any(axis=1)][:2]
            places = [sides.place(int(n)) for n in dict.fromkeys(rows.ravel().tolist())]
            raise GridError(
                f"the zones overlap: {', and '.join(places)} are at the same place; name one of "
                "them, or give the connections."
            )


def _connections(
    sides: _Sides,
    pairs: np.ndarray,
    shift: np.ndarray,
    translation: tuple[float, float, float],
    tolerance: float,
) -> Iterator[Connection]:
    """Group pairs of sides into patches of one orientation, and yield their connections."""
    here, there = pairs[:, 0], pairs[:, 1]
    corners = sides.corners[here] + shift
    images = []  # corner of the donor's side at the corners (0, 0), (1, 0), (0, 1) of the side
    fits = np.ones(len(pairs), dtype=bool)
    for corner in range(3):
        far = np.linalg.norm(corners[:, corner, None] - sides.corners[there], axis=-1)
        images.append(far.argmin(axis=1))
        fits &= far.min(axis=1) <= tolerance * sides.length[here]
    origin, first, second = (_CORNERS[image] for image in images)
    # Steps of the donor's first and second axis for one step along each axis of the side.
    step_first, step_second = first - origin, second - origin
    fits &= (np.abs(step_first).sum(1) == 1) & (np.abs(step_second).sum(1) == 1)
    fits &= (step_first * step_second).sum(1) == 0
    # The donor's vertex for vertex (0, 0) of the side's face, were the patch to reach so far.
    cell = sides.cell[here]
    corner = sides.cell[there] + origin - cell[:, :1] * step_first - cell[:, 1:] * step_second
    keys = np.column_stack([sides.face[here], sides.face[there], step_first, step_second, corner])
    groups, group = np.unique(keys[fits], axis=0, return_inverse=True)
    for number, key in enumerate(groups):
        cells = cell[fits][group.ravel() == number]
        low = cells.min(axis=0)
        mask = np.zeros((cells.max(axis=0) - low + 1)[::-1], dtype=bool)
        mask[cells[:, 1] - low[1], cells[:, 0] - low[0]] = True
        for (a, b), (c, d) in rectangles(mask):
            ranges = ((a + int(low[0]), b + int(low[0])), (c + int(low[1]), d + int(low[1])))
            yield _connection(sides, [int(n) for n in key], ranges, translation)


def _connection(
    sides: _Sides,
    key: list[int],
    ranges: tuple[tuple[int, int], tuple[int, int]],
    translation: tuple[float, float, float],
) -> Connection:
    zone, face = sides.faces[key[0]]
    donor, donor_face = sides.faces[key[1]]
    patch = Patch(face, ranges)
    whole = Patch.whole(donor_face, donor.cells)
    transform = [0, 0, 0]
    transform[patch.axis] = (whole.axis + 1) * (-1 if patch.is_upper == whole.is_upper else 1)
    corner = [0, 0, 0]
    for u, axis in enumerate(whole.along):
        corner[axis] = key[6 + u] + ranges[0][0] * key[2 + u] + ranges[1][0] * key[4 + u]
    for t, axis in enumerate(patch.along):
        step = key[2 + 2 * t : 4 + 2 * t]
        u = 0 if step[0] else 1
        transform[axis] = step[u] * (whole.along[u] + 1)
    signed: Triple = (transform[0], transform[1], transform[2])
    low: Triple = (corner[0], corner[1], corner[2])
    there = Patch(donor_face, donor_range(patch, low, signed, whole.axis))
    return Connection(zone.name, patch, donor.name, there, signed, translation)
