"""What of a store does not change from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uzushio.staging.box import Box, Triple

Lines = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Variable:
    """A quantity in a store.

    Attributes:
        name: of it.
        dtype: of one number.
        components: of one value; if several, they are the last axis.
        attributes: unit and description, say; plain JSON.
    """

    name: str
    dtype: np.dtype[Any]
    components: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one value: () for a number."""
        return () if self.components == 1 else (self.components,)


@dataclass(frozen=True, eq=False)
class Frame:
    """The points of a store, and the quantities at them.

    Attributes:
        count: points along z, y, x.
        variables: by name, in order.
        lines: coordinates along z, y, x, increasing, of `count` numbers each; None if the points
            do not lie on lines (a curvilinear mesh).
        dropped: axes (0 for z) of one point that are no dimension of arrays in Zarr: a plane's
            normal.
        attributes: of the store.
        once: whether there is one moment, and no axis of time (in Zarr).
    """

    count: Triple
    variables: Mapping[str, Variable]
    lines: Lines | None = None
    dropped: tuple[int, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    once: bool = False

    @property
    def whole(self) -> Box:
        """All indices."""
        return Box((0, 0, 0), self.count)

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that are not dropped."""
        return tuple(axis for axis in range(3) if axis not in self.dropped)

    @property
    def spacing(self) -> tuple[float, float, float] | None:
        """Distances of points along z, y, x where they are the same everywhere, else None."""
        if self.lines is None:
            return None
        found = [spacing(line) for line in self.lines]
        if None in found:
            return None
        z, y, x = (0.0 if one is None else one for one in found)
        return z, y, x


def spacing(line: np.ndarray) -> float | None:
    """The distance of points; 1 for one point; None if it varies."""
    if len(line) < 2:
        return 1.0
    step = float(line[-1] - line[0]) / (len(line) - 1)
    even = line[0] + step * np.arange(len(line))
    near = 1e-9 * max(abs(float(line[0])), abs(float(line[-1])), abs(step) * len(line))
    return step if np.abs(line - even).max() <= near else None
