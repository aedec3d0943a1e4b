"""Grids and quantities of a stream, derived ones included."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.config.names import unknown
from uzushio.domain.axes import Lines
from uzushio.domain.box import Box, Index
from uzushio.domain.fields import Association, Field, Mesh, grid_name
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from uzushio.staging.step import Step

#: Names of the components of a vector, after its name and a dot.
COMPONENTS = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Grid:
    """Points of values: a mesh's vertices, or the centres of its elements.

    Attributes:
        mesh: the mesh.
        association: location of the values.
        periodic: periodic axes, such as "xy", from the stream's attribute of this name.
        repeats: for vertices: whether the last along periodic axes coincides with the first, as in
            a mesh with values at its elements.
    """

    mesh: Mesh
    association: Association = "vertex"
    periodic: str = ""
    repeats: bool = False

    @property
    def of_elements(self) -> bool:
        """Whether the points are centres of elements."""
        return self.association == "element"

    @property
    def name(self) -> str:
        """Name of the mesh, followed by " (elements)" for centres of elements."""
        return grid_name(self.mesh.name, self.association)

    @cached_property
    def points(self) -> Box:
        """Indices of all points, along z, y, x."""
        return self.mesh.box(self.association)

    @cached_property
    def coordinates(self) -> Lines | None:
        """Coordinates of all points along z, y and x; None if curvilinear."""
        return self.mesh.lines(self.association)

    @property
    def faces(self) -> Lines | None:
        """For centres of elements: coordinates of the vertices, one more along each axis."""
        return self.mesh.coordinates if self.of_elements else None

    @property
    def corner_field(self) -> str | None:
        """Field with the x, y and z of the vertices of a curvilinear mesh."""
        return self.mesh.coordinate_field

    @property
    def coordinate_field(self) -> str | None:
        """Field with the x, y and z of the points of a curvilinear mesh; None for elements."""
        return None if self.of_elements else self.corner_field

    @property
    def corner_layers(self) -> Index:
        """Number of vertices beyond the elements along each axis; 0 for vertices."""
        counts = zip(self.mesh.vertices.count, self.points.count, strict=True)
        return tuple(vertices - points for vertices, points in counts)

    def corners(self, box: Box) -> Box:
        """Return the vertices of a box of elements; a box of vertices as it is."""
        count = (n + more for n, more in zip(box.count, self.corner_layers, strict=True))
        return Box(box.start, tuple(count))

    def centres(self, corners: np.ndarray) -> np.ndarray:
        """Return the positions of elements, means of their vertices; of vertices as they are.

        Args:
            corners: positions of the vertices, (z, y, x, 3).
        """
        for axis in range(3):
            if self.corner_layers[axis]:
                count = corners.shape[axis]
                lower = corners.take(range(count - 1), axis)
                corners = 0.5 * (lower + corners.take(range(1, count), axis))
        return corners

    def period_points(self, axis: int) -> int:
        """Return the number of points in a period of an axis, 0 for z; 0 if it is not periodic.

        Along a periodic axis, indices outside the grid stand for points in other periods.
        """
        count = self.points.count[axis] - self.repeats
        wraps = "zyx"[axis] in self.periodic and self.coordinates is not None and count > 1
        return count if wraps else 0

    def period_length(self, axis: int) -> float:
        """Return the length of a period of a periodic axis."""
        assert self.coordinates is not None
        line = self.coordinates[axis]
        if self.faces is not None:
            return float(self.faces[axis][-1] - self.faces[axis][0])
        length = float(line[-1] - line[0])
        return length if self.repeats else length / (len(line) - 1) * len(line)

    @property
    def wrapped_points(self) -> Box:
        """Points, with the first one repeated at the end of the period of periodic axes."""
        count = (
            self.period_points(axis) + 1 if self.period_points(axis) else n
            for axis, n in enumerate(self.points.count)
        )
        return Box(self.points.start, tuple(count))

    @property
    def cells(self) -> Box:
        """Cells between the points; cell i lies between the points i and i + 1."""
        return Box(self.points.start, tuple(max(n - 1, 0) for n in self.points.count))

    def lines(self, box: Box) -> Lines:
        """Return the coordinates of a box along z, y, x, also beyond the ends of periodic axes.

        Raises:
            PipelineError: the mesh is curvilinear.
        """
        if self.coordinates is None:
            raise PipelineError(
                f"The mesh {self.mesh} is curvilinear, and has no coordinates along its axes."
            )
        z, y, x = (
            self._line(axis, part.start, part.stop)
            for axis, part in enumerate(box.slices(self.points.start))
        )
        return z, y, x

    def _line(self, axis: int, start: int, stop: int) -> np.ndarray:
        """Return the coordinates of a range of points, counted from the first point."""
        assert self.coordinates is not None
        line, period_points = self.coordinates[axis], self.period_points(axis)
        if not period_points or (start >= 0 and stop <= len(line)):
            return line[max(start, 0) : stop]
        index = np.arange(start, stop)
        rounds, places = np.divmod(index, period_points)
        inside = (index >= 0) & (index < len(line))
        places[inside], rounds[inside] = index[inside], 0
        return np.asarray(line[places] + rounds * self.period_length(axis))


@dataclass
class Stream:
    """Content of the steps of a stream.

    Attributes:
        grids: by name.
        quantities: by name.
        attributes: numbers and texts of the latest step.
    """

    grids: dict[str, Grid]
    quantities: dict[str, Field]
    attributes: Mapping[str, int | float | str] = field(default_factory=dict)

    @staticmethod
    def of_step(step: Step) -> Stream:
        """Describe the content of a step."""
        return Stream._of(step.meshes, list(step.fields.values()), step.attributes)

    @staticmethod
    def of_solver(
        meshes: Mapping[str, Mesh],
        fields: Mapping[str, Field],
        attributes: Mapping[str, int | float | str],
    ) -> Stream:
        """Describe the fields that a solver will publish, before its first step."""
        used = {mesh for field in fields.values() for mesh in field.meshes}
        coordinates = [
            Field(mesh.coordinate_field, (name,), "vertex", components=3)
            for name, mesh in meshes.items()
            if mesh.coordinate_field is not None and name in used
        ]
        parts = [part for field in fields.values() for part in field.parts]
        return Stream._of(meshes, coordinates + parts, attributes)

    @staticmethod
    def _of(
        meshes: Mapping[str, Mesh],
        fields: Sequence[Field],
        attributes: Mapping[str, int | float | str],
    ) -> Stream:
        grids: dict[str, Grid] = {}
        axes = periodic_axes(attributes)
        filled = {quantity.mesh for quantity in fields if quantity.association == "element"}
        for described in fields:
            mesh, of = meshes[described.mesh], described.association
            grid = Grid(mesh, of, axes, of == "vertex" and mesh.name in filled)
            grids.setdefault(grid.name, grid)
        return Stream(grids, _with_components(fields), attributes)

    @property
    def length_unit(self) -> str:
        """Unit of coordinates, from the stream's attribute of this name; "" if not known."""
        return _text(self.attributes.get("length_unit", ""))

    @property
    def time_unit(self) -> str:
        """Unit of time, from the stream's attribute of this name; "" if not known."""
        return _text(self.attributes.get("time_unit", ""))

    @property
    def body_mask(self) -> str:
        """Field that is 1 in the fluid and 0 in bodies, from the stream's attribute; "" if none."""
        mask = _text(self.attributes.get("body_mask", ""))
        return mask if mask in self.quantities else ""

    @property
    def conducted(self) -> Sequence[str]:
        """Fields that have values in bodies too, from the stream's attribute of this name."""
        return _text(self.attributes.get("conducted", "")).split()

    def quantity(self, name: str) -> Field:
        """Return a quantity by name; raises `PipelineError` with the known names."""
        if name not in self.quantities:
            parts = self.parts(name)
            if len(parts) > 1:
                raise PipelineError(
                    f"the field '{name}' is on several meshes; choose one of its parts "
                    f"({', '.join(parts)})"
                )
            raise PipelineError(f"the field '{name}' {unknown(name, list(self.quantities))}")
        quantity = self.quantities[name]
        if quantity.dtype.kind not in "iuf":
            raise PipelineError(
                f"the field '{name}' has values of type {quantity.dtype}, and pipelines need real "
                "numbers; publish its real and imaginary parts as fields of their own"
            )
        return quantity

    def parts(self, name: str) -> Sequence[str]:
        """Return the names of the parts of a field of several meshes: MESH/NAME on each.

        A field of one mesh, or an unknown name, is its only part.
        """
        if name in self.quantities:
            return [name]
        parts = [
            quantity.name
            for quantity in self.quantities.values()
            if quantity.name == f"{quantity.mesh}/{name}"
        ]
        return parts or [name]

    def short_name(self, name: str) -> str:
        """Return NAME for the part MESH/NAME of a field of several meshes; others as they are."""
        quantity = self.quantities.get(name)
        if quantity is None or not name.startswith(f"{quantity.mesh}/"):
            return name
        short = name.removeprefix(f"{quantity.mesh}/")
        return short if len(self.parts(short)) > 1 else name

    def scalar(self, name: str) -> Field:
        """Return a quantity of one component; raises `PipelineError` for vectors too."""
        quantity = self.quantity(name)
        if quantity.components > 1:
            parts = [part for part in self.quantities if part.startswith(f"{name}.")]
            raise PipelineError(
                f"the field '{name}' has {quantity.components} components; choose one of them "
                f"({', '.join(parts)}), or a source of the kind magnitude"
            )
        return quantity

    def grid_of(self, name: str) -> Grid:
        """Return the grid of a quantity; raises `PipelineError` for an unknown name."""
        return self.grids[self.quantity(name).grid]

    def vertex_grid(self, grid: Grid) -> Grid:
        """Return the vertices of a grid's mesh as a grid.

        Raises:
            PipelineError: the mesh is flat.
        """
        if min(grid.mesh.vertices.count) < 2:
            raise PipelineError(
                f"the mesh {grid.mesh} is flat, and values of its elements are not interpolated to "
                "its vertices; publish them at the vertices"
            )
        vertices = Grid(grid.mesh, "vertex", grid.periodic, repeats=True)
        return self.grids.setdefault(vertices.name, vertices)


def content_key(step: Step) -> object:
    """Return a key that is equal for steps with the same meshes, fields and periodic axes."""
    digest = hashlib.sha256()
    for mesh in step.meshes.values():
        digest.update(repr((mesh.name, mesh.kind, mesh.vertices, mesh.origin)).encode())
        for line in mesh.coordinates or ():
            digest.update(line.tobytes())
    return digest.digest(), tuple(step.fields.values()), step.attributes.get("periodic")


def periodic_axes(attributes: Mapping[str, int | float | str]) -> str:
    """Return the periodic axes of a stream, from an attribute such as "x y" or "xy".

    Raises:
        PipelineError: the attribute does not consist of axes.
    """
    given = str(attributes.get("periodic", ""))
    if set(given) - set("xyz, "):
        raise PipelineError(
            f"the stream's attribute periodic is '{given}', and must name axes, such as 'x y'"
        )
    return "".join(axis for axis in "xyz" if axis in given)


def _text(value: object) -> str:
    return "" if value in ("1", 1) else str(value)


def _with_components(quantities: Iterable[Field]) -> dict[str, Field]:
    """Return the quantities by name, each vector followed by its components."""
    by_name = {}
    for quantity in quantities:
        by_name[quantity.name] = quantity
        by_name |= {part.name: part for part in components_of(quantity)}
    return by_name


def components_of(quantity: Field) -> list[Field]:
    """Return the components of a vector as quantities; none for a scalar."""
    if quantity.components == 1:
        return []
    names = COMPONENTS if quantity.components <= 3 else tuple(map(str, range(quantity.components)))
    return [
        replace(
            quantity,
            name=f"{quantity.name}.{name}",
            components=1,
            attributes={
                **quantity.attributes,
                "description": f"{quantity.description or quantity.name}, {name}",
            },
        )
        for name in names[: quantity.components]
    ]
