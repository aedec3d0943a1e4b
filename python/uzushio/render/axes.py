"""Ticks and labels of axes along edges of the domain's silhouette."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio.raycast import Camera
from uzushio.render import marks
from uzushio.render.cameras import Rectangle
from uzushio.render.marks import Mark
from uzushio.render.outline import sees_outside
from uzushio.render.ticks import ticks
from uzushio.render.typeface import TextMask, Typeface, typeset

#: Lengths in heights of the letters.
TICK = 0.45
GAP = 0.3
#: Margins around the domain: left, right, above, below.
MARGINS = (5.2, 3.0, 0.9, 3.9)
MIN_EDGE = 3.0  # minimum length of an edge with ticks

_CORNERS = list(itertools.product((0, 1), repeat=3))

Vector2 = NDArray[np.float64]


class _Edge(NamedTuple):
    """Edge of the domain along one axis, and its outward direction in the picture."""

    begin: tuple[int, int, int]
    outward: Vector2
    length: float


def draw(
    camera: Camera,
    bounds: Sequence[tuple[float, float]],
    names: Sequence[str],
    unit: str,
    picture: Rectangle,
    em: int,
    ink: str,
    paper: str,
    face: Typeface,
    occupied: Sequence[Rectangle] = (),
) -> list[Mark]:
    """Draw ticks, labels and names of x, y and z, none of which overlap.

    There are none along an axis that points at the camera, and none at all if a corner of the
    domain is behind the camera.

    Args:
        camera: The picture's.
        bounds: Of the domain along x, y and z.
        names: Names of the axes.
        unit: Unit after each name, in brackets; may be empty.
        picture: The whole picture.
        em: Height of letters.
        ink: Colour of text.
        paper: Colour behind text.
        face: The font.
        occupied: Rectangles of other annotation.
    """
    columns, rows = round(picture.width), round(picture.height)
    corners = camera.project(_points(bounds), columns, rows)
    if not np.isfinite(corners).all():
        return []
    covered = marks.Silhouette(corners[:, :2])
    places = list(occupied)
    drawn: list[Mark] = []
    color = marks.shade(ink)
    rim = marks.shade(paper)
    for axis in _by_length(camera, corners, bounds):
        edge = _outline(axis, camera, corners, bounds)
        if edge is None or edge.length < MIN_EDGE * em:
            continue
        new = _axis(axis, edge, camera, bounds, names[axis], unit, picture, em, color, face, places)
        for mark, is_text in new:
            if is_text:
                places.append(mark.rectangle)
                if covered.meets(mark.rectangle):
                    drawn.append(marks.halo(mark, rim, max(1, round(0.12 * em))))
        drawn += [mark for mark, _ in new]
    return drawn


def _points(bounds: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    return np.array([[bounds[a][corner[a]] for a in range(3)] for corner in _CORNERS], float)


def _by_length(
    camera: Camera, corners: NDArray[np.float64], bounds: Sequence[tuple[float, float]]
) -> list[int]:
    """Return the axes by decreasing length in the picture: the first ones keep their labels."""

    def length(axis: int) -> float:
        edge = _outline(axis, camera, corners, bounds)
        return 0.0 if edge is None else edge.length

    return sorted(range(3), key=length, reverse=True)


def _outline(
    axis: int,
    camera: Camera,
    corners: NDArray[np.float64],
    bounds: Sequence[tuple[float, float]],
) -> _Edge | None:
    """Return the best edge along an axis between a visible and a hidden face, or None.

    Edges at the bottom are preferred, then those at the left.
    """
    middle = corners[:, :2].mean(axis=0)
    others = [a for a in range(3) if a != axis]
    best: tuple[float, _Edge] | None = None
    for sides in itertools.product((0, 1), repeat=2):
        seen = [
            sees_outside(camera, a, side, bounds) for a, side in zip(others, sides, strict=True)
        ]
        if seen[0] == seen[1]:
            continue
        corner = [0, 0, 0]
        for a, side in zip(others, sides, strict=True):
            corner[a] = side
        begin = (corner[0], corner[1], corner[2])
        corner[axis] = 1
        start = corners[_CORNERS.index(begin), :2]
        end = corners[_CORNERS.index((corner[0], corner[1], corner[2])), :2]
        length = float(np.hypot(*(end - start)))
        if length == 0.0:
            continue
        outward = np.array([end[1] - start[1], start[0] - end[0]]) / length
        if outward @ ((start + end) / 2 - middle) < 0:
            outward = -outward
        score = float(outward[1] - 0.25 * outward[0])
        if best is None or score > best[0]:
            best = score, _Edge(begin, outward, length)
    return best[1] if best else None


def _axis(
    axis: int,
    edge: _Edge,
    camera: Camera,
    bounds: Sequence[tuple[float, float]],
    name: str,
    unit: str,
    picture: Rectangle,
    em: int,
    color: NDArray[np.uint8],
    face: Typeface,
    occupied: Sequence[Rectangle],
) -> list[tuple[Mark, bool]]:
    """Return ticks, labels and name of one axis, each with whether it is text."""
    out = edge.outward
    along = np.array([abs(out[1]), abs(out[0])])
    small = round(0.9 * em)
    columns, rows = round(picture.width), round(picture.height)
    for max_count in range(9, 1, -1):
        axis_ticks = ticks(*bounds[axis], max_count=max_count)
        masks = [face.mask(label, small) for label in axis_ticks.labels]
        sizes = [_size(mask) for mask in masks]
        points = np.array([[bounds[a][edge.begin[a]] for a in range(3)]] * len(masks), float)
        points = points.reshape(-1, 3)
        points[:, axis] = axis_ticks.values
        places = camera.project(points, columns, rows)[:, :2]
        widest = max((float(size @ along) for size in sizes), default=0.0)
        apart = np.hypot(*np.diff(places, axis=0).T).min() if len(places) > 1 else np.inf
        if apart >= widest + 0.9 * em:
            break
    reach = (TICK + GAP) * em
    result: list[tuple[Mark, bool]] = []
    deepest = 0.0
    seen = [picture.holds(place) for place in places]
    for place, mask, size, there in zip(places, masks, sizes, seen, strict=True):
        if not there:
            continue
        result.append((marks.line(place, place + out * TICK * em, 1.2, color, 0.85), False))
        centre = place + out * (reach + float(size @ np.abs(out)) / 2)
        mark = _inside(marks.text(mask, centre, color), picture)
        if not any(mark.rectangle.overlaps(other, 0.4 * em) for other in occupied):
            result.append((mark, True))
            deepest = max(deepest, float(size @ np.abs(out)))
    if name and any(seen):
        last = [edge.begin[0], edge.begin[1], edge.begin[2]]
        last[axis] = 1
        ends = [[bounds[a][corner[a]] for a in range(3)] for corner in (edge.begin, last)]
        whole = camera.project(ends, columns, rows)[:, :2]
        middle = (whole if all(seen) else places[seen]).mean(axis=0)
        behind = " ".join(filter(None, [typeset(unit), axis_ticks.factor]))
        mask = face.name(typeset(name), behind, em)
        depth = float(_size(mask) @ np.abs(out))
        centre = middle + out * (reach + deepest + 0.55 * em + depth / 2)
        mark = _inside(marks.text(mask, centre, color), picture)
        own = [m.rectangle for m, is_text in result if is_text]
        if not any(mark.rectangle.overlaps(other) for other in (*occupied, *own)):
            result.append((mark, True))
    return result


def _size(mask: TextMask) -> Vector2:
    height, width = mask.coverage.shape
    return np.array([width, height], float)


def _inside(mark: Mark, picture: Rectangle, margin: int = 3) -> Mark:
    """Return the mark, moved into the picture if necessary."""
    height, width = mark.coverage.shape
    left = min(max(mark.left, margin), round(picture.right) - width - margin)
    top = min(max(mark.top, margin), round(picture.bottom) - height - margin)
    return mark._replace(left=left, top=top)
