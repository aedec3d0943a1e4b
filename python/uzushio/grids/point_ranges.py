"""Ranges of points of CGNS and neutral map files, as patches and connections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from uzushio.domain.box import Triple
from uzushio.errors import GridError
from uzushio.grids.grid import Grid
from uzushio.grids.patch import FACES, Connection, Patch

Points: TypeAlias = tuple[list[int], list[int]]

#: Relative difference of the translation in a file, in single precision, from that of the vertices.
_ROUNDED = 1e-5


def begin_and_end(where: str, points: np.ndarray) -> Points:
    """Return the two points of a `PointRange`; raises `GridError` if it has another shape."""
    if points.shape != (2, 3):
        raise GridError(f"{where}: a range of points has the shape {points.shape}, not (2, 3).")
    return points[0].tolist(), points[1].tolist()


def patch_of(
    where: str, begin: Sequence[int], end: Sequence[int], cells: Triple, location: str = "Vertex"
) -> Patch:
    """Return the patch of a range of points, from 1.

    Args:
        where: place for messages.
        begin: one corner.
        end: the opposite corner.
        cells: number of cells of the zone.
        location: what the points count: "Vertex", or "FaceCenter", "IFaceCenter", ….

    Raises:
        GridError: the range is not a part of a face.
    """
    text = f"{where}: the range {tuple(begin)} to {tuple(end)}"
    lower, upper = np.minimum(begin, end), np.maximum(begin, end)
    if location != "Vertex" and not location.endswith("FaceCenter"):
        raise GridError(f"{where}: ranges at {location} are not read.")
    of_sides = location != "Vertex"
    flat = [a for a in range(3) if lower[a] == upper[a]]
    if of_sides:  # a range of one side along another axis is flat too
        flat = (
            ["IJK".index(location[0])]
            if location != "FaceCenter"
            else [a for a in flat if lower[a] in (1, cells[a] + 1)][:1]
        )
    if len(flat) != 1:
        raise GridError(f"{text} is not a part of a face.")
    axis = flat[0]
    if lower[axis] != upper[axis] or lower[axis] not in (1, cells[axis] + 1):
        raise GridError(
            f"{text} lies inside the zone, which has {' x '.join(map(str, cells))} cells."
        )
    ranges = []
    for a in (a for a in range(3) if a != axis):
        low, high = int(lower[a]) - 1, int(upper[a]) - (0 if of_sides else 1)
        if low < 0 or high > cells[a]:
            raise GridError(
                f"{text} leaves the zone, which has {' x '.join(map(str, cells))} cells."
            )
        ranges.append((low, high))
    return Patch(FACES[2 * axis + int(lower[axis] != 1)], (ranges[0], ranges[1]))


def points_of(patch: Patch, cells: Triple) -> np.ndarray:
    """Return the lowest and the highest vertex of a patch, from 1, (2, 3)."""
    points = np.empty((2, 3), dtype=np.int32)
    points[:, patch.axis] = cells[patch.axis] + 1 if patch.is_upper else 1
    for axis, (lower, upper) in zip(patch.along, patch.range, strict=True):
        points[:, axis] = lower + 1, upper + 1
    return points


def donor_points(connection: Connection, donor_cells: Triple) -> np.ndarray:
    """Return the donor's vertices at the two points of `points_of` of the zone's patch."""
    points = points_of(connection.donor_patch, donor_cells)
    for axis in connection.patch.along:
        entry = connection.transform[axis]
        if entry < 0:
            points[:, -entry - 1] = points[::-1, -entry - 1].copy()
    return points


def connection_of(
    where: str,
    grid: Grid,
    zone: str,
    donor: str,
    here: Points,
    there: Points,
    transform: Sequence[int],
    translation: Sequence[float] | np.ndarray | None = None,
) -> Connection:
    """Return a connection of two ranges of points.

    Args:
        where: place for messages.
        grid: the grid with its zones.
        zone: name of the zone.
        donor: name of the donor.
        here: range of the zone's points.
        there: range of the donor's points.
        transform: as that of `Connection`.
        translation: if periodic, rounded; replaced by that of the vertices if they agree. All zero:
            that of the vertices.

    Raises:
        GridError: ranges or transform are not those of a connection.
    """
    if sorted(map(abs, transform)) != [1, 2, 3]:
        raise GridError(f"{where}: {tuple(transform)} is not a signed permutation of 1, 2, 3.")
    try:
        cells, donor_cells = grid.zone(zone).cells, grid.zone(donor).cells
    except GridError as error:
        raise GridError(f"{where}: {error}") from None
    made = Connection(
        zone,
        patch_of(where, *here, cells),
        donor,
        patch_of(f"{where}, donor '{donor}'", *there, donor_cells),
        (transform[0], transform[1], transform[2]),
    )
    if translation is None:
        return made
    x, y, z = _translation(grid, made, np.asarray(translation))
    return Connection(made.zone, made.patch, donor, made.donor_patch, made.transform, (x, y, z))


def _translation(grid: Grid, c: Connection, given: np.ndarray) -> list[float]:
    """Return the translation between the first vertices if it is the given one, or its opposite."""
    here = c.patch.vertices(grid.zone(c.zone).vertices)
    there = c.as_zone(c.donor_patch.vertices(grid.zone(c.donor).vertices))
    if here.shape != there.shape:
        return [float(t) for t in given]
    shift = there[0, 0] - here[0, 0]
    size = float(np.linalg.norm(shift))
    shift[np.abs(shift) < 1e-12 * size] = 0.0
    near = min(float(np.linalg.norm(shift - given)), float(np.linalg.norm(shift + given)))
    return [float(t) for t in (shift if near <= _ROUNDED * size or not given.any() else given)]


def merged(directed: Iterable[Connection]) -> list[Connection]:
    """Return connections of both directions, each once.

    Raises:
        GridError: two directions of a connection disagree.
    """
    by_ends: dict[frozenset[tuple[str, Patch]], Connection] = {}
    for c in directed:
        ends = frozenset([(c.zone, c.patch), (c.donor, c.donor_patch)])
        known = by_ends.setdefault(ends, c)
        back = c if (known.zone, known.patch) == (c.zone, c.patch) else c.reversed()
        shift = np.subtract(known.translation, back.translation)
        if known.transform != back.transform or (
            np.linalg.norm(shift) > _ROUNDED * np.linalg.norm(known.translation)
        ):
            raise GridError(
                f"zone '{c.zone}', {c.patch}: the connection to zone '{c.donor}' has the transform "
                f"{c.transform} and the translation {c.translation}; the one back disagrees."
            )
    return list(by_ends.values())
