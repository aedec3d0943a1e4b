"""Which states of a forward run are kept for its adjoint, and which are computed again.

The adjoint runs backwards and needs the state at each of its steps. With memory for all of them,
one forward run does. With less, some are kept as snapshots to start from again, and a *window* of
consecutive states is computed from the nearest one, gone through backwards, and used for the next
window. Where to put snapshots so that the fewest steps are computed is known for windows of one
state (A. Griewank, A. Walther, Algorithm 799: revolve, ACM TOMS 26 (2000)); here the same
recursion is solved for windows of any length, and the best length is taken. The adjoint of a step
needs the state before it and nothing else, so a kept state serves both as a start and to the
adjoint (as in J. R. Maddison, Step-based checkpointing with high-level algorithmic
differentiation, J. Comput. Sci. 82 (2024)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np

#: Runs of more steps are planned in units of several, so that planning takes no time.
_UNITS = 256
#: Lengths of windows that are tried.
_TRIED = 16


class ScheduleAction(Enum):
    """Kind of an entry of a schedule."""

    ADVANCE = "advance"  #: compute steps, keep nothing
    RECORD = "record"  #: keep the states before these steps in the window
    REVERSE = "reverse"  #: take the adjoint back through the window
    STORE = "store"  #: keep the state in a slot
    RESTORE = "restore"  #: take the state of a slot; slot 0 is the initial state


@dataclass(frozen=True)
class ScheduleEntry:
    """An action over the steps [first, last), or with a slot and the state `first`."""

    action: ScheduleAction
    first: int
    last: int = 0
    slot: int = 0


@dataclass(frozen=True)
class CheckpointingPlan:
    """Checkpointing schedule. Steps that an adjoint computes again in a window are not counted.

    Attributes:
        steps: of the run.
        snapshots: states kept besides the initial one, at most.
        window: states of the window.
        forward_steps: that one forward run and its adjoint compute in all.
        appends: whether a window's last state is put into it, or else kept by computing one more.
    """

    steps: int
    snapshots: int
    window: int
    forward_steps: int
    appends: bool = True

    def actions(self) -> Iterator[ScheduleEntry]:
        """Yield the entries in order.

        Those before the first `REVERSE` are the run itself, with its last step.
        """
        table = _Table(self.steps, self.window, self.snapshots, self.appends)
        yield from self._reverse(0, self.steps, table, 0)

    def _reverse(self, first: int, last: int, table: _Table, slot: int) -> Iterator[ScheduleEntry]:
        """Go back from step `last` to `first`, whose state is there and in `slot`."""
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
    """Find the schedule of fewest forward steps.

    Args:
        steps: of the run.
        states: that fit into the memory.
        snapshot_cost: states that a snapshot takes (2 where tangents are kept too).
        window_cost: states that each step of the window takes.
        appends: whether a state can be put into a window.
        every: steps of a window for each of its states that is kept.

    Raises:
        ValueError: if not even one step fits.
    """
    if states < window_cost:
        raise ValueError(f"{states} states do not fit a window of one step")
    longest = min(steps, states // window_cost * every)
    if longest == steps:
        return CheckpointingPlan(steps, 0, steps, steps, appends)
    found: list[tuple[int, int, int]] = []
    unit = min(_unit(steps), longest)
    for window in sorted({max(1, round(longest * i / _TRIED / unit)) for i in range(_TRIED + 1)}):
        window = min(window * unit, longest)
        # More snapshots than windows are of no use.
        taken = -(-window // every) * window_cost
        free = min((states - taken) // snapshot_cost, -(-steps // window))
        computed = _Table(steps, window, free, appends).cost(steps, free) + appends
        found.append((computed, -window, free))
    computed, window, snapshots = min(found)
    return CheckpointingPlan(steps, snapshots, -window, computed, appends)


class _Table:
    """The fewest forward steps for any part of a run, and the split that they need."""

    def __init__(self, steps: int, window: int, free: int, appends: bool) -> None:
        self._window, self._saved = window, int(appends)
        self._unit = _unit(steps)
        self._cost, self._split = _table(
            -(-steps // self._unit), max(1, window // self._unit), free, self._saved
        )

    def split(self, count: int, free: int) -> int:
        """Where in a run of `count` steps to put the next snapshot; or, with none, the window."""
        if free == 0:
            return count - self._window
        units = -(-count // self._unit)
        best = int(self._split[free, units])
        return max(count - (units - best) * self._unit, 1)

    def cost(self, count: int, free: int) -> int:
        """Steps to compute to go back through `count` of them from the first state."""
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
    """Steps that are planned as one."""
    return -(-steps // _UNITS)


@lru_cache(maxsize=64)
def _table(count: int, window: int, free: int, saved: int) -> tuple[np.ndarray, np.ndarray]:
    """Fewest forward steps C[s, n] for n steps with s free slots, and the best first split."""
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
