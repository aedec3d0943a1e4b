"""Ranges of fields in blocks, for colours that follow the values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.domain.axes import reverse_axes
from uzushio.render.cameras import Vector
from uzushio.render.limits import EMPTY_RANGE, Range


def field_range(block: Any, name: str, positive: bool = False) -> Range:
    """Return the range of a field at the points of a block's cells, (inf, -inf) if empty.

    Points shared by blocks count in both, ghost points in none, so the range over all blocks is
    that of the whole field. Values that are not finite do not count.

    Args:
        block: a `uzushio.raycast.Block`.
        name: name of the field.
        positive: whether only values above zero count.
    """
    start, cells = np.asarray(block.start), np.asarray(block.cells[0])
    low = cells - start
    high = low + np.asarray(block.cells[1]) + 1
    inside = tuple(slice(lo, hi) for lo, hi in zip(low, high, strict=True))
    return value_range(block.fields[name][inside], positive)


def value_range(values: NDArray[Any], positive: bool = False) -> Range:
    """Return the range of the finite values of an array; with `positive`, of those above zero."""
    if values.size == 0:
        return EMPTY_RANGE
    if not positive:
        lo, hi = float(values.min()), float(values.max())
        if math.isfinite(lo) and math.isfinite(hi):
            return lo, hi
    # Plane by plane, without a copy of the field.
    planes = values if values.ndim > 1 else values[None]
    limits = EMPTY_RANGE
    for plane in planes:
        good = np.isfinite(plane)
        if positive:
            good &= plane > 0
        if good.any():
            chosen = plane[good]
            limits = min(limits[0], float(chosen.min())), max(limits[1], float(chosen.max()))
    return limits


def plane_range(
    block: Any, name: str, origin: Vector, normal: Vector, positive: bool = False
) -> Range:
    """Return the range of a field in a plane, at its intersections with lines of the mesh.

    The lines are along the axis nearest to the normal, so each has one intersection. Between the
    lines the values do not exceed the range.
    """
    start, cells = np.asarray(block.start), np.asarray(block.cells[0])
    count = np.asarray(block.cells[1])
    if (count <= 0).any():
        return EMPTY_RANGE
    low = cells - start
    inside = tuple(slice(int(lo), int(lo + n + 1)) for lo, n in zip(low, count, strict=True))
    points = [np.asarray(block.coordinates[axis])[inside[axis]] for axis in range(3)]
    values = block.fields[name][inside]

    towards = np.array(reverse_axes(normal), float)
    through = np.array(reverse_axes(origin), float)
    main = int(np.abs(towards).argmax())
    first, second = (axis for axis in range(3) if axis != main)
    cut = (
        through[main]
        - (points[first] - through[first])[:, None] * (towards[first] / towards[main])
        - (points[second] - through[second])[None, :] * (towards[second] / towards[main])
    )
    along = points[main]
    hit = (cut >= along[0]) & (cut <= along[-1])
    if not hit.any():
        return EMPTY_RANGE
    cell = np.clip(np.searchsorted(along, cut[hit], side="right") - 1, 0, len(along) - 2)
    share = (cut[hit] - along[cell]) / (along[cell + 1] - along[cell])
    i, j = np.nonzero(hit)
    lines = np.moveaxis(values, main, 0)
    with np.errstate(invalid="ignore"):
        on_plane = lines[cell, i, j] * (1 - share) + lines[cell + 1, i, j] * share
    return value_range(on_plane, positive)


def merged(ranges: Sequence[Range]) -> Range:
    """Return the union of ranges."""
    return min((r[0] for r in ranges), default=math.inf), max(
        (r[1] for r in ranges), default=-math.inf
    )
