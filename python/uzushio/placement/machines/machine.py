"""Base of all machines: nodes, directed links, and the route of a message over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import PlacementError

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Maximum number of messages whose routes are held at a time.
_CHUNK = 1 << 19


@dataclass(frozen=True)
class Units:
    """Partition of the nodes into units of nodes that are close to each other.

    Attributes:
        unit: unit of each node, (nodes,).
        inside: orders of the nodes of a unit, each as positions (nodes,).
        paths: orders of the units, each (units,); consecutive units should be neighbours.
    """

    unit: Indices
    inside: list[Indices]
    paths: list[Indices]


@dataclass(frozen=True)
class Routes:
    """Links of the routes of messages.

    Attributes:
        message: index of the message of each entry, (entries,).
        link: index of the link of each entry, (entries,).
    """

    message: Indices
    link: Indices


class Machine(ABC):
    """Nodes of a machine and the network that connects them.

    Nodes and links are numbered from 0. A link has one direction. The route of a message is fixed
    by its ends, as with deterministic routing.

    Attributes:
        coordinates: integers that identify each node, (nodes, axes).
        axes: names of the coordinates.
        links: number of links.
        node_names: names that the launcher uses; None: it uses coordinates.
    """

    coordinates: Indices
    axes: tuple[str, ...]
    links: int
    node_names: tuple[str, ...] | None = None

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.coordinates)

    @abstractmethod
    def routes(self, source: Indices, target: Indices) -> Routes:
        """Return the links of the routes from `source` to `target`, nodes (messages,)."""

    @abstractmethod
    def hops(self, source: Indices, target: Indices) -> Indices:
        """Return the number of links of each route; arrays of nodes are broadcast."""

    @abstractmethod
    def units(self, size: int) -> Units:
        """Return the units of the machine, and paths through them.

        Args:
            size: number of nodes that should be in a unit, where the machine leaves a choice.
        """

    @abstractmethod
    def link_kind(self) -> NDArray[np.str_]:
        """Return the name of each link's kind, such as its axis, (links,)."""

    @abstractmethod
    def graph(self) -> tuple[int, Indices]:
        """Return the number of vertices and the pairs of connected ones, (pairs, 2), each once.

        The first vertices are the nodes; switches and routers follow.
        """

    def default_order(self) -> Indices:
        """Return the nodes in the order in which a launcher fills them, (nodes,)."""
        return np.arange(self.size)

    def loads(self, source: Indices, target: Indices, sent: Floats) -> Floats:
        """Return the bytes that cross each link, (links,).

        Args:
            source: nodes, (messages,).
            target: nodes, (messages,).
            sent: bytes of each message, (messages,).
        """
        total = np.zeros(self.links)
        for first in range(0, len(source), _CHUNK):
            part = slice(first, first + _CHUNK)
            routes = self.routes(source[part], target[part])
            weights = sent[part][routes.message]
            total += np.bincount(routes.link, weights, minlength=self.links)
        return total

    def node_at(self, coordinates: Indices) -> Indices:
        """Return the nodes with these coordinates, (nodes, axes) to (nodes,).

        Raises:
            PlacementError: no node has these coordinates.
        """
        wanted = np.atleast_2d(coordinates)
        if wanted.ndim != 2 or wanted.shape[1] != len(self.axes):
            raise PlacementError(
                f"a node of {self} has {len(self.axes)} coordinates ({', '.join(self.axes)}), "
                f"not {wanted.shape[-1]}."
            )
        low, high = self.coordinates.min(axis=0), self.coordinates.max(axis=0)
        inside = ((wanted >= low) & (wanted <= high)).all(axis=1)
        shape = tuple(high - low + 1)
        index = np.full(int(np.prod(shape)), -1)
        index[np.ravel_multi_index(tuple((self.coordinates - low).T), shape)] = np.arange(self.size)
        nodes = np.full(len(wanted), -1)
        nodes[inside] = index[np.ravel_multi_index(tuple((wanted[inside] - low).T), shape)]
        if (nodes < 0).any():
            first = int(np.argmax(nodes < 0))
            raise PlacementError(
                f"{self} has no node {tuple(map(int, wanted[first]))} "
                f"({', '.join(self.axes)}; line {first + 1} of the coordinates)."
            )
        return nodes
