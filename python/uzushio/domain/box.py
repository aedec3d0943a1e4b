"""Boxes of global indices along z, y, x, and operations on pairs of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Triple: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Box:
    """Box of global indices: `start` and `count` along z, y, x."""

    start: Triple
    count: Triple

    @property
    def stop(self) -> Triple:
        """One past the last index along each axis."""
        z, y, x = (s + n for s, n in zip(self.start, self.count, strict=True))
        return z, y, x

    @property
    def pair(self) -> tuple[Triple, Triple]:
        """(start, count), the form of the core."""
        return self.start, self.count

    @property
    def size(self) -> int:
        """Number of indices."""
        return self.count[0] * self.count[1] * self.count[2]

    def slices(self, origin: Triple = (0, 0, 0)) -> tuple[slice, slice, slice]:
        """Return slices of the box in an array whose first value has the index `origin`."""
        z, y, x = (
            slice(s - o, s - o + n) for s, n, o in zip(self.start, self.count, origin, strict=True)
        )
        return z, y, x

    def __str__(self) -> str:
        ranges = (f"{s}:{e}" for s, e in zip(self.start, self.stop, strict=True))
        return f"[{', '.join(ranges)}]"


def intersection(one: Box, other: Box) -> Box:
    """Return the intersection of two boxes; with counts of 0 if it is empty."""
    z, y, x = map(max, one.start, other.start)
    nz, ny, nx = (
        max(0, min(a, b) - start)
        for a, b, start in zip(one.stop, other.stop, (z, y, x), strict=True)
    )
    return Box((z, y, x), (nz, ny, nx))


def union(one: Box, other: Box) -> Box:
    """Return the smallest box that contains both."""
    z, y, x = map(min, one.start, other.start)
    nz, ny, nx = (
        max(a, b) - start for a, b, start in zip(one.stop, other.stop, (z, y, x), strict=True)
    )
    return Box((z, y, x), (nz, ny, nx))


def contains(outer: Box, inner: Box) -> bool:
    """Whether `inner` lies in `outer`."""
    return all(a <= b for a, b in zip(outer.start, inner.start, strict=True)) and all(
        a >= b for a, b in zip(outer.stop, inner.stop, strict=True)
    )
