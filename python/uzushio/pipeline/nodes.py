"""Computation of derived fields on boxes, and the boxes of their inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from uzushio import _core
from uzushio.domain.box import Box
from uzushio.domain.fields import Field
from uzushio.errors import PipelineError
from uzushio.pipeline.expression import FieldExpression
from uzushio.pipeline.stencils import AxisStencil, derivative, interpolation
from uzushio.pipeline.stream import Grid
from uzushio.raycast import default_threads

#: Box of global indices, and the values on it.
BoxValues = tuple[Box, np.ndarray]
#: Allocator of memory of a shape and dtype for a result.
Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]


class Node(ABC):
    """Field computed from other fields.

    Attributes:
        quantity: name, dtype and unit of the result.
        grid: grid of the result.
        of: names of the inputs.
    """

    def __init__(self, quantity: Field, grid: Grid, of: Sequence[str]) -> None:
        self.quantity, self.grid, self.of = quantity, grid, tuple(of)

    def takes(self, box: Box) -> dict[str, Box]:
        """Return the box of each input that the computation on `box` reads."""
        return dict.fromkeys(self.of, box)

    @abstractmethod
    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Compute the values on a box, (z, y, x) and components last.

        Args:
            box: global indices.
            values: inputs, at least on the boxes of `takes`.
            allocate: allocator for the result.
        """


def _inside(stored: BoxValues, box: Box) -> np.ndarray:
    """Return the values on a box inside that of `stored`."""
    return stored[1][box.slices(stored[0].start)]


def _typed(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Convert values to a dtype; without a copy if they have it."""
    return values if values.dtype == dtype else values.astype(dtype)


def floating(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of results of these inputs: float32 or float64."""
    return np.result_type(*dtypes, np.float32)


class Component(Node):
    """Component of a vector, as a view."""

    def __init__(self, quantity: Field, grid: Grid, vector: str, number: int) -> None:
        super().__init__(quantity, grid, [vector])
        self._number = number

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Return a view of the vector's values."""
        return _inside(values[self.of[0]], box)[..., self._number]


def named_values(
    expression: FieldExpression,
    fields: Mapping[str, np.ndarray],
    grid: Grid,
    box: Box,
    numbers: Mapping[str, float],
) -> dict[str, np.ndarray | float]:
    """Return the values of an expression's names on a box: fields, coordinates and numbers.

    Raises:
        PipelineError: the step has no such number.
    """
    known: dict[str, np.ndarray | float] = {}
    for name in expression.names:
        if name in fields:
            known[name] = fields[name]
        elif name in ("x", "y", "z"):
            known[name] = np.ix_(*grid.lines(box))["zyx".index(name)]
        elif name in numbers:
            known[name] = numbers[name]
        else:
            raise PipelineError(
                f"'{expression.text}' needs the number '{name}', which this step has not."
            )
    return known


class Expression(Node):
    """Expression, point by point."""

    def __init__(
        self,
        quantity: Field,
        grid: Grid,
        of: Mapping[str, str],
        expression: FieldExpression,
        numbers: Callable[[], Mapping[str, float]],
    ) -> None:
        """Make the node.

        Args:
            quantity: name, dtype and unit of the result.
            grid: grid of the result.
            of: from the name in the expression to the name of the field.
            expression: expression of these fields, of coordinates and of numbers.
            numbers: returns the numbers of the step.
        """
        super().__init__(quantity, grid, list(of.values()))
        self._fields, self._expression, self._numbers = of, expression, numbers

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Evaluate the expression in one pass."""
        fields = {name: _inside(values[field], box) for name, field in self._fields.items()}
        known = named_values(self._expression, fields, self.grid, box, self._numbers())
        out = allocate(box.count, self.quantity.dtype)
        if not any(np.ndim(value) for value in known.values()):
            out[...] = self._expression(known)
        else:
            self._expression(known, out)
        return out


class Derivatives(Node):
    """Base of the fields with derivatives, computed by the kernels of `src/pipeline`."""

    def __init__(self, quantity: Field, grid: Grid, of: Sequence[str], kind: str) -> None:
        corners = grid.corner_field if grid.coordinates is None else None
        super().__init__(quantity, grid, [*of, *([] if corners is None else [corners])])
        self._fields, self._mesh = tuple(of), corners
        self._kind = getattr(_core.pipeline.Quantity, kind)
        self.axes: Sequence[int] = (0, 1, 2)  # axes of the stencils
        lines = grid.coordinates
        if lines is None:  # derivatives by index, combined with those of the mesh's coordinates
            z, y, x = (np.arange(n, dtype=np.float64) for n in grid.points.count)
            lines = (z, y, x)
        self.stencils = [
            derivative(
                line, start, period_points, grid.period_length(axis) if period_points else 0.0
            )
            for axis, (line, start, period_points) in enumerate(
                zip(lines, grid.points.start, map(grid.period_points, range(3)), strict=True)
            )
        ]

    def takes(self, box: Box) -> dict[str, Box]:
        """Return the box extended by the reach of the stencils."""
        ranges = [
            stencil.reach(start, count) if axis in self.axes else (start, count)
            for axis, (stencil, start, count) in enumerate(
                zip(self.stencils, *box.pair, strict=True)
            )
        ]
        # A stencil along one axis reads at the points of the box along the other axes.
        lower = [min(low, start) for (low, _), start in zip(ranges, box.start, strict=True)]
        upper = [max(low + n, stop) for (low, n), stop in zip(ranges, box.stop, strict=True)]
        read = Box.between(lower, upper)
        boxes = dict.fromkeys(self.of, read)
        if self._mesh is not None:
            boxes[self._mesh] = self.grid.corners(read)
        return boxes

    def _arguments(
        self, box: Box, values: Mapping[str, BoxValues]
    ) -> tuple[Box, list[tuple[np.ndarray, np.ndarray]], tuple[int, ...], list[np.ndarray]]:
        """Return the input box, and stencils, offset and coordinates for the kernels."""
        taken = self.takes(box)[self.of[0]]
        tables = [
            stencil.table(start, count, origin)
            for stencil, start, count, origin in zip(
                self.stencils, *box.pair, taken.start, strict=True
            )
        ]
        offset = tuple(a - b for a, b in zip(box.start, taken.start, strict=True))
        mesh: list[np.ndarray] = []
        if self._mesh is not None:
            corners = _inside(values[self._mesh], self.grid.corners(taken))
            points = _typed(self.grid.centres(corners), self.quantity.dtype)
            mesh = [np.ascontiguousarray(points[..., component]) for component in range(3)]
        return taken, tables, offset, mesh

    def _differentiate(
        self, components: int, box: Box, values: Mapping[str, BoxValues], allocate: Allocate
    ) -> np.ndarray:
        """Compute the quantity by the kernel, in one pass; shape (components, z, y, x)."""
        taken, tables, offset, mesh = self._arguments(box, values)
        dtype = self.quantity.dtype
        fields = [_typed(_inside(values[name], taken), dtype) for name in self._fields]
        if len(fields) == 2:  # a velocity in the plane
            fields.append(np.zeros_like(fields[0]))
        out = allocate((components, *box.count), dtype)
        _core.pipeline.differentiate(
            self._kind, fields, tables, offset, list(out), mesh, default_threads()
        )
        return out


class Gradient(Derivatives):
    """Gradient of a scalar, or its component along one axis."""

    def __init__(self, quantity: Field, grid: Grid, of: str, axis: str | None) -> None:
        super().__init__(quantity, grid, [of], "gradient")
        self._axis = None if axis is None else "zyx".index(axis)
        if self._axis is not None and self._mesh is None:
            self.axes = (self._axis,)

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Compute by the kernel; on a curvilinear mesh always all three components."""
        if self._axis is None or self._mesh is not None:
            whole = self._differentiate(3, box, values, allocate)
            return np.moveaxis(whole, 0, -1) if self._axis is None else whole[2 - self._axis]
        taken, tables, offset, _ = self._arguments(box, values)
        field = _typed(_inside(values[self.of[0]], taken), self.quantity.dtype)
        out = allocate(box.count, self.quantity.dtype)
        table = tables[self._axis]
        _core.pipeline.apply_stencil(field, self._axis, table, offset, out, default_threads())
        return out


class VelocityGradient(Derivatives):
    """Quantity computed from all derivatives of a velocity, such as vorticity.

    The vorticity of a velocity in the plane is its component along z.
    """

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Compute by the kernel, in one pass."""
        components = self.quantity.components
        if self._kind == _core.pipeline.Quantity.vorticity and components == 1:
            return np.asarray(self._differentiate(3, box, values, allocate)[2])
        out = self._differentiate(components, box, values, allocate)
        return out[0] if components == 1 else np.moveaxis(out, 0, -1)


class Magnitude(Node):
    """Magnitude of a vector, or of several scalars as its components."""

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Compute the root of the sum of squares."""
        parts = []
        for name in self.of:
            inside = _inside(values[name], box)
            parts += [inside] if inside.ndim == 3 else list(np.moveaxis(inside, -1, 0))
        names = [f"v{number}" for number in range(len(parts))]
        expression = FieldExpression(f"sqrt({' + '.join(f'{name}**2' for name in names)})")
        out = allocate(box.count, self.quantity.dtype)
        return expression(dict(zip(names, parts, strict=True)), out)


class Resampled(Node):
    """Field interpolated to another grid, such as a staggered one; exact for cubics."""

    def __init__(self, quantity: Field, grid: Grid, of: str, source: Grid) -> None:
        """Make the node; `source` is the grid of the input, and neither grid is curvilinear."""
        super().__init__(quantity, grid, [of])
        assert grid.coordinates is not None and source.coordinates is not None
        self._stencils: list[AxisStencil | None] = []
        for axis in range(3):
            start, source_start = grid.points.start[axis], source.points.start[axis]
            line, target = source.coordinates[axis], grid.coordinates[axis]
            same = start == source_start and np.array_equal(line, target)
            periods_points = source.period_points(axis), grid.period_points(axis)
            period_length = source.period_length(axis) if periods_points[0] else 0.0
            self._stencils.append(
                None
                if same and periods_points[0] == periods_points[1]
                else interpolation(line, target, source_start, start, periods_points, period_length)
            )

    def takes(self, box: Box) -> dict[str, Box]:
        """Return the box of the points that the interpolation reads."""
        ranges = (
            (start, count) if stencil is None else stencil.reach(start, count)
            for stencil, start, count in zip(self._stencils, *box.pair, strict=True)
        )
        return {self.of[0]: Box(*zip(*ranges, strict=True))}

    def compute(self, box: Box, values: Mapping[str, BoxValues], allocate: Allocate) -> np.ndarray:
        """Interpolate along one axis after the other."""
        taken = self.takes(box)[self.of[0]]
        inside = _typed(_inside(values[self.of[0]], taken), self.quantity.dtype)
        if inside.ndim == 3:
            return self._resample_component(inside, box, taken, allocate)
        parts = [
            self._resample_component(part, box, taken, np.empty)
            for part in np.moveaxis(inside, -1, 0)
        ]
        return np.stack(parts, axis=-1)

    def _resample_component(
        self, values: np.ndarray, box: Box, taken: Box, allocate: Allocate
    ) -> np.ndarray:
        axes = [axis for axis, stencil in enumerate(self._stencils) if stencil is not None]
        for axis in axes:
            stencil = self._stencils[axis]
            assert stencil is not None
            table = stencil.table(box.start[axis], box.count[axis], taken.start[axis])
            shape = list(values.shape)
            shape[axis] = box.count[axis]
            out = (allocate if axis == axes[-1] else np.empty)(tuple(shape), values.dtype)
            _core.pipeline.apply_stencil(values, axis, table, (0, 0, 0), out, default_threads())
            values = out
        return values
