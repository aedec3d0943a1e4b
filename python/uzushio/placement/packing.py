"""Packing: each group in a unit or the fewest adjacent ones, groups along a path of units."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from uzushio.placement.assignment import assign
from uzushio.placement.machines.machine import Indices, Machine, Units
from uzushio.placement.paths import shortest_path
from uzushio.placement.patterns import Pattern

#: Nodes of the largest group whose positions are aligned with those of the group before.
_MAX_ALIGNED = 256


def packings(
    machine: Machine, available: Indices, pattern: Pattern, per_node: int
) -> Iterator[Indices]:
    """Yield placements, node of each rank (ranks,), that pack groups along a path of units.

    A pattern without groups is packed as one of groups of a node.

    Args:
        machine: nodes and network.
        available: nodes of the job.
        pattern: messages of the job.
        per_node: ranks of a node.
    """
    group = pattern.group or per_node
    units = machine.units(-(-group // per_node))
    path = shortest_path(machine, units, available)
    needed = -(-pattern.ranks // per_node)
    for inside, turning in product(units.inside, (True, False)):
        nodes = order_of_nodes(units, inside, path, available, turning)[:needed]
        whole = pattern.group is not None and group % per_node == 0
        size = group // per_node
        if whole:
            nodes = align(machine, nodes, size)
        yield np.repeat(nodes, per_node)[: pattern.ranks]
        if whole and _one_group_a_unit(units, nodes, size):
            return  # the order of the nodes of a unit does not matter


def order_of_nodes(
    units: Units, inside: Indices, path: Indices, available: Indices, turning: bool
) -> Indices:
    """Return the available nodes along the path.

    Args:
        units: units of the machine.
        inside: position of each node in its unit, (nodes,).
        path: order of the units, (units in use,).
        available: nodes of the job.
        turning: reverse the order of the nodes of each second unit. A group that continues in the
            next unit then has the same part of both, so its nodes are closer to each other, and
            further from those of the same position in the next group.
    """
    position = np.zeros(units.unit.max() + 1, np.int64)
    position[path] = np.arange(len(path))
    at = position[units.unit[available]]
    within = inside[available]
    reverse = turning & (at % 2 == 1)
    return available[np.lexsort((np.where(reverse, -within, within), at))]


def _one_group_a_unit(units: Units, nodes: Indices, group: int) -> bool:
    """Return whether each unit has one group of consecutive nodes, and no other."""
    if len(nodes) % group:
        return False
    rows = units.unit[nodes].reshape(-1, group)
    return bool((rows == rows[:, :1]).all()) and len(np.unique(rows[:, 0])) == len(rows)


def align(machine: Machine, nodes: Indices, group: int) -> Indices:
    """Return the nodes with those of each group in the order of the group before.

    Each node sends to the node of the same position in the next group: the sum of these hops is
    minimised, group by group.

    Args:
        machine: nodes and network.
        nodes: nodes of the groups, one group after the other, (nodes,).
        group: nodes of a group.
    """
    if not 1 < group <= _MAX_ALIGNED or len(nodes) < 2 * group:
        return nodes
    rows = nodes[: len(nodes) // group * group].reshape(-1, group)
    if (machine.hops(rows[:-1], rows[1:]) <= 1).all():
        return nodes
    placed = nodes.copy()
    for first in range(group, len(nodes) - group + 1, group):
        before, here = placed[first - group : first], placed[first : first + group]
        costs = machine.hops(before[:, None], here[None, :]).astype(float)
        placed[first : first + group] = here[assign(costs)]
    return placed
