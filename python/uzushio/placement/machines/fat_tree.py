"""Fat trees with deterministic routing by the destination."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import PlacementError
from uzushio.placement.machines.machine import Indices, Machine, Routes, Units


class FatTree(Machine):
    """Extended generalised fat tree: nodes at the leaves, switches above.

    A switch of level l has `down[l - 1]` children, and a node or switch of level l - 1 has
    `up[l - 1]` parents. `down=(16, 8), up=(1, 4)` has leaf switches of 16 nodes and 4 uplinks, so
    their bandwidth is oversubscribed four times. A message goes up to the first common ancestors;
    its destination selects the parent at each level (D-mod-k routing).
    E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life
    fat trees", CCIT report 776, Technion, 2010.

    Args:
        down: children of a switch at each level, from the leaf switches to the root.
        up: parents of a node or switch at each level; None: one each, a tree.

    Raises:
        PlacementError: sizes that are no such machine.
    """

    def __init__(self, down: Sequence[int], up: Sequence[int] | None = None) -> None:
        self.down = tuple(int(n) for n in down)
        self.up = (1,) * len(self.down) if up is None else tuple(int(n) for n in up)
        if (
            not self.down
            or min(self.down) < 1
            or len(self.up) != len(self.down)
            or min(self.up) < 1
        ):
            raise PlacementError(
                f"a fat tree has children and parents at each level, at least one each, not "
                f"{down} and {up}."
            )
        levels = range(len(self.down))
        #: Nodes below a switch of level l + 1.
        self._below = np.array([prod(self.down[: level + 1]) for level in levels])
        number = np.arange(prod(self.down))
        self.coordinates = np.stack(
            [number // prod(self.down[:level]) % self.down[level] for level in reversed(levels)],
            axis=1,
        )
        self.axes = tuple(f"level {level + 1}" for level in reversed(levels))
        #: Links between the levels l and l + 1, in one direction.
        self._level_links = [
            len(number) // prod(self.down[:level]) * prod(self.up[: level + 1]) for level in levels
        ]
        self.links = 2 * sum(self._level_links)

    def __str__(self) -> str:
        return f"the fat tree of {self.size} nodes ({' × '.join(map(str, self.down))})"

    def hops(self, source: Indices, target: Indices) -> Indices:
        """Return the number of links of each route: twice the level of the common ancestors."""
        total = np.zeros(np.broadcast(source, target).shape, np.int64)
        total += 2 * (source != target)
        for below in self._below[:-1]:
            total += 2 * (source // below != target // below)
        return total

    def routes(self, source: Indices, target: Indices) -> Routes:
        """Return the links of the routes: those upwards, then those downwards."""
        messages, links = [], []
        first, chosen, width = 0, np.zeros(len(source), np.int64), 1
        for level, (parents, count) in enumerate(zip(self.up, self._level_links, strict=True)):
            below = 1 if level == 0 else self._below[level - 1]
            message = np.flatnonzero(source // below != target // below)
            digit = target // width % parents
            for end, offset in ((source, first), (target, first + count)):
                child = (end // below * width + chosen) * parents + digit
                links.append(offset + child[message])
                messages.append(message)
            chosen = chosen * parents + digit
            width *= parents
            first += 2 * count
        return Routes(np.concatenate(messages), np.concatenate(links))

    def graph(self) -> tuple[int, Indices]:
        """Return nodes and switches, and their pairs."""
        pairs, base = [], 0
        for level, (parents, count) in enumerate(zip(self.up, self._level_links, strict=True)):
            link = np.arange(count)
            child, parent = link // parents, link % parents
            width = prod(self.up[:level])
            above = base + count // parents
            group = child // width // self.down[level]
            switch = (group * width + child % width) * parents + parent
            pairs.append(np.stack([base + child, above + switch], axis=1))
            base = above
        return int(pairs[-1].max()) + 1, np.concatenate(pairs)

    def units(self, size: int) -> Units:
        """Return the nodes of each leaf switch, in the order of the switches."""
        number = np.arange(self.size)
        leaf = number // self.down[0]
        return Units(leaf, [number % self.down[0]], [np.arange(leaf[-1] + 1)])

    def link_kind(self) -> NDArray[np.str_]:
        """Return the level and direction of each link."""
        names = []
        for level, count in enumerate(self._level_links):
            names += [f"level {level + 1} up"] * count + [f"level {level + 1} down"] * count
        return np.array(names)
