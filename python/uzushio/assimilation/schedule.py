"""Checkpointing schedules: states of a forward run that are stored, and those that are recomputed.

The adjoint runs backwards and needs the state at each of its steps. If all states fit into memory,
one forward run is enough. Else some states are stored as snapshots. A *window* of consecutive
states is recomputed from the nearest snapshot for a backward sweep, and its memory is reused for
the next window. The optimal positions of snapshots are known for windows of one state (A. Griewank,
A. Walther, Algorithm 799: revolve, ACM TOMS 26 (2000)). Here the same recursion is solved for
windows of any length, and the best length is chosen. The adjoint of a step needs only the state
before it, so a stored state serves both as a start and for the adjoint (as in J. R. Maddison,
Step-based checkpointing with high-level algorithmic differentiation, J. Comput. Sci. 82 (2024)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np

#: Maximum number of planned units; in longer runs a unit is several steps, to limit planning time.
_UNITS = 256
#: Number of window lengths that are tried.
_TRIED = 16


class ScheduleAction(Enum):
    """Kind of an entry of a schedule."""

    ADVANCE = "advance"  #: compute steps, store nothing
    RECORD = "record"  #: compute steps, store the states before them in the window
    REVERSE = "reverse"  #: sweep the adjoint back through the window
    STORE = "store"  #: store the state in a slot
    RESTORE = "restore"  #: restore the state of a slot; slot 0 is the initial state


@dataclass(frozen=True)
class ScheduleEntry:
    """An action over the steps [first, last), or with a slot and the state `first`."""

    action: ScheduleAction
    first: int
    last: int = 0
    slot: int = 0


@dataclass(frozen=True)
class CheckpointingPlan:
    """Checkpointing schedule. Steps that an adjoint recomputes inside a window are not counted.

    Attributes:
        steps: steps of the run.
        snapshots: maximum number of stored states besides the initial one.
        window: number of states in the window.
        forward_steps: total of steps that a forward run and its adjoint compute.
        appends: whether a window's last state is appended; else one more step is computed to store
            it.
    """

    steps: int
    snapshots: int
    window: int
    forward_steps: int
    appends: bool = True

    def actions(self) -> Iterator[ScheduleEntry]:
        """Yield the entries in order.

        The entries before the first `REVERSE` are the forward run.
        """
        table = _Table(self.steps, self.window, self.snapshots, self.appends)
        yield from self._reverse(0, self.steps, table, 0)

    def _reverse(self, first: int, last: int, table: _Table, slot: int) -> Iterator[ScheduleEntry]:
        """Yield the entries for the adjoint from `last` to `first`, the state in `slot`."""
        free = self.snapshots - slot
        while last - first > self.window:
            split = first + table.split(last - first, free)
            yield ScheduleEntry(ScheduleAction.ADVANCE, first, split)
            if free:
                yield ScheduleEntry(ScheduleAction.STORE, split, slot=slot + 1)
                yield from self._reverse(split, last, table, slot + 1)
            else:
                yield ScheduleEntry(ScheduleAction.RECORD, split, last)
                yield ScheduleEntry(ScheduleAction.REVERSE, split, last)
            yield ScheduleEntry(ScheduleAction.RESTORE, first, slot=slot)
            last = split
        yield ScheduleEntry(ScheduleAction.RECORD, first, last)
        yield ScheduleEntry(ScheduleAction.REVERSE, first, last)


def plan(
    steps: int,
    states: int,
    snapshot_cost: int = 1,
    window_cost: int = 1,
    appends: bool = True,
    every: int = 1,
) -> CheckpointingPlan:
    """Return the schedule with the minimum of forward steps.

    Args:
        steps: steps of the run.
        states: number of states that fit into memory.
        snapshot_cost: states per snapshot (2 if tangents are stored too).
        window_cost: states per step of the window.
        appends: whether a state can be appended to a window.
        every: interval of stored states in a window, in steps.

    Raises:
        ValueError: a window of one step does not fit.
    """
    if states < window_cost:
        raise ValueError(f"{states} states do not fit a window of one step")
    longest = min(steps, states // window_cost * every)
    if longest == steps:
        return CheckpointingPlan(steps, 0, steps, steps, appends)
    candidates: list[tuple[int, int, int]] = []
    unit = min(_unit(steps), longest)
    for window in sorted({max(1, round(longest * i / _TRIED / unit)) for i in range(_TRIED + 1)}):
        window = min(window * unit, longest)
        # More snapshots than windows are useless.
        taken = -(-window // every) * window_cost
        free = min((states - taken) // snapshot_cost, -(-steps // window))
        computed = _Table(steps, window, free, appends).cost(steps, free) + appends
        candidates.append((computed, -window, free))
    computed, window, snapshots = min(candidates)
    return CheckpointingPlan(steps, snapshots, -window, computed, appends)


class _Table:
    """Minimum of forward steps for each part of a run, and its first split."""

    def __init__(self, steps: int, window: int, free: int, appends: bool) -> None:
        self._window, self._saved = window, int(appends)
        self._unit = _unit(steps)
        self._cost, self._split = _table(
            -(-steps // self._unit), max(1, window // self._unit), free, self._saved
        )

    def split(self, count: int, free: int) -> int:
        """Return the position of the next snapshot in `count` steps, or else of the window."""
        if free == 0:
            return count - self._window
        units = -(-count // self._unit)
        best = int(self._split[free, units])
        return max(count - (units - best) * self._unit, 1)

    def cost(self, count: int, free: int) -> int:
        """Return the steps to compute for the adjoint of `count` steps, from the first state."""
        if self._unit == 1:
            return int(self._cost[free, count])
        total = 0
        while count > self._window:
            split = self.split(count, free)
            total += split
            total += self.cost(count - split, free - 1) if free else count - split - self._saved
            count = split
        return total + count - self._saved


def _unit(steps: int) -> int:
    """Return the number of steps in a planned unit."""
    return -(-steps // _UNITS)


@lru_cache(maxsize=64)
def _table(count: int, window: int, free: int, saved: int) -> tuple[np.ndarray, np.ndarray]:
    """Return minimal forward steps C[s, n] for n steps with s free slots, and the first splits."""
    cost = np.zeros((free + 1, count + 1), dtype=np.int64)
    split = np.zeros_like(cost)
    n = np.arange(count + 1)
    cost[:, 1 : window + 1] = n[1 : window + 1] - saved
    for m in range(window + 1, count + 1):
        cost[0, m] = m - saved + cost[0, m - window]
    for s in range(1, free + 1):
        for m in range(window + 1, count + 1):
            each = n[1:m] + cost[s - 1, m - n[1:m]] + cost[s, 1:m]
            split[s, m] = 1 + int(np.argmin(each))
            cost[s, m] = each[split[s, m] - 1]
    return cost, split
