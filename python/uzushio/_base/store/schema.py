"""Schema of a store: points, variables and attributes, the same for all steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uzushio.domain.axes import Lines
from uzushio.domain.box import Box, Index
from uzushio.domain.fields import Field

#: Symbols of the units that xarray decodes to time differences (`xarray.coding.times.TIME_UNITS`).
_SYMBOLS = {
    "nanoseconds": "ns",
    "microseconds": "us",
    "milliseconds": "ms",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "days": "d",
}


@dataclass(frozen=True, eq=False)
class StoreSchema:
    """Points, variables and attributes of a store.

    Attributes:
        count: numbers of points along z, y, x.
        variables: by name, in order; their attributes are plain JSON.
        lines: increasing coordinates along z, y, x, `count` numbers each; None for a curvilinear
            mesh.
        dropped: axes (0 for z) with one point that are no dimension of arrays in Zarr, such as the
            normal of a plane.
        attributes: attributes of the store.
        once: whether there is a single time and no time axis (in Zarr).
        units: units of "time", "x", "y" and "z"; "" or missing if not known.
    """

    count: Index
    variables: Mapping[str, Field]
    lines: Lines | None = None
    dropped: tuple[int, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    once: bool = False
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> Box:
        """Box of all indices."""
        return Box((0, 0, 0), self.count)

    @property
    def kept(self) -> tuple[int, ...]:
        """Axes that are not dropped."""
        return tuple(axis for axis in range(3) if axis not in self.dropped)

    @property
    def spacing(self) -> tuple[float, float, float] | None:
        """Spacings along z, y, x if they are uniform, else None."""
        if self.lines is None:
            return None
        spacings = [spacing(line) for line in self.lines]
        if None in spacings:
            return None
        z, y, x = (0.0 if interval is None else interval for interval in spacings)
        return z, y, x


def unit_attributes(unit: str) -> dict[str, Any]:
    """Return the attributes of a variable with a unit, in Zarr.

    xarray decodes numbers in "seconds" or "days" to time differences, but not in "s" or "d", which
    are the same units for CF.
    """
    return {"units": _SYMBOLS.get(unit, unit)} if unit else {}


def spacing(line: np.ndarray) -> float | None:
    """Return the spacing of points; 1 for a single point; None if it varies."""
    if len(line) < 2:
        return 1.0
    step = float(line[-1] - line[0]) / (len(line) - 1)
    even = line[0] + step * np.arange(len(line))
    rounding = 4.0 * np.finfo(float).eps * max(abs(float(line[0])), abs(float(line[-1])))
    near = 1e-9 * abs(step) * len(line) + rounding
    return step if np.abs(line - even).max() <= near else None
