"""Repetitions of several points, interleaved, so that what slows the machine slows all of them.

A time is only ever made longer by other things that the machine does. So of the repetitions of a
point the least counts, and a batch of points is compared within itself: each round runs every point
once, in a new random order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from uzushio.tuning.bench import Bench, PointFailedError
from uzushio.tuning.subject import Point

#: A point whose least time after two rounds is so many times the best of the batch is left out.
HOPELESS = 2.0
#: Before anything is known, and at most: seconds for one repetition.
FIRST_LIMIT = 600.0
_LIMIT_FACTOR, _LIMIT_LEAST = 20.0, 60.0


@dataclass
class Entry:
    """A point in a race.

    Attributes:
        point: its values.
        seconds: of its repetitions so far.
        failure: why it left, if it did.
        stays: whether it is run to the end even if it is hopeless.
    """

    point: Point
    seconds: list[float] = field(default_factory=list)
    failure: str = ""
    stays: bool = False

    @property
    def best(self) -> float:
        """The least time; infinity if there is none."""
        return min(self.seconds, default=float("inf")) if not self.failure else float("inf")


def race(
    bench: Bench,
    entries: Sequence[Entry],
    repetitions: int,
    rng: random.Random,
    told: Callable[[Entry], None],
    limit: float = FIRST_LIMIT,
    drop: bool = True,
) -> None:
    """Time all entries until each has `repetitions`, or is hopeless, or has failed.

    Args:
        bench: that runs them.
        entries: repetitions that they already have count.
        repetitions: of each.
        rng: the order within each round.
        told: is called after each repetition, and after a failure.
        limit: seconds for one repetition while none is known.
        drop: whether hopeless ones leave.
    """
    for index, entry in enumerate(entries):
        if len(entry.seconds) < repetitions and not entry.failure:
            _attempt(entry, told, lambda i=index, e=entry: bench.ready(i, e.point))  # type: ignore[misc]
    for _ in range(repetitions):
        waiting = [
            index
            for index, entry in enumerate(entries)
            if not entry.failure
            and len(entry.seconds) < repetitions
            and not (drop and _hopeless(entry, entries))
        ]
        rng.shuffle(waiting)
        for index in waiting:
            entry = entries[index]
            most = _limit(entries, limit)

            def repeat(index: int = index, entry: Entry = entry, most: float = most) -> None:
                entry.seconds.append(bench.run(index, most))

            if _attempt(entry, told, repeat):
                told(entry)
    bench.drop()


def _attempt(entry: Entry, told: Callable[[Entry], None], act: Callable[[], None]) -> bool:
    try:
        act()
    except PointFailedError as error:
        entry.failure = str(error)
        told(entry)
        return False
    return True


def _hopeless(entry: Entry, entries: Sequence[Entry]) -> bool:
    best = min((one.best for one in entries), default=float("inf"))
    return len(entry.seconds) >= 2 and entry.best > HOPELESS * best and not entry.stays


def _limit(entries: Sequence[Entry], limit: float) -> float:
    """Seconds for one repetition: many times the fastest point's usual time, once it is known."""
    known = [max(one.seconds) for one in entries if one.seconds and not one.failure]
    return min(limit, max(_LIMIT_LEAST, _LIMIT_FACTOR * min(known))) if known else limit
