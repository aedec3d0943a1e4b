"""Visibility order of boxes of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uzushio.raycast.block import Cells, start_count
from uzushio.raycast.camera import Camera
from uzushio.raycast.layers import check_coordinates


def visibility_order(
    boxes: Sequence[Cells], coordinates: Sequence[ArrayLike], camera: Camera
) -> list[int]:
    """Return the indices of boxes of cells, front to back.

    No box hides an earlier one at any pixel. Boxes without cells are left out.

    Args:
        boxes: Global cells; no two overlap.
        coordinates: (z, y, x) of all points of the whole domain.
        camera: Camera of the picture.

    Raises:
        ValueError: Boxes overlap, or hide each other in a cycle, such as three interlocked bars.
    """
    domain = check_coordinates(coordinates, "the domain")
    extents = np.array([start_count(box) for box in boxes], dtype=np.int64).reshape(-1, 2, 3)
    extents[:, 1] += extents[:, 0]
    nonempty = [i for i in range(len(boxes)) if (extents[i, 1] > extents[i, 0]).all()]
    order: list[int] = []
    # Stack of groups to order; the front group is last.
    groups = [nonempty]
    while groups:
        group = groups.pop()
        if len(group) <= 1:
            order += group
            continue
        parts = _cut(extents[group], domain, camera)
        if parts is None:
            order += [group[i] for i in _sorted(extents[group], domain, camera)]
        else:
            groups += [[group[i] for i in part] for part in reversed(parts)]
    return order


def _side(axis: int, index: int, domain: Sequence[np.ndarray], camera: Camera) -> bool:
    """Return whether boxes below a plane of the mesh come before those above it."""
    if camera.parallel_height is not None:
        return bool(camera.axes[2][2 - axis] >= 0)
    return bool(camera.position[2 - axis] <= domain[axis][index])


def _cut(
    extents: np.ndarray, domain: Sequence[np.ndarray], camera: Camera
) -> list[list[int]] | None:
    """Separate boxes by parallel planes of the mesh that intersect none; front to back, or None."""
    for axis in range(3):
        begin, end = extents[:, 0, axis], extents[:, 1, axis]
        order = np.argsort(begin, kind="stable")
        reached = np.maximum.accumulate(end[order])
        free = np.flatnonzero(begin[order][1:] >= reached[:-1]) + 1
        if len(free) == 0:
            continue
        slabs = np.split(order, free)
        planes = [int(begin[order][i]) for i in free]
        below = [_side(axis, plane, domain, camera) for plane in planes]
        # Slabs below the camera's are ordered downwards, those above it upwards.
        own = sum(not b for b in below)
        front = [slabs[own], *slabs[own + 1 :], *slabs[:own][::-1]]
        return [[int(i) for i in slab] for slab in front]
    return None


def _sorted(extents: np.ndarray, domain: Sequence[np.ndarray], camera: Camera) -> list[int]:
    """Sort boxes that no plane separates, by pairwise comparison."""
    count = len(extents)
    before = np.zeros((count, count), dtype=bool)  # [a, b]: a must come before b
    for a in range(count):
        for b in range(a + 1, count):
            first, second = _pair(extents[a], extents[b], domain, camera)
            before[a, b], before[b, a] = first, second
    order: list[int] = []
    left = set(range(count))
    while left:
        free = [b for b in left if not any(before[a, b] for a in left)]
        if not free:
            raise ValueError("the boxes hide each other in a cycle; divide one of them in two")
        order.append(free[0])
        left.remove(free[0])
    return order


def _pair(
    a: np.ndarray, b: np.ndarray, domain: Sequence[np.ndarray], camera: Camera
) -> tuple[bool, bool]:
    """Return whether the first may hide the second, and the second the first."""
    first = second = True
    apart = False
    for axis in range(3):
        if a[1, axis] <= b[0, axis]:
            low = True
            plane = (int(a[1, axis]), int(b[0, axis]))
        elif b[1, axis] <= a[0, axis]:
            low = False
            plane = (int(b[1, axis]), int(a[0, axis]))
        else:
            continue
        apart = True
        # With the camera below both planes, the upper box cannot hide the lower one.
        sides = {_side(axis, index, domain, camera) for index in plane}
        if len(sides) == 2:
            first = second = False
        elif low == sides.pop():
            second = False
        else:
            first = False
    if not apart:
        raise ValueError("two boxes of cells overlap; every cell is drawn by one block")
    return first, second


def rounds(order: Sequence[int], owners: Sequence[int]) -> list[list[tuple[int, list[int]]]]:
    """Group a visibility order into rounds of compositing in which each owner appears once.

    Args:
        order: Indices of boxes, front to back.
        owners: The owner, such as a rank, of each box.

    Returns:
        Rounds, front to back: each a list of (owner, its boxes), front to back. There is one round
        if the boxes of each owner are consecutive in the order.
    """
    result: list[list[tuple[int, list[int]]]] = []
    last: int | None = None
    in_round: set[int] = set()
    for box in order:
        owner = owners[box]
        if owner == last:
            result[-1][-1][1].append(box)
            continue
        if not result or owner in in_round:
            result.append([])
            in_round = set()
        result[-1].append((owner, [box]))
        in_round.add(owner)
        last = owner
    return result
