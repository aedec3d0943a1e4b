"""Paths through units, such that consecutive units are neighbours where possible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from uzushio.placement.machines.machine import Indices, Machine, Units

#: Maximum number of passes over the path.
_MAX_PASSES = 20


def shortest_path(machine: Machine, units: Units, available: Indices) -> Indices:
    """Return a short path through all units that have an available node, (units in use,).

    The shortest of the machine's own paths, with the missing units left out, is improved where
    consecutive units are not neighbours: a part of it is reversed (2-opt).

    Args:
        machine: nodes and network.
        units: units of the machine, with paths.
        available: nodes of the job.
    """
    used = np.zeros(units.unit.max() + 1, bool)
    used[units.unit[available]] = True
    # The node at the lowest position represents its unit, whether it is available or not.
    order = np.lexsort((units.inside[0], units.unit))
    numbers, first = np.unique(units.unit[order], return_index=True)
    node = np.zeros(len(used), np.int64)
    node[numbers] = order[first]

    def distance(position: Indices, other: Indices) -> Indices:
        return machine.hops(node[position], node[other])

    candidates = [path[used[path]] for path in units.paths]
    path = min(candidates, key=lambda candidate: int(distance(candidate[:-1], candidate[1:]).sum()))
    return _improved(path, distance)


def _improved(path: Indices, distance: Callable[[Indices, Indices], Indices]) -> Indices:
    """Return the path after 2-opt moves at its long steps, until none shortens it."""
    near = int(distance(path[:-1], path[1:]).min(initial=1 << 30))
    for _ in range(_MAX_PASSES):
        steps = distance(path[:-1], path[1:])
        shortened = False
        for start in np.flatnonzero(steps > near):
            shortened |= _reverse(path, int(start), distance)
        if not shortened:
            break
    return path


def _reverse(path: Indices, start: int, distance: Callable[[Indices, Indices], Indices]) -> bool:
    """Reverse the part beside the step from `start` that shortens the path most, if one does."""
    last = len(path) - 1
    here, after = path[start], path[start + 1]
    step = int(distance(here, after))
    # Reverse path[start + 1 : end + 1]; without a step after its end only one step is new.
    end = np.arange(start + 1, last + 1)
    old = np.where(end < last, distance(path[end], path[np.minimum(end + 1, last)]), 0)
    new = np.where(end < last, distance(after, path[np.minimum(end + 1, last)]), 0)
    gain_up = step + old - distance(here, path[end]) - new
    # Reverse path[begin : start + 1].
    begin = np.arange(start + 1)
    old = np.where(begin > 0, distance(path[begin - 1], path[begin]), 0)
    new = np.where(begin > 0, distance(path[begin - 1], here), 0)
    gain_down = step + old - distance(path[begin], after) - new
    up, down = int(np.argmax(gain_up)), int(np.argmax(gain_down))
    if max(gain_up[up], gain_down[down]) <= 0:
        return False
    if gain_up[up] >= gain_down[down]:
        part = slice(start + 1, int(end[up]) + 1)
    else:
        part = slice(int(begin[down]), start + 1)
    path[part] = path[part][::-1].copy()
    return True
