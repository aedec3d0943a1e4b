"""Tori and meshes of any number of axes, with dimension-order routing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, permutations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import PlacementError
from uzushio.placement.machines.machine import Indices, Machine, Routes, Units

_NAMES = "xyzuvw"
#: Maximum number of orders of the axes of which paths are tried.
_MAX_ORDERS = 24


class Torus(Machine):
    """Torus or mesh: each node is connected to its two neighbours along each axis.

    A message passes the axes one after the other (dimension-order routing), along each the shorter
    way around, and upwards where both are equally long. Link 2 A n + 2 k + s leaves node n along
    axis k, upwards for s = 0.

    Args:
        shape: nodes along each axis.
        periodic: whether each axis is a torus; one value for all, or one for each axis.
        order: axes in the order in which a message passes them; None: from the first to the last.
        axes: names of the axes.

    Raises:
        PlacementError: sizes that are no such machine.
    """

    def __init__(
        self,
        shape: Sequence[int],
        periodic: bool | Sequence[bool] = True,
        order: Sequence[int] | None = None,
        axes: Sequence[str] | None = None,
    ) -> None:
        self.shape = tuple(int(n) for n in shape)
        count = len(self.shape)
        if count == 0 or min(self.shape) < 1:
            raise PlacementError(f"a torus or mesh has at least one node an axis, not {shape}.")
        around = (periodic,) * count if isinstance(periodic, bool) else tuple(periodic)
        if len(around) != count:
            raise PlacementError(
                f"each of the {count} axes is a torus or a mesh, but {len(around)} values say so."
            )
        self.periodic = around
        self.order = tuple(range(count)) if order is None else tuple(order)
        if sorted(self.order) != list(range(count)):
            raise PlacementError(f"the routing order {self.order} does not name each axis once.")
        self.axes = tuple(axes) if axes else tuple(_NAMES[:count])
        self.coordinates = np.indices(self.shape).reshape(count, -1).T.copy()
        self.links = 2 * count * self.size
        self._strides = np.array([prod(self.shape[k + 1 :]) for k in range(count)])

    def __str__(self) -> str:
        kind = "torus" if all(self.periodic) else "mesh"
        return f"the {' × '.join(map(str, self.shape))} {kind}"

    def hops(self, source: Indices, target: Indices) -> Indices:
        """Return the number of links of each route."""
        total = np.zeros(np.broadcast(source, target).shape, np.int64)
        for axis in range(len(self.shape)):
            start, end = self.coordinates[source, axis], self.coordinates[target, axis]
            total += np.abs(self._steps(axis, start, end))
        return total

    def routes(self, source: Indices, target: Indices) -> Routes:
        """Return the links of the routes."""
        here = source.astype(np.int64)
        messages, links = [], []
        for axis in self.order:
            start, end = self.coordinates[source, axis], self.coordinates[target, axis]
            steps = self._steps(axis, start, end)
            count = np.abs(steps)
            message = np.repeat(np.arange(len(source)), count)
            step = np.arange(len(message)) - np.repeat(np.cumsum(count) - count, count)
            place = (start[message] + np.sign(steps)[message] * step) % self.shape[axis]
            node = here[message] + (place - start[message]) * self._strides[axis]
            links.append(2 * len(self.shape) * node + 2 * axis + (steps[message] < 0))
            messages.append(message)
            here = here + (end - start) * self._strides[axis]
        return Routes(np.concatenate(messages), np.concatenate(links))

    def _steps(self, axis: int, start: Indices, end: Indices) -> Indices:
        """Return the signed number of links along an axis."""
        steps = end - start
        if not self.periodic[axis]:
            return steps
        size = self.shape[axis]
        around = steps % size
        return np.where(2 * around <= size, around, around - size)

    def link_kind(self) -> NDArray[np.str_]:
        """Return the axis of each link."""
        return np.tile(np.repeat(np.array(self.axes), 2), self.size)

    def graph(self) -> tuple[int, Indices]:
        """Return the nodes, and the pairs of neighbours."""
        pairs = []
        for axis, size in enumerate(self.shape):
            place = self.coordinates[:, axis]
            around = self.periodic[axis] and size > 2
            node = np.flatnonzero((place < size - 1) | around)
            step = np.where(place[node] < size - 1, 1, 1 - size) * self._strides[axis]
            pairs.append(np.stack([node, node + step], axis=1))
        return self.size, np.concatenate(pairs)

    def unit_shape(self, size: int) -> tuple[int, ...]:
        """Return the shape of units: the box of about `size` nodes that tiles the machine.

        Of all boxes whose edges divide those of the machine, those with the number of nodes nearest
        to `size` are compared by the mean distance of their nodes.
        """
        divisors = [[d for d in range(1, n + 1) if n % d == 0] for n in self.shape]
        boxes = [box for box in product(*divisors) if prod(box) <= size]
        most = max(prod(box) for box in boxes)
        return min((box for box in boxes if prod(box) == most), key=_mean_distance)

    def units(self, size: int) -> Units:
        """Return boxes of about `size` nodes, and snakes through them."""
        box = np.array(self.unit_shape(size))
        return snakes(self.coordinates // box, self.coordinates % box)


def snakes(places: Indices, inside: Indices) -> Units:
    """Return units at places of a grid, with snakes through them for each order of the axes.

    Args:
        places: coordinates of the unit of each node, (nodes, axes).
        inside: coordinates of each node inside of its unit, (nodes, axes).
    """
    counts = places.max(axis=0) + 1
    unit = np.ravel_multi_index(tuple(places.T), tuple(counts))
    grid = np.indices(tuple(counts)).reshape(len(counts), -1)
    wide = [axis for axis in range(len(counts)) if counts[axis] > 1]
    paths = [_snake(grid, order) for order in islice(permutations(wide), _MAX_ORDERS)]
    sizes = inside.max(axis=0) + 1
    slowest = [axis for axis in range(len(sizes)) if sizes[axis] > 1] or [0]
    within = []
    for axis in slowest:
        order = [axis, *(k for k in range(len(sizes)) if k != axis)]
        within.append(np.ravel_multi_index(tuple(inside.T[order]), tuple(sizes[order])))
    return Units(unit, within, paths)


def _snake(grid: Indices, order: tuple[int, ...]) -> Indices:
    """Return the order of grid points along a snake, whose first axis is the slowest."""
    position = np.zeros(grid.shape[1], np.int64)
    for axis in order:  # the direction turns with each step along a slower axis
        last = int(grid[axis].max())
        along = np.where(position % 2 == 1, last - grid[axis], grid[axis])
        position = position * (last + 1) + along
    return np.argsort(position)


def _mean_distance(box: tuple[int, ...]) -> float:
    """Return the mean distance of two nodes of a mesh, the same node included."""
    return sum((n * n - 1) / (3 * n) for n in box)
