"""Selection of points of a grid: planes, lines, boxes, strides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.section import Section
from uzushio.domain.axes import Lines
from uzushio.domain.box import Box, Index
from uzushio.errors import PipelineError
from uzushio.pipeline.need import Part
from uzushio.pipeline.stream import Grid

Axis = Literal["x", "y", "z"]
Stride = Annotated[int, Field(gt=0)]
AXES: tuple[Axis, Axis, Axis] = ("z", "y", "x")


class SelectionSettings(Section):
    """Selection of points; without keys the whole grid."""

    at: dict[Axis, float] = Field(
        {}, description="axis: position; the nearest points: a plane, with two axes a line"
    )
    within: dict[Axis, tuple[float, float]] = Field({}, description="axis: [from, to]")
    at_index: dict[Axis, int] = Field({}, description="axis: index of points, from 0")
    within_index: dict[Axis, tuple[int, int]] = Field(
        {}, description="axis: [first, last] index of points"
    )
    stride: Stride | dict[Axis, Stride] = Field(1, description="select one point in so many")

    @model_validator(mode="after")
    def _once(self) -> Self:
        seen: dict[str, str] = {}
        for key in ("at", "within", "at_index", "within_index"):
            for axis in getattr(self, key):
                if axis in seen:
                    raise ValueError(f"{axis} is chosen by {seen[axis]} and by {key}; keep one")
                seen[axis] = key
        return self

    def on(self, grid: Grid) -> GridSelection:
        """Find the selected points of a grid.

        Raises:
            PipelineError: they lie outside the grid; without file, line and full stop.
        """
        start, count, stride, dropped = [], [], [], []
        for number, axis in enumerate(AXES):
            first, points = grid.points.start[number], grid.points.count[number]
            step = self.stride if isinstance(self.stride, int) else self.stride.get(axis, 1)
            if axis in self.at or axis in self.at_index:
                low = high = self._single(grid, number)
                dropped.append(number)
            elif axis in self.within or axis in self.within_index:
                low, high = self._range(grid, number)
            else:
                low, high = 0, points - 1
            start.append(first + low)
            stride.append(step if high > low else 1)
            count.append((high - low) // stride[-1] + 1)
        return GridSelection(grid, tuple(start), tuple(count), tuple(stride), tuple(dropped))

    def _single(self, grid: Grid, number: int) -> int:
        axis, points = AXES[number], grid.points.count[number]
        if axis in self.at_index:
            return _index(self.at_index[axis], axis, points, grid)
        return nearest(grid, axis, self.at[axis])

    def _range(self, grid: Grid, number: int) -> tuple[int, int]:
        axis, points = AXES[number], grid.points.count[number]
        if axis in self.within_index:
            low, high = (_index(i, axis, points, grid) for i in self.within_index[axis])
            if low > high:
                raise PipelineError(f"within_index.{axis} must be [first, last] with first ≤ last")
            return low, high
        begin, end = self.within[axis]
        line = line_of(grid, axis)
        inside = np.flatnonzero((line >= begin) & (line <= end))
        if not inside.size:
            raise PipelineError(
                f"no points have {axis} from {begin:g} to {end:g}; those of {grid.name} reach "
                f"from {line[0]:g} to {line[-1]:g}"
            )
        return int(inside[0]), int(inside[-1])


class OwnedPart(NamedTuple):
    """Selected points that a part owns.

    Attributes:
        part: the part.
        box: indices of the points in the selection.
        places: slices of the part's `owned` arrays.
    """

    part: Part
    box: Box
    places: tuple[slice, ...]

    def values(self, name: str) -> np.ndarray:
        """Return the values of a field at the points."""
        return self.part.owned(name)[self.places]

    def positions(self) -> np.ndarray:
        """Return the coordinates x, y, z of the points of a curvilinear grid."""
        return self.part.positions()[self.places]


@dataclass(frozen=True, eq=False)
class GridSelection:
    """Selected points of a grid, with indices of their own from 0.

    Attributes:
        grid: the grid.
        start: index in the grid of the first point, along z, y, x.
        count: numbers of points.
        stride: strides between points.
        dropped: axes with a single selected position.
    """

    grid: Grid
    start: Index
    count: Index
    stride: Index
    dropped: tuple[int, ...] = ()

    @property
    def region(self) -> Box:
        """All points of the grid from the first to the last selected one."""
        count = ((n - 1) * s + 1 for n, s in zip(self.count, self.stride, strict=True))
        return Box(self.start, tuple(count))

    @property
    def lines(self) -> Lines | None:
        """Coordinates along z, y, x; None if the grid is curvilinear."""
        if self.grid.coordinates is None:
            return None
        z, y, x = (
            np.asarray(line[::step], np.float64)
            for line, step in zip(self.grid.lines(self.region), self.stride, strict=True)
        )
        return z, y, x

    def owned(self, parts: Iterable[Part]) -> list[OwnedPart]:
        """Find the selected points that each part owns, without the parts that own none."""
        return [OwnedPart(part, *place) for part in parts if (place := self._place(part))]

    def _place(self, part: Part) -> tuple[Box, tuple[slice, ...]] | None:
        start, count, places = [], [], []
        for axis in range(3):
            own, step = part.points, self.stride[axis]
            low = max(0, -(-(own.start[axis] - self.start[axis]) // step))
            high = min(self.count[axis], -(-(own.stop[axis] - self.start[axis]) // step))
            if high <= low:
                return None
            begin = self.start[axis] + low * step - own.start[axis]
            places.append(slice(begin, begin + (high - low - 1) * step + 1, step))
            start.append(low)
            count.append(high - low)
        return Box(tuple(start), tuple(count)), tuple(places)


def line_of(grid: Grid, axis: Axis) -> np.ndarray:
    """Return the coordinates of all points along an axis.

    Raises:
        PipelineError: the grid is curvilinear.
    """
    if grid.coordinates is None:
        raise PipelineError(
            f"{grid.name} is curvilinear and has no positions along its axes; choose by "
            "at_index and within_index"
        )
    return grid.coordinates[AXES.index(axis)]


def nearest(grid: Grid, axis: Axis, position: float) -> int:
    """Return the index, from 0, of the point nearest to a position.

    Positions up to half a spacing outside the grid are valid; along a periodic axis all are.

    Raises:
        PipelineError: the position lies outside.
    """
    line = line_of(grid, axis)
    if len(line) == 1:
        return 0
    below, above = 0.5 * (line[1] - line[0]), 0.5 * (line[-1] - line[-2])
    if period_points := grid.period_points(AXES.index(axis)):
        period_length = grid.period_length(AXES.index(axis))
        position = (position - line[0]) % period_length + line[0]
        line = line[:period_points]
        if position > 0.5 * (line[-1] + line[0] + period_length):
            return 0
    elif not line[0] - below <= position <= line[-1] + above:
        raise PipelineError(
            f"{axis} = {position:g} lies outside {grid.name}, whose points reach from "
            f"{line[0]:g} to {line[-1]:g}"
        )
    return int(np.abs(line - position).argmin())


def _index(given: int, axis: str, points: int, grid: Grid) -> int:
    if not 0 <= given < points:
        raise PipelineError(f"{axis} has the indices 0 to {points - 1} on {grid.name}, not {given}")
    return given
