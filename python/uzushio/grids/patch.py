"""Patches of faces of structured zones, and the mapping across their connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from uzushio.domain.box import Triple
from uzushio.grids.mapped import Vertices

Range: TypeAlias = tuple[tuple[int, int], tuple[int, int]]

FACES = ("i-min", "i-max", "j-min", "j-max", "k-min", "k-max")


def cells_of(vertices: Vertices) -> Triple:
    """Return the number of cells along i, j, k of vertices with the shape (k, j, i, 3)."""
    k, j, i = vertices.shape[:3]
    return i - 1, j - 1, k - 1


@dataclass(frozen=True)
class Patch:
    """Part of a face of a zone.

    Attributes:
        face: i-min, i-max, j-min, j-max, k-min or k-max.
        range: first cell and one past the last, along the two axes of the face in ascending order.
    """

    face: str
    range: Range

    @staticmethod
    def whole(face: str, cells: Triple) -> Patch:
        """Return the patch that covers a face of a zone with these cells."""
        a, b = Patch(face, ((0, 0), (0, 0))).along
        return Patch(face, ((0, cells[a]), (0, cells[b])))

    @property
    def axis(self) -> int:
        """Axis across the face: 0, 1 or 2."""
        return FACES.index(self.face) // 2

    @property
    def is_upper(self) -> bool:
        """Whether the face is at the upper end of its axis."""
        return self.face.endswith("max")

    @property
    def along(self) -> tuple[int, int]:
        """The two axes along the face, ascending."""
        return ((1, 2), (0, 2), (0, 1))[self.axis]

    @property
    def extents(self) -> tuple[int, int]:
        """Number of cells along these axes."""
        (a, b), (c, d) = self.range
        return b - a, d - c

    def vertices(self, vertices: Vertices, layer: int = 0) -> np.ndarray:
        """Return a view of the patch's vertices.

        Args:
            vertices: coordinates of the vertices of the zone, (k, j, i, 3).
            layer: number of layers of cells between the face and the returned vertices.

        Returns:
            Positions, (second axis, first axis, 3).
        """
        index: list[slice | int] = [0, 0, 0]
        index[self.axis] = -1 - layer if self.is_upper else layer
        for axis, (lower, upper) in zip(self.along, self.range, strict=True):
            index[axis] = slice(lower, upper + 1)
        selected: np.ndarray = vertices[tuple(reversed(index))]
        return selected

    def __str__(self) -> str:
        ranges = zip(self.along, self.range, strict=True)
        return f"face {self.face}, range " + ", ".join(
            f"{'ijk'[a]} {low}:{high}" for a, (low, high) in ranges
        )


@dataclass(frozen=True)
class Connection:
    """One-to-one connection of two patches, in both directions.

    Attributes:
        zone: name of a zone.
        patch: patch of this zone.
        donor: name of the connected zone, which may be the same one.
        donor_patch: patch of the donor.
        transform: entry a is the donor's axis, from 1, along which the zone's axis a runs; negative
            if reversed (CGNS).
        translation: the donor's position is the zone's plus this; non-zero if periodic.
    """

    zone: str
    patch: Patch
    donor: str
    donor_patch: Patch
    transform: Triple = (1, 2, 3)
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def reversed(self) -> Connection:
        """Return the same connection, seen from the donor."""
        back = [-0.0 if t == 0 else -t for t in self.translation]
        return Connection(
            self.donor,
            self.donor_patch,
            self.zone,
            self.patch,
            inverse(self.transform),
            (back[0] + 0.0, back[1] + 0.0, back[2] + 0.0),
        )

    def as_zone(self, donor_values: np.ndarray) -> np.ndarray:
        """Return a view of values of the donor's patch in the order of the zone's patch.

        Args:
            donor_values: values with the axes (second, first, …) of the donor's patch.
        """
        first, second = (self.transform[a] for a in self.patch.along)
        view = donor_values if abs(first) < abs(second) else donor_values.swapaxes(0, 1)
        return view[:: -1 if second < 0 else 1, :: -1 if first < 0 else 1]


def inverse(transform: Sequence[int]) -> Triple:
    """Return the transform from the donor to the zone."""
    back = [0, 0, 0]
    for a, entry in enumerate(transform):
        back[abs(entry) - 1] = a + 1 if entry > 0 else -(a + 1)
    return back[0], back[1], back[2]


def donor_range(patch: Patch, corner: Triple, transform: Triple, donor_axis: int) -> Range:
    """Return the cells of the donor's face to which a patch is mapped.

    Args:
        patch: the zone's patch.
        corner: the donor's vertex at the patch's lowest vertex.
        transform: from the zone to the donor.
        donor_axis: axis across the donor's face.
    """
    ranges = {}
    for axis, extent in zip(patch.along, patch.extents, strict=True):
        b = abs(transform[axis]) - 1
        start = corner[b]
        ranges[b] = (start, start + extent) if transform[axis] > 0 else (start - extent, start)
    first, second = (b for b in range(3) if b != donor_axis)
    return ranges[first], ranges[second]


def rectangles(mask: np.ndarray) -> Iterator[Range]:
    """Yield disjoint ranges that cover the true values of a mask with the axes (second, first)."""
    left = mask.copy()
    while left.any():
        second, first = (int(n) for n in np.unravel_index(int(left.argmax()), left.shape))
        row = left[second, first:]
        end = first + (len(row) if row.all() else int(row.argmin()))
        full = np.asarray(left[second:, first:end].all(axis=1))
        stop = second + (len(full) if full.all() else int(full.argmin()))
        left[second:stop, first:end] = False
        yield (first, end), (second, stop)
