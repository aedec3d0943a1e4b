"""Boxes of global indices, and operations on pairs of boxes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Index: TypeAlias = tuple[int, ...]
Triple: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Box:
    """Box of global indices: `start` and `count` along each axis; z, y, x for a field."""

    start: Index
    count: Index

    @classmethod
    def between(cls, start: Iterable[int], stop: Iterable[int]) -> Box:
        """Return the box from `start` up to and without `stop`."""
        first = tuple(map(int, start))
        return cls(first, tuple(int(end) - s for s, end in zip(first, stop, strict=True)))

    @property
    def stop(self) -> Index:
        """One past the last index along each axis."""
        return tuple(s + n for s, n in zip(self.start, self.count, strict=True))

    @property
    def pair(self) -> tuple[Index, Index]:
        """(start, count), the form of the core."""
        return self.start, self.count

    @property
    def size(self) -> int:
        """Number of indices."""
        return math.prod(self.count)

    def slices(self, origin: Index | None = None) -> tuple[slice, ...]:
        """Return slices of the box in an array whose first value has the index `origin`, or 0."""
        origin = (0,) * len(self.start) if origin is None else origin
        starts = (s - o for s, o in zip(self.start, origin, strict=True))
        return tuple(slice(s, s + n) for s, n in zip(starts, self.count, strict=True))

    def __str__(self) -> str:
        ranges = (f"{s}:{e}" for s, e in zip(self.start, self.stop, strict=True))
        return f"[{', '.join(ranges)}]"


def intersection(box: Box, other: Box) -> Box:
    """Return the intersection of two boxes; with counts of 0 if it is empty."""
    start = tuple(map(max, box.start, other.start))
    stops = map(min, box.stop, other.stop)
    return Box(start, tuple(max(0, stop - s) for s, stop in zip(start, stops, strict=True)))


def union(box: Box, other: Box) -> Box:
    """Return the smallest box that contains both."""
    return Box.between(map(min, box.start, other.start), map(max, box.stop, other.stop))


def contains(outer: Box, inner: Box) -> bool:
    """Whether `inner` lies in `outer`."""
    return all(a <= b for a, b in zip(outer.start, inner.start, strict=True)) and all(
        a >= b for a, b in zip(outer.stop, inner.stop, strict=True)
    )
