"""Dependency graph of the fields: the stream's own, their components, and the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from uzushio._base.config.names import unknown
from uzushio.domain.box import Box, union
from uzushio.domain.fields import Field
from uzushio.errors import PipelineError
from uzushio.pipeline.expression import CONSTANTS, FieldExpression, quoted
from uzushio.pipeline.need import Need
from uzushio.pipeline.nodes import (
    Component,
    Expression,
    Gradient,
    Magnitude,
    Node,
    Resampled,
    VelocityGradient,
    floating,
)
from uzushio.pipeline.sources import SourceSettings
from uzushio.pipeline.stream import Grid, Stream, components_of
from uzushio.pipeline.vertex_values import VertexValues

#: Maximum extrapolation of a field of a staggered grid, in spacings.
_BEYOND = 1.5
#: Maximum relative difference of equal periods.
_SAME = 1e-6
#: Numbers in expressions besides the stream's attributes.
NUMBERS = ("time", "step")


class Graph:
    """Fields of a stream and the sources derived from them.

    Attributes:
        stream: includes the sources and all components as quantities.
        nodes: computed fields, each after its inputs.
    """

    def __init__(self, stream: Stream, sources: Mapping[str, SourceSettings]) -> None:
        """Build the graph, and check all names.

        Raises:
            PipelineError: an input of a source is unknown; `path` is that of the source.
        """
        self.stream = Stream(dict(stream.grids), dict(stream.quantities), stream.attributes)
        self.nodes: dict[str, Node] = {}
        self._sources, self._making = sources, []  # type: ignore[var-annotated]
        self._step: tuple[int, float] = (0, 0.0)
        for quantity in stream.quantities.values():
            self._add_components(quantity)
        for name in sources:
            if name in stream.quantities:
                raise PipelineError(
                    f"sources.{name}: the stream has a field '{name}' already; choose another name",
                    ("sources", name),
                )
            self._require(name)

    def at(self, index: int, time: float, attributes: Mapping[str, int | float | str]) -> None:
        """Set index, time and attributes of the current step."""
        self._step = (index, time)
        self.stream.attributes = attributes

    def numbers(self) -> Mapping[str, float]:
        """Return the numbers in expressions, for the current step."""
        numbers = {
            name: float(value)
            for name, value in self.stream.attributes.items()
            if isinstance(value, (int, float))
        }
        return numbers | CONSTANTS | {"step": float(self._step[0]), "time": self._step[1]}

    def is_number(self, name: str) -> bool:
        """Whether the name is a number in expressions."""
        return name in CONSTANTS or name in NUMBERS or self._is_attribute(name)

    def _is_attribute(self, name: str) -> bool:
        return isinstance(self.stream.attributes.get(name), (int, float))

    def on_each_mesh(self, expression: FieldExpression) -> list[dict[str, str]]:
        """Return the fields that an expression names, by name in it, for each of their meshes.

        Raises:
            PipelineError: a name is unknown, no field is named, or fields are on other meshes.
        """
        parts = {name: self.stream.parts(name) for name in expression.names}
        counts = {len(names) for names in parts.values()} - {1}
        if not counts:
            return [{name: name for name in self.check_expression(expression)}]
        meshes = {
            tuple(self.stream.grid_of(part).mesh.name for part in names)
            for names in parts.values()
            if len(names) > 1
        }
        alone = [name for name in expression.names if name in self.stream.quantities]
        if len(meshes) > 1 or alone:
            raise PipelineError(f"'{expression.text}' names fields that are not on the same meshes")
        several = {name: names for name, names in parts.items() if len(names) > 1}
        self.check_expression(expression, several)
        return [
            {name: names[number] for name, names in several.items()}
            for number in range(counts.pop())
        ]

    def check_expression(
        self, expression: FieldExpression, several: Mapping[str, Sequence[str]] | None = None
    ) -> list[str]:
        """Return the fields that an expression names.

        Args:
            expression: the expression.
            several: parts of the fields of several meshes that it may name.

        Raises:
            PipelineError: a name is unknown, or no field is named.
        """
        several = several or {}
        known = {**self.stream.quantities, **dict.fromkeys(several)}
        fields = [name for name in expression.names if name in known]
        for name in expression.names:
            if name in known:
                for part in several.get(name, [name]):
                    self.stream.scalar(part)
            elif isinstance(self.stream.attributes.get(name), str):
                raise PipelineError(
                    f"'{expression.text}': the attribute '{name}' is a text, not a number"
                )
            elif not (self.is_number(name) or name in ("x", "y", "z")):
                numbers = [n for n, v in self.stream.attributes.items() if not isinstance(v, str)]
                allowed = [*known, *numbers, *NUMBERS, *CONSTANTS, "x", "y", "z"]
                short = [self.stream.short_name(other) for other in allowed]
                raise PipelineError(
                    unknown_name(expression.text, name, list(dict.fromkeys(allowed + short)))
                    if "/" in expression.text
                    else unknown_name(expression.text, name, list(dict.fromkeys(short)))
                )
        if not fields:
            raise PipelineError(f"'{expression.text}' names no field")
        return fields

    def on_grid(self, name: str, grid: Grid, at_vertices: bool = False) -> str:
        """Return the name of a field on a grid: of an interpolated field if it is on another one.

        Args:
            name: name of the field.
            grid: grid of the result.
            at_vertices: whether values of elements are those of `Need.vertices`.

        Raises:
            PipelineError: the field cannot be interpolated to the grid.
        """
        quantity = self.stream.quantity(name)
        if quantity.grid == grid.name:
            return name
        source = self.stream.grids[quantity.grid]
        at_vertices = at_vertices and source.of_elements and source.mesh.name == grid.mesh.name
        key = f"{name} at the vertices" if at_vertices else f"{name} on {grid.name}"
        if key not in self.nodes:
            if not at_vertices:
                _require_near(name, source, grid)
            dtype = floating(quantity.dtype)
            made = replace(
                quantity,
                name=key,
                meshes=(grid.mesh.name,),
                association=grid.association,
                dtype=dtype,
                derived=False,
            )
            self.nodes[key] = (
                VertexValues(made, grid, name, source)
                if at_vertices
                else Resampled(made, grid, name, source)
            )
        return key

    def boxes(self, wanted: Iterable[tuple[str, Box]]) -> dict[str, Box]:
        """Return the box on which each field must be known to compute the wanted boxes."""
        result: dict[str, Box] = {}
        for name, box in wanted:
            result[name] = union(result[name], box) if name in result else box
        for name in reversed(self.nodes):
            if name in result:
                for other, box in self.nodes[name].takes(result[name]).items():
                    result[other] = union(result[other], box) if other in result else box
        return result

    def wanted(self, needs: Iterable[Need]) -> set[str]:
        """Return the names of the fields of needs, on the grids of the needs.

        Raises:
            PipelineError: a field is unknown, or cannot be interpolated to the grid of its need.
        """
        names = set[str]()
        for need in needs:
            grid = need.grid(self.stream)
            names |= {self.on_grid(name, grid, need.vertices) for name in need.fields}
            names |= {name for name in (need.corner_field(grid),) if name is not None}
        return names

    def inputs(self, needs: Iterable[Need]) -> set[str]:
        """Return the names of the fields of needs, and of all fields that these depend on.

        Raises:
            PipelineError: a field is unknown, or cannot be interpolated to the grid of its need.
        """
        names = self.wanted(needs)
        for name in reversed(self.nodes):
            if name in names:
                names |= set(self.nodes[name].of)
        return names

    def _require(self, name: str) -> None:
        """Add the source `name` if it is one and is not there yet."""
        if name in self.stream.quantities or name not in self._sources:
            return
        if name in self._making:
            round = " -> ".join([*self._making[self._making.index(name) :], name])
            raise PipelineError(f"sources.{name} depends on itself: {round}", ("sources", name))
        self._making.append(name)
        try:
            self._make(name, self._sources[name])
        except PipelineError as error:
            if error.path:
                raise
            raise PipelineError(f"sources.{name}: {error}", ("sources", name)) from error
        finally:
            self._making.pop()

    def _make(self, name: str, settings: SourceSettings) -> None:
        """Add a source: a field; one of each mesh if its inputs are fields of several meshes."""
        expression = None if settings.kind else FieldExpression(settings.expression or "")
        inputs = settings.fields if expression is None else expression.names
        for field in inputs:
            self._require(field.partition(".")[0])
            self._require(field)
        for chosen in self._on_each_mesh(inputs):
            mesh = self.stream.grid_of(next(iter(chosen.values()))).mesh.name if chosen else ""
            made = f"{mesh}/{name}" if chosen else name
            if expression is not None:
                node: Node = self._expression(made, settings, expression, chosen)
            else:
                fields = [chosen.get(field, field) for field in settings.fields]
                on_mesh = settings.model_copy(
                    update={"of": fields, "label": settings.label or name}
                )
                node = _KINDS.get(settings.kind or "", Graph._velocity)(self, made, on_mesh)
            self.nodes[made] = node
            self.stream.quantities[made] = node.quantity
            self._add_components(node.quantity)

    def _on_each_mesh(self, names: Iterable[str]) -> list[dict[str, str]]:
        """Return for each mesh the fields that stand for names of fields of several meshes.

        One empty mapping if no name is of several meshes.

        Raises:
            PipelineError: fields are on other meshes than others.
        """
        several = {
            name: {self.stream.grid_of(part).mesh.name: part for part in self.stream.parts(name)}
            for name in names
            if len(self.stream.parts(name)) > 1
        }
        if not several:
            return [{}]
        first = next(iter(several))
        for name, on_meshes in several.items():
            if on_meshes.keys() != several[first].keys():
                raise PipelineError(f"'{name}' and '{first}' are not on the same meshes")
        return [
            {name: on_meshes[mesh] for name, on_meshes in several.items()}
            for mesh in several[first]
        ]

    def _add_components(self, quantity: Field) -> None:
        grid = self.stream.grids[quantity.grid]
        for number, part in enumerate(components_of(quantity)):
            self.stream.quantities[part.name] = part
            self.nodes[part.name] = Component(part, grid, quantity.name, number)

    def _quantity(
        self, name: str, settings: SourceSettings, of: list[str], components: int = 1
    ) -> tuple[Field, Grid]:
        """Make the quantity of a source, on the grid of its first input."""
        grid = self.stream.grid_of(of[0])
        dtype = floating(*(self.stream.quantity(field).dtype for field in of))
        about = {"unit": settings.unit, "description": settings.label or name}
        mesh = (grid.mesh.name,)
        return Field(name, mesh, grid.association, dtype, components, about, derived=True), grid

    def _expression(
        self,
        name: str,
        settings: SourceSettings,
        expression: FieldExpression,
        chosen: Mapping[str, str],
    ) -> Expression:
        """Make an expression; `chosen` are the fields for names of fields of several meshes."""
        names = self.check_expression(expression, {key: [part] for key, part in chosen.items()})
        fields = {field: chosen.get(field, field) for field in names}
        label = settings.model_copy(update={"label": settings.label or name.rpartition("/")[2]})
        quantity, grid = self._quantity(name, label, list(fields.values()))
        if grid.coordinates is None and {"x", "y", "z"} & set(expression.names) - set(fields):
            raise PipelineError(
                f"'{expression.text}' names coordinates, and {grid.mesh} is curvilinear; name "
                f"{grid.coordinate_field}.x, say"
            )
        of = {key: self.on_grid(field, grid) for key, field in fields.items()}
        tried: dict[str, np.ndarray | float] = dict.fromkeys(expression.names, 1.0)
        tried |= {
            key: np.ones(1, self.stream.quantity(field).dtype) for key, field in fields.items()
        }
        expression(tried)  # raises for types that do not fit
        return Expression(quantity, grid, of, expression, self.numbers)

    def _gradient(self, name: str, settings: SourceSettings) -> Gradient:
        if len(settings.fields) != 1:
            raise PipelineError("the kind gradient is of one field")
        field = self.stream.scalar(settings.fields[0]).name
        components = 1 if settings.axis else 3
        quantity, grid = self._quantity(name, settings, [field], components)
        return Gradient(quantity, grid, field, settings.axis)

    def _magnitude(self, name: str, settings: SourceSettings) -> Magnitude:
        quantity, grid = self._quantity(name, settings, settings.fields)
        return Magnitude(quantity, grid, [self.on_grid(field, grid) for field in settings.fields])

    def _velocity(self, name: str, settings: SourceSettings) -> VelocityGradient:
        fields = settings.fields
        if len(fields) == 1 and self.stream.quantity(fields[0]).components in (2, 3):
            fields = [part.name for part in components_of(self.stream.quantity(fields[0]))]
        plane = self.stream.grid_of(fields[0])
        is_flat = plane.points.count[0] == 1 and plane.coordinates is not None
        if len(fields) != 3 and not (len(fields) == 2 and is_flat):
            raise PipelineError(
                f"the kind {settings.kind} is of a velocity: three fields along x, y and z, or one "
                "with three components; two on a mesh with one layer along z"
            )
        fields = [self.stream.scalar(field).name for field in fields]
        components = 3 if settings.kind == "vorticity" and len(fields) == 3 else 1
        quantity, grid = self._quantity(name, settings, fields, components)
        of = [self.on_grid(field, grid) for field in fields]
        return VelocityGradient(quantity, grid, of, str(settings.kind))


_KINDS: dict[str, Callable[[Graph, str, SourceSettings], Node]] = {
    "gradient": Graph._gradient,
    "magnitude": Graph._magnitude,
}


def unknown_name(text: str, name: str, allowed: Sequence[str]) -> str:
    """Return the message about an unknown name in an expression.

    Args:
        text: the expression.
        name: the unknown name.
        allowed: names that may be in the expression.
    """
    for other in allowed:
        # A part of it, such as core of core/pressure, was read as a name.
        if quoted(other) != other and _unspaced(other) in _unspaced(text) and name in other:
            return (
                f"'{text}': '{other}' is one name, but is read as an operation; write "
                f"it in backticks: {quoted(other)}"
            )
    return f"'{text}': '{name}' {unknown(name, list(map(quoted, allowed)))}"


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _require_near(name: str, source: Grid, target: Grid) -> None:
    """Raise `PipelineError` unless the points of `source` cover those of `target`, or almost."""
    if source.coordinates is None or target.coordinates is None:
        raise PipelineError(
            f"the field '{name}' is on {source.name}, not on {target.name}; interpolation between "
            "curvilinear meshes is not supported"
        )
    lines = zip("zyx", source.coordinates, target.coordinates, strict=True)
    for number, (axis, line, points) in enumerate(lines):
        if source.period_points(number):
            length, other = (grid.period_length(number) for grid in (source, target))
            if target.period_points(number) and abs(length - other) > _SAME * length:
                raise PipelineError(
                    f"the field '{name}' is on {source.name}, whose period along {axis} is "
                    f"{length:g}, and that of {target.name} is {other:g}"
                )
            continue
        if np.array_equal(line, points):
            continue
        low, high = sorted((float(line[0]), float(line[-1])))
        room = _BEYOND * float(np.abs(np.diff(line)).max()) if len(line) > 1 else 0.0
        if points.min() < low - room or points.max() > high + room or len(line) < 2:
            raise PipelineError(
                f"the field '{name}' is on {source.name}, which does not cover {target.name} along "
                f"{axis}; fields that are read together must be of the same region"
            )
