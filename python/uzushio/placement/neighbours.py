"""Nodes near a node, drawn at random."""

from __future__ import annotations

import numpy as np

from uzushio.placement.machines.machine import Indices, Machine

#: Nodes of a unit, where the machine leaves a choice, and units near a unit.
_UNIT, _UNITS = 12, 7
#: Units compared at a time.
_ROWS = 256


class Neighbours:
    """Available nodes of the same unit and of the nearest ones.

    Args:
        machine: nodes and network.
        available: nodes of the job.
    """

    def __init__(self, machine: Machine, available: Indices) -> None:
        numbers, unit = np.unique(machine.units(_UNIT).unit[available], return_inverse=True)
        self._unit_of_node = np.full(machine.size, -1)
        self._unit_of_node[available] = unit
        self._nodes = available[np.argsort(unit, kind="stable")]
        self._count = np.bincount(unit, minlength=len(numbers))
        self._first = np.cumsum(self._count) - self._count
        representative = self._nodes[self._first]
        near = min(_UNITS, len(numbers))
        rows = []
        for first in range(0, len(numbers), _ROWS):
            part = representative[first : first + _ROWS]
            hops = machine.hops(part[:, None], representative[None, :])
            hops[np.arange(len(part)), first + np.arange(len(part))] = -1
            rows.append(np.argpartition(hops, near - 1, axis=1)[:, :near])
        self._near = np.concatenate(rows)

    def draw(self, nodes: Indices, random: np.random.Generator) -> Indices:
        """Return for each node one in its unit or in one of the nearest units, (nodes,)."""
        unit = self._unit_of_node[nodes]
        unit = self._near[unit, random.integers(0, self._near.shape[1], len(nodes))]
        drawn: Indices = self._nodes[self._first[unit] + random.integers(0, self._count[unit])]
        return drawn
