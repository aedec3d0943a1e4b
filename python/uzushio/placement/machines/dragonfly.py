"""Dragonflies: groups of routers that are all connected, with minimal routing.

J. Kim, W. Dally, S. Scott and D. Abts, "Technology-driven, highly-scalable dragonfly topology",
ISCA 2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import PlacementError
from uzushio.placement.machines.machine import Indices, Machine, Routes, Units


class Dragonfly(Machine):
    """Dragonfly: nodes at routers; all routers of a group, and all groups, are connected.

    A message passes its router, the router with the link to the other group, that link, the router
    at its other end and the router of the target. It has at most one global link. Global port k of
    a group leads to the group at distance k modulo (groups - 1) + 1; of several links between two
    groups, the sum of source and target selects one.

    Args:
        groups: number of groups.
        routers: routers of a group.
        nodes: nodes of a router.
        ports: global links of a router; None: as few as connect all groups.

    Raises:
        PlacementError: sizes that are no such machine.
    """

    axes = ("group", "router", "node")

    def __init__(self, groups: int, routers: int, nodes: int, ports: int | None = None) -> None:
        if min(groups, routers, nodes) < 1:
            raise PlacementError("a dragonfly has at least one group, router and node at a router.")
        self.groups, self.routers, self.nodes = groups, routers, nodes
        self.ports = -(-(groups - 1) // routers) if ports is None else ports
        if self.ports * routers < groups - 1:
            raise PlacementError(
                f"{routers} routers with {self.ports} global links each do not connect {groups} "
                f"groups; at least {groups - 1} links are needed."
            )
        self.coordinates = np.indices((groups, routers, nodes)).reshape(3, -1).T.copy()
        total = groups * routers
        #: First link of each kind: from nodes, to nodes, within groups, between groups.
        self._first = np.cumsum([0, self.size, self.size, total * routers, total * self.ports])
        self.links = int(self._first[-1])

    def __str__(self) -> str:
        return f"the dragonfly of {self.groups} groups of {self.routers} × {self.nodes} nodes"

    def hops(self, source: Indices, target: Indices) -> Indices:
        """Return the number of links of each route."""
        start, end = source // self.nodes, target // self.nodes
        leave, _, enter = self._global(source, target)
        other = start // self.routers != end // self.routers
        between = np.where(other, 1 + (leave != start) + (enter != end), start != end)
        return np.where(source == target, 0, 2 + between)

    def routes(self, source: Indices, target: Indices) -> Routes:
        """Return the links of the routes."""
        start, end = source // self.nodes, target // self.nodes
        leave, port, enter = self._global(source, target)
        other = start // self.routers != end // self.routers
        from_nodes, to_nodes, local, between, _ = self._first
        used = [
            (source != target, from_nodes + source),
            (source != target, to_nodes + target),
            (~other & (start != end), local + start * self.routers + end % self.routers),
            (other & (leave != start), local + start * self.routers + leave % self.routers),
            (other, between + port),
            (other & (enter != end), local + enter * self.routers + end % self.routers),
        ]
        return Routes(
            np.concatenate([np.flatnonzero(mask) for mask, _ in used]),
            np.concatenate([link[mask] for mask, link in used]),
        )

    def _global(self, source: Indices, target: Indices) -> tuple[Indices, Indices, Indices]:
        """Return the router that a route leaves its group at, the link, the router it enters at."""
        size = self.routers * self.nodes
        start, end = source // size, target // size
        distance = (end - start) % self.groups
        if self.groups == 1:
            return source // self.nodes, start, target // self.nodes
        copies = self.routers * self.ports // (self.groups - 1)
        copy = (source + target) % copies * (self.groups - 1)
        port = np.maximum(distance - 1, 0) + copy
        back = np.maximum(self.groups - distance - 1, 0) % (self.groups - 1) + copy
        width = self.routers * self.ports
        leave = start * self.routers + port // self.ports
        enter = end * self.routers + back // self.ports
        return leave, start * width + port, enter

    def graph(self) -> tuple[int, Indices]:
        """Return nodes and routers, and their pairs."""
        node, total = np.arange(self.size), self.groups * self.routers
        router, other = np.triu_indices(self.routers, 1)
        first = np.arange(0, total, self.routers)[:, None]
        pairs = [
            np.stack([node, self.size + node // self.nodes], axis=1),
            self.size + np.stack([(first + router).ravel(), (first + other).ravel()], axis=1),
        ]
        if self.groups > 1:
            start, end = np.triu_indices(self.groups, 1)
            width = self.routers * self.nodes
            for copy in range(self.routers * self.ports // (self.groups - 1)):
                source = start * width
                target = end * width + (copy - source - end * width) % max(1, width)
                leave, _, enter = self._global(source, target)
                pairs.append(self.size + np.stack([leave, enter], axis=1))
        return self.size + total, np.concatenate(pairs)

    def units(self, size: int) -> Units:
        """Return the groups of routers, and two orders of the nodes of each.

        In the first order, consecutive nodes are at different routers: each pair of routers has a
        link of its own, so the messages among few nodes share no link. In the second one they
        are at the same router.
        """
        group, router, node = self.coordinates.T
        spread, packed = node * self.routers + router, router * self.nodes + node
        return Units(group, [spread, packed], [np.arange(self.groups)])

    def link_kind(self) -> NDArray[np.str_]:
        """Return whether each link is one of a node, within a group, or between groups."""
        names = ["from node", "to node", "within group", "between groups"]
        return np.repeat(np.array(names), np.diff(self._first))
