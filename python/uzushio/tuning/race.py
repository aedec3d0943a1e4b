"""Interleaved repetitions of several points, so that other load slows all of them alike.

Other load only makes times longer, so the minimum of a point's repetitions is used, and points are
compared only within a batch. Each round runs every point once, in a new random order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from uzushio.tuning.runner import PointFailedError, PointRunner
from uzushio.tuning.subject import Point

#: A point is dropped if its minimum time after two rounds exceeds the best of the batch this often.
DROP_FACTOR = 2.0
#: Maximum seconds for one repetition, also before any time is known.
FIRST_LIMIT = 600.0
_LIMIT_FACTOR, _MIN_LIMIT = 20.0, 60.0


@dataclass
class RaceEntry:
    """Point of a race.

    Attributes:
        point: values of the parameters.
        seconds: times of the repetitions so far.
        failure: reason of a failure.
        always_timed: whether it is never dropped.
    """

    point: Point
    seconds: list[float] = field(default_factory=list)
    failure: str = ""
    always_timed: bool = False

    @property
    def best(self) -> float:
        """Minimum time; infinity if there is none."""
        return min(self.seconds, default=float("inf")) if not self.failure else float("inf")


def race(
    runner: PointRunner,
    entries: Sequence[RaceEntry],
    repetitions: int,
    rng: random.Random,
    on_repetition: Callable[[RaceEntry], None],
    limit: float = FIRST_LIMIT,
    drop: bool = True,
) -> None:
    """Time all entries until each has `repetitions`, is dropped, or has failed.

    Args:
        runner: runs the points.
        entries: points; existing repetitions are counted.
        repetitions: number of repetitions of each point.
        rng: random numbers for the order within each round.
        on_repetition: called after each repetition and after a failure.
        limit: maximum seconds for one repetition while no time is known.
        drop: whether slow points are dropped.
    """
    for index, entry in enumerate(entries):
        if len(entry.seconds) < repetitions and not entry.failure:
            _attempt(entry, on_repetition, lambda i=index, e=entry: runner.ready(i, e.point))  # type: ignore[misc]
    for _ in range(repetitions):
        waiting = [
            index
            for index, entry in enumerate(entries)
            if not entry.failure
            and len(entry.seconds) < repetitions
            and not (drop and _too_slow(entry, entries))
        ]
        rng.shuffle(waiting)
        for index in waiting:
            entry = entries[index]
            timeout = _limit(entries, limit)

            def repeat(
                index: int = index, entry: RaceEntry = entry, timeout: float = timeout
            ) -> None:
                entry.seconds.append(runner.run(index, timeout))

            if _attempt(entry, on_repetition, repeat):
                on_repetition(entry)
    runner.drop()


def _attempt(
    entry: RaceEntry, on_repetition: Callable[[RaceEntry], None], act: Callable[[], None]
) -> bool:
    try:
        act()
    except PointFailedError as error:
        entry.failure = str(error)
        on_repetition(entry)
        return False
    return True


def _too_slow(entry: RaceEntry, entries: Sequence[RaceEntry]) -> bool:
    best = min((entry.best for entry in entries), default=float("inf"))
    return len(entry.seconds) >= 2 and entry.best > DROP_FACTOR * best and not entry.always_timed


def _limit(entries: Sequence[RaceEntry], limit: float) -> float:
    """Return the timeout of one repetition: a multiple of the fastest point's time, if known."""
    known = [max(entry.seconds) for entry in entries if entry.seconds and not entry.failure]
    return min(limit, max(_MIN_LIMIT, _LIMIT_FACTOR * min(known))) if known else limit
