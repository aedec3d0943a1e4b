"""Packing: each group in a unit or the fewest adjacent ones, groups along a path of units."""

from __future__ import annotations

from collections.abc import Iterator

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
    for inside in units.inside:
        along = order_of_nodes(units, inside, path, available)
        if pattern.group is None or group % per_node:
            yield np.repeat(along[:needed], per_node)[: pattern.ranks]
            continue
        size = group // per_node
        for nodes in (along, whole_units_first(units, along, size)):
            placed = align(machine, nodes[:needed], size)
            yield np.repeat(placed, per_node)[: pattern.ranks]
            if nodes is along and size > 1 and _unbroken(units, along, size):
                break  # no group is in two units, so the second order is the same


def order_of_nodes(units: Units, inside: Indices, path: Indices, available: Indices) -> Indices:
    """Return the available nodes along the path.

    In each second unit the order of its nodes is reversed, so that a group that continues in the
    next unit has the same part of both.
    """
    position = np.zeros(units.unit.max() + 1, np.int64)
    position[path] = np.arange(len(path))
    at = position[units.unit[available]]
    within = inside[available]
    return available[np.lexsort((np.where(at % 2 == 1, -within, within), at))]


def whole_units_first(units: Units, along: Indices, group: int) -> Indices:
    """Return the nodes in an order where units are cut into whole groups, as far as they have some.

    Along a path, one missing node lets all later groups lie in two units. Here, the remaining nodes
    of all units make up groups of their own, which take their place along the path by their median.

    Args:
        units: units of the machine.
        along: nodes along a path, unit by unit, (nodes,).
        group: nodes of a group.
    """
    _, first, number, count = np.unique(
        units.unit[along], return_index=True, return_inverse=True, return_counts=True
    )
    whole = np.arange(len(along)) - first[number] < count[number] // group * group
    kept, rest = np.flatnonzero(whole), np.flatnonzero(~whole)
    in_groups = len(rest) // group * group
    rows = np.concatenate([kept, rest[:in_groups]]).reshape(-1, group)
    rows = rows[np.argsort(np.median(rows, axis=1), kind="stable")]
    return along[np.concatenate([rows.ravel(), rest[in_groups:]])]


def _unbroken(units: Units, along: Indices, group: int) -> bool:
    """Return whether no group of consecutive nodes is in several units."""
    rows = units.unit[along[: len(along) // group * group]].reshape(-1, group)
    return bool((rows == rows[:, :1]).all())


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
