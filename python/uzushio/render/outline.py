"""The domain's edges: those at its back are behind all layers, the others in front of them.

All layers lie inside the domain, a box. An edge between two faces visible from outside is in front
of them, an edge between two faces visible from inside is behind them, so no depth is needed. The
other edges are the rim of the box, where there is nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio.raycast import Camera

LineSegment = NDArray[np.float64]  # begin and end, each column and row


class Strokes(NamedTuple):
    """Coverage of pixels by thin lines, stored for the touched pixels."""

    places: NDArray[np.int64]
    """Indices of pixels, row by row; shape (n,)."""
    coverage: NDArray[np.uint8]
    """Shape (n,)."""
    color: NDArray[np.uint8]
    """Shape (3,)."""

    def paint(self, pixels: NDArray[np.uint8]) -> None:
        """Draw the lines into a contiguous picture of shape (height, width, 3)."""
        flat = pixels.reshape(-1, 3)
        amount = self.coverage[:, None].astype(np.uint16)
        total = flat[self.places] * (255 - amount) + self.color * amount + np.uint16(128)
        flat[self.places] = (total + (total >> 8)) >> 8


def sees_outside(
    camera: Camera, axis: int, side: int, bounds: Sequence[tuple[float, float]]
) -> bool:
    """Return whether the camera sees a face of the domain from outside."""
    outer = 1.0 if side else -1.0
    if camera.parallel_height is not None:
        return bool(-camera.axes[2][axis] * outer > 1e-6)
    extent = bounds[axis][1] - bounds[axis][0]
    return bool((camera.position[axis] - bounds[axis][side]) * outer > 1e-6 * extent)


def edges(
    camera: Camera, bounds: Sequence[tuple[float, float]], width: int, height: int
) -> tuple[list[LineSegment], list[LineSegment]]:
    """Return the visible parts of the edges behind all layers, and of those in front."""
    behind: list[LineSegment] = []
    before: list[LineSegment] = []
    for axis in range(3):
        others = [a for a in range(3) if a != axis]
        for sides in itertools.product((0, 1), repeat=2):
            ends = np.empty((2, 3))
            ends[:, axis] = bounds[axis]
            for other, side in zip(others, sides, strict=True):
                ends[:, other] = bounds[other][side]
            segment = _in_picture(camera, ends, width, height)
            if segment is None:
                continue
            seen = [
                sees_outside(camera, a, side, bounds) for a, side in zip(others, sides, strict=True)
            ]
            (before if any(seen) else behind).append(segment)
    return behind, before


def strokes(
    segments: Iterable[LineSegment],
    line_width: float,
    color: NDArray[np.uint8],
    opacity: float,
    width: int,
    height: int,
) -> Strokes:
    """Draw anti-aliased segments; where lines meet, the larger coverage counts."""
    all_places, amounts = [np.empty(0, np.int64)], [np.empty(0, np.uint8)]
    for segment in segments:
        rows, columns, coverage = _stroke(segment, line_width)
        amount = np.round(255 * opacity * coverage).astype(np.uint8)
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width) & (amount > 0)
        all_places.append((rows * width + columns)[inside])
        amounts.append(amount[inside])
    places, covered = np.concatenate(all_places), np.concatenate(amounts)
    order = np.lexsort((covered, places))
    places, covered = places[order], covered[order]
    last = np.append(places[1:] != places[:-1], True)[: len(places)]  # the largest of each pixel
    return Strokes(places[last], covered[last], color)


def _stroke(
    segment: LineSegment, line_width: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows, columns and coverage of the pixels around a segment."""
    (x0, y0), (x1, y1) = segment
    steep = abs(y1 - y0) > abs(x1 - x0)
    if steep:
        x0, y0, x1, y1 = y0, x0, y1, x1
    if x0 > x1:
        x0, y0, x1, y1 = x1, y1, x0, y0
    slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0
    along = np.arange(np.floor(x0 - 1), np.ceil(x1 + 1), dtype=np.int64)
    middle = y0 + (along + 0.5 - x0) * slope
    slant = np.hypot(1.0, slope)
    reach = int(np.ceil(line_width / 2 * slant)) + 1
    across = np.floor(middle).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
    distance = np.abs(across + 0.5 - middle[:, None]) / slant
    body = np.clip(line_width / 2 + 0.5 - distance, 0, 1)
    body -= np.clip(0.5 - line_width / 2 - distance, 0, 1)
    ends = np.clip(np.minimum(along + 1 - x0, x1 - along), 0, 1)
    coverage = body * ends[:, None]
    touched = coverage > 0
    far = np.broadcast_to(along[:, None], across.shape)[touched]
    rows, columns = (far, across[touched]) if steep else (across[touched], far)
    return rows, columns, coverage[touched]


def _in_picture(
    camera: Camera, ends: NDArray[np.float64], width: int, height: int
) -> LineSegment | None:
    """Return the part of a line between two points inside the picture, or None."""
    if camera.parallel_height is None:
        depth = (ends - camera.position) @ camera.axes[2]
        near = 1e-4 * float(np.abs(depth).max())
        if (depth < near).all():
            return None
        for near_end, far_end in ((0, 1), (1, 0)):
            if depth[near_end] < near:
                share = (near - depth[near_end]) / (depth[far_end] - depth[near_end])
                ends[near_end] += share * (ends[far_end] - ends[near_end])
    begin, end = camera.project(ends, width, height)[:, :2]
    first, last = 0.0, 1.0
    margin = 8.0
    for axis, size in enumerate((width, height)):  # Y.-D. Liang and B. A. Barsky
        step = end[axis] - begin[axis]
        for way, room in ((-step, begin[axis] + margin), (step, size + margin - begin[axis])):
            if way == 0.0:
                if room < 0.0:
                    return None
            elif way < 0.0:
                first = max(first, room / way)
            else:
                last = min(last, room / way)
    if first >= last:
        return None
    return np.array([begin + first * (end - begin), begin + last * (end - begin)])
