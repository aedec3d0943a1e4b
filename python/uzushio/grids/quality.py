"""Quality of a grid: volumes, stretching and skewness of its cells."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from uzushio.domain.box import Triple
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.volumes import cell_volumes


@dataclass(frozen=True)
class ZoneQuality:
    """Quality of the cells of a zone.

    Attributes:
        zone: name of the zone.
        cells: number of cells along i, j, k.
        left_handed: whether its volumes are negative.
        volume: sum of the volumes' magnitudes.
        min_volume: least magnitude of a volume; negative if the cell is inverted.
        min_volume_cell: cell (i, j, k) of this volume.
        max_stretching: largest ratio of the lengths of two edges that follow each other.
        max_stretching_cell: cell before these.
        max_skewness: largest deviation of an angle between two edges from a right one, in degrees.
        max_skewness_cell: cell with this angle.
    """

    zone: str
    cells: Triple
    left_handed: bool
    volume: float
    min_volume: float
    min_volume_cell: Triple
    max_stretching: float
    max_stretching_cell: Triple
    max_skewness: float
    max_skewness_cell: Triple


@dataclass(frozen=True)
class GridQuality:
    """Quality of a grid.

    Attributes:
        zones: quality of each zone.
        max_jump: largest ratio of the lengths of two edges that follow each other across a
            connection.
        max_jump_place: zone and patch of this connection; "" without connections.
        areas: area of the boundary of each name.
    """

    zones: list[ZoneQuality]
    max_jump: float
    max_jump_place: str
    areas: dict[str, float] = field(default_factory=dict)

    @property
    def volume(self) -> float:
        """Volume of the grid."""
        return sum(zone.volume for zone in self.zones)

    @property
    def worst_volume(self) -> ZoneQuality:
        """The zone with the least volume of a cell."""
        return min(self.zones, key=lambda zone: zone.min_volume)

    @property
    def worst_stretching(self) -> ZoneQuality:
        """The zone with the largest stretching."""
        return max(self.zones, key=lambda zone: zone.max_stretching)

    @property
    def worst_skewness(self) -> ZoneQuality:
        """The zone with the largest skewness."""
        return max(self.zones, key=lambda zone: zone.max_skewness)


def grid_quality(grid: Grid) -> GridQuality:
    """Return the quality of a grid, whose cells may be inverted."""
    jump, place = 1.0, ""
    for c in grid.connections:
        here, there = (grid.zone(name).vertices for name in (c.zone, c.donor))
        inside = [c.patch.vertices(here, layer) for layer in (0, 1)]
        beyond = [c.as_zone(c.donor_patch.vertices(there, layer)) for layer in (0, 1)]
        ratio = _ratio(
            np.linalg.norm(inside[1] - inside[0], axis=-1),
            np.linalg.norm(beyond[1] - beyond[0], axis=-1),
        )
        if ratio.max() > jump or not place:
            jump, place = float(ratio.max()), f"zone '{c.zone}', {c.patch}"
    areas: dict[str, float] = dict.fromkeys(grid.conditions(), 0.0)
    for zone in grid.zones:
        for patch, name in zone.boundaries:
            areas[name] += _area(patch.vertices(zone.vertices))
    return GridQuality([zone_quality(zone) for zone in grid.zones], jump, place, areas)


def zone_quality(zone: GridZone) -> ZoneQuality:
    """Return the quality of a zone."""
    vertices = np.asarray(zone.vertices)
    volumes = cell_volumes(vertices)
    hand = 1.0 if np.count_nonzero(volumes > 0) * 2 >= volumes.size else -1.0
    least = int((hand * volumes).argmin())
    stretching = max(
        (_worst(_stretching(vertices, axis), zone.cells) for axis in range(3)),
        key=lambda candidate: candidate[0],
    )
    skewness = max(
        (_worst(angles, zone.cells) for angles in _skewness(vertices)),
        key=lambda candidate: candidate[0],
    )
    return ZoneQuality(
        zone.name,
        zone.cells,
        hand < 0,
        float(np.abs(volumes.sum())),
        float(hand * volumes.ravel()[least]),
        _cell(least, volumes.shape, zone.cells),
        *stretching,
        *skewness,
    )


def stretching_of(vertices: np.ndarray) -> np.ndarray:
    """Return the ratios of edges that follow each other, along all axes, in one array."""
    return np.concatenate([_stretching(vertices, axis).ravel() for axis in range(3)])


def skewness_of(vertices: np.ndarray) -> np.ndarray:
    """Return the deviations of angles from a right one, in degrees, in one array."""
    return np.concatenate([angles.ravel() for angles in _skewness(vertices)])


def _worst(values: np.ndarray, cells: Triple) -> tuple[float, Triple]:
    """Return the largest value of an array (k, j, i) and its cell; 1 if there is none."""
    if not values.size:
        return 1.0, (0, 0, 0)
    place = int(values.argmax())
    return float(values.ravel()[place]), _cell(place, values.shape, cells)


def _cell(place: int, shape: tuple[int, ...], cells: Triple) -> Triple:
    k, j, i = (int(n) for n in np.unravel_index(place, shape))
    return min(i, cells[0] - 1), min(j, cells[1] - 1), min(k, cells[2] - 1)


def _edges(vertices: np.ndarray, axis: int) -> np.ndarray:
    """Return the edges along an axis, (k, j, i, 3)."""
    return np.diff(vertices, axis=2 - axis)


def _stretching(vertices: np.ndarray, axis: int) -> np.ndarray:
    lengths = np.linalg.norm(_edges(vertices, axis), axis=-1)
    dimension = 2 - axis
    count = lengths.shape[dimension]
    return _ratio(
        lengths.take(range(1, count), dimension), lengths.take(range(count - 1), dimension)
    )


def _ratio(lengths: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return how many times the larger of two lengths is longer; 1 if both are 0."""
    larger, smaller = np.maximum(lengths, other), np.minimum(lengths, other)
    ratio = np.full(larger.shape, np.inf)
    np.divide(larger, smaller, out=ratio, where=smaller > 0)
    ratio[larger == 0] = 1.0
    return ratio


def _skewness(vertices: np.ndarray) -> list[np.ndarray]:
    """Return, of each two axes and corner, the deviation of the angle from 90 degrees."""
    units = []
    for axis in range(3):
        edges = _edges(vertices, axis)
        length = np.linalg.norm(edges, axis=-1, keepdims=True)
        units.append(np.divide(edges, length, out=np.zeros_like(edges), where=length > 0))
    angles = []
    for a, b in itertools.combinations(range(3), 2):
        cosines = []
        for ends in itertools.product((0, 1), repeat=2):
            # The edge along a at one end along b, and the edge along b at one end along a.
            first, second = _at_end(units[a], b, ends[0]), _at_end(units[b], a, ends[1])
            cosines.append(np.abs(np.einsum("...c,...c->...", first, second)))
        angles.append(np.degrees(np.arcsin(np.minimum(np.maximum.reduce(cosines), 1.0))))
    return angles


def _at_end(edges: np.ndarray, axis: int, end: int) -> np.ndarray:
    index = [slice(None)] * 4
    index[2 - axis] = slice(1, None) if end else slice(None, -1)
    return edges[tuple(index)]


def _area(x: np.ndarray) -> float:
    """Return the area of a patch: half of the product of the diagonals of its cell sides."""
    diagonal, other = x[1:, 1:] - x[:-1, :-1], x[1:, :-1] - x[:-1, 1:]
    return float(0.5 * np.linalg.norm(np.cross(diagonal, other), axis=-1).sum())
