"""Trees of switches with named nodes, as Slurm describes networks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import PlacementError
from uzushio.placement.machines.machine import Indices, Machine, Routes, Units

_RANGE = re.compile(r"(\d+)-(\d+)")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
#: Name of the switch above those without a parent.
_ROOT = ""


class SwitchTree(Machine):
    """Tree of switches: each node and each switch has one link to its parent, and one back.

    Args:
        nodes: names of the nodes, in the launcher's order.
        parents: name of the switch above each node and switch; one without a parent is below a
            common root.

    Raises:
        PlacementError: switches that are above each other, or no nodes.
    """

    def __init__(self, nodes: Sequence[str], parents: dict[str, str]) -> None:
        if not nodes:
            raise PlacementError("the description of the network has no nodes.")
        self.node_names = tuple(nodes)
        lines = [_line_to_root(name, parents) for name in nodes]
        depth = max(map(len, lines))
        known: dict[str, int] = {}
        #: Vertex at each level below the root, (nodes, levels), -1 where a line has ended.
        self._line = np.full((len(nodes), depth), -1)
        for row, line in zip(self._line, lines, strict=True):
            row[: len(line)] = [known.setdefault(name, len(known)) for name in line]
        self._length = np.array([len(line) for line in lines])
        self._vertices = tuple(known)
        switch = [parents.get(name, _ROOT) for name in nodes]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(switch))}
        leaf = np.array([numbers[name] for name in switch])
        place = [int((leaf[:number] == leaf[number]).sum()) for number in range(len(nodes))]
        self.coordinates = np.stack([leaf, np.array(place)], axis=1)
        self.axes = ("switch", "node")
        self.links = 2 * len(known)

    def __str__(self) -> str:
        return f"the tree of switches with {self.size} nodes"

    def _common(self, source: Indices, target: Indices) -> Indices:
        """Return the number of common vertices of the lines from the root."""
        same = (self._line[source] == self._line[target]) & (self._line[source] >= 0)
        count: Indices = np.cumprod(same, axis=-1).sum(axis=-1)
        return count

    def hops(self, source: Indices, target: Indices) -> Indices:
        """Return the number of links of each route."""
        source, target = np.broadcast_arrays(source, target)
        apart: Indices = self._length[source] + self._length[target]
        return apart - 2 * self._common(source, target)

    def routes(self, source: Indices, target: Indices) -> Routes:
        """Return the links of the routes: those upwards, then those downwards."""
        common = self._common(source, target)
        messages, links = [], []
        for level in range(self._line.shape[1]):
            for end, downwards in ((source, 0), (target, 1)):
                message = np.flatnonzero((level >= common) & (level < self._length[end]))
                messages.append(message)
                links.append(2 * self._line[end[message], level] + downwards)
        return Routes(np.concatenate(messages), np.concatenate(links))

    def graph(self) -> tuple[int, Indices]:
        """Return nodes and switches, and their pairs."""
        number = np.full(len(self._vertices) + 1, -1)
        leaf = self._line[np.arange(self.size), self._length - 1]
        number[leaf] = np.arange(self.size)
        others = np.flatnonzero(number[:-1] < 0)
        number[others] = self.size + np.arange(len(others))
        pairs = {
            (int(number[row[level]]), int(number[row[level - 1]]))
            for row, length in zip(self._line, self._length, strict=True)
            for level in range(1, length)
        }
        return len(self._vertices), np.array(sorted(pairs))

    def units(self, size: int) -> Units:
        """Return the nodes of each leaf switch, and the switches in the order of the tree."""
        leaf, place = self.coordinates.T
        path = list(dict.fromkeys(leaf[np.lexsort(self._line.T[::-1])]))
        return Units(leaf, [place], [np.array(path)])

    def link_kind(self) -> NDArray[np.str_]:
        """Return the direction of each link, and whether it is one of a node or a switch."""
        nodes = set(self.node_names or ())
        kinds = ["node" if name in nodes else "switch" for name in self._vertices]
        return np.array([f"{kind} {way}" for kind in kinds for way in ("up", "down")])


def _line_to_root(name: str, parents: dict[str, str]) -> list[str]:
    line = [name]
    while (above := parents.get(line[-1])) is not None:
        if above in line:
            raise PlacementError(f"the switch {above!r} is below itself.")
        line.append(above)
    return line[::-1]


def read_slurm(text: str) -> SwitchTree:
    """Return the network of a `topology.conf` or of the output of `scontrol show topology`.

    Raises:
        PlacementError: the text describes no switches, or a node or switch is below two switches
            that are not above each other.
    """
    below: dict[str, list[str]] = {}
    nodes: dict[str, None] = {}
    for line in text.splitlines():
        keys = {
            key.lower(): value
            for key, _, value in (word.partition("=") for word in line.partition("#")[0].split())
        }
        name = keys.get("switchname") or keys.get("blockname")
        if name is None:
            continue
        switches = expand(keys.get("switches", ""))
        own = expand(keys.get("nodes", ""))
        below[name] = switches or own  # scontrol repeats the nodes of lower switches
        if not switches:
            nodes.update(dict.fromkeys(own))
    if not nodes:
        raise PlacementError(
            "the text names no switch with nodes (SwitchName=… Nodes=…); give Slurm's "
            "topology.conf or the output of scontrol show topology."
        )
    parents: dict[str, str] = {}
    for switch, children in below.items():
        for child in children:
            if parents.setdefault(child, switch) != switch:
                raise PlacementError(
                    f"{child!r} is below the switches {parents[child]!r} and {switch!r}; a tree "
                    "has one switch above each."
                )
    return SwitchTree(list(nodes), parents)


def expand(hosts: str) -> list[str]:
    """Return the names of a host list of Slurm, such as `tux[0-3,07],login`.

    Raises:
        PlacementError: brackets that are not closed, or no range inside.
    """
    names: list[str] = []
    for word in re.split(r",(?![^\[]*\])", hosts):
        if not word:
            continue
        texts = _BRACKET.split(word)
        if any(mark in text for text in texts for mark in "[]"):
            raise PlacementError(f"the host list {hosts!r} has a bracket that is not closed.")
        choices = [
            list(_numbers(text, hosts)) if index % 2 else [text] for index, text in enumerate(texts)
        ]
        names += map("".join, product(*choices))
    return names


def _numbers(ranges: str, hosts: str) -> Iterator[str]:
    for part in ranges.split(","):
        if match := _RANGE.fullmatch(part):
            low, high = match.groups()
            yield from (str(n).zfill(len(low)) for n in range(int(low), int(high) + 1))
        elif part.isdigit():
            yield part
        else:
            raise PlacementError(f"the host list {hosts!r} has {part!r} where a number belongs.")
