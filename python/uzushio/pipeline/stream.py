"""What a stream offers to a pipeline: its grids, and the quantities on them, derived ones too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.config.names import unknown
from uzushio.errors import PipelineError
from uzushio.staging.box import Box

if TYPE_CHECKING:
    from uzushio.solver import FieldLayout
    from uzushio.staging.step import Mesh, Step

Coordinates = tuple[np.ndarray, np.ndarray, np.ndarray]
#: What the components of a vector are called after its name and a dot.
COMPONENTS = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Grid:
    """The points that values are at: a mesh's vertices, or the centres of its elements.

    Attributes:
        name: of the mesh; for the centres of elements with " (elements)" after it.
        mesh: name of the mesh.
        of_elements: whether the points are centres of elements.
        points: indices of all of them, along z, y, x.
        coordinates: of all of them along z, y and x, three 1-D arrays; None if curvilinear.
        coordinate_field: of a curvilinear mesh: the field with the vertices' x, y and z.
        periodic: the axes ("xy", say) along which the first point follows the last one, at the
            distance of the others; from the stream's attribute of this name.
        faces: where the points are centres of elements that lie along lines: the coordinates of
            the mesh's vertices, one more along each axis.
        repeats: whether the last point along periodic axes is the first one again, as it is at
            vertices of a mesh that has values at its elements too.
    """

    name: str
    mesh: str
    of_elements: bool
    points: Box
    coordinates: Coordinates | None = field(default=None, repr=False)
    coordinate_field: str | None = None
    periodic: str = ""
    faces: Coordinates | None = field(default=None, repr=False)
    repeats: bool = False

    def turn(self, axis: int) -> int:
        """The number of points after which an axis, 0 for z, begins again; 0 if it ends.

        Indices beyond the grid's own are good along such an axis: they mean the points a turn away.
        """
        count = self.points.count[axis] - self.repeats
        wraps = "zyx"[axis] in self.periodic and self.coordinates is not None and count > 1
        return count if wraps else 0

    def period(self, axis: int) -> float:
        """The length after which a periodic axis begins again."""
        assert self.coordinates is not None
        line = self.coordinates[axis]
        if self.faces is not None:
            return float(self.faces[axis][-1] - self.faces[axis][0])
        length = float(line[-1] - line[0])
        return length if self.repeats else length / (len(line) - 1) * len(line)

    @property
    def around(self) -> Box:
        """The points, and along periodic axes the first one once more, where the period ends."""
        z, y, x = (
            self.turn(axis) + 1 if self.turn(axis) else n
            for axis, n in enumerate(self.points.count)
        )
        return Box(self.points.start, (z, y, x))

    @property
    def cells(self) -> Box:
        """The cells between the points; cell i lies between the points i and i + 1."""
        z, y, x = (max(n - 1, 0) for n in self.points.count)
        return Box(self.points.start, (z, y, x))

    def lines(self, box: Box) -> Coordinates:
        """The coordinates of a box of points along z, y, x, beyond the ends of periodic axes too.

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
        """Coordinates of a range of points, counted from the first one."""
        assert self.coordinates is not None
        line, turn = self.coordinates[axis], self.turn(axis)
        if not turn or (start >= 0 and stop <= len(line)):
            return line[max(start, 0) : stop]
        index = np.arange(start, stop)
        rounds, places = np.divmod(index, turn)
        inside = (index >= 0) & (index < len(line))
        places[inside], rounds[inside] = index[inside], 0
        return np.asarray(line[places] + rounds * self.period(axis))

    @staticmethod
    def of(mesh: Mesh, of_elements: bool, periodic: str = "", repeats: bool = False) -> Grid:
        """The points of a mesh.

        Args:
            mesh: the mesh.
            of_elements: centres of its elements, or its vertices.
            periodic: its axes that begin again where they end.
            repeats: of vertices: whether the last along such an axis is the first one again.
        """
        if not of_elements:
            return Grid(
                mesh.name,
                mesh.name,
                False,
                mesh.vertices,
                mesh.coordinates,
                mesh.coordinate_field,
                periodic,
                None,
                repeats,
            )
        lines = mesh.coordinates
        if lines is not None:
            z, y, x = (0.5 * (line[1:] + line[:-1]) if len(line) > 1 else line for line in lines)
            lines = (z, y, x)
        return Grid(
            f"{mesh.name} (elements)",
            mesh.name,
            True,
            mesh.elements,
            lines,
            None,
            periodic,
            mesh.coordinates,
        )


@dataclass(frozen=True)
class Quantity:
    """A field of the stream or a derived one.

    Attributes:
        name: as the pipeline's file calls it; of a vector's component "NAME.x".
        grid: name of the grid that its values are on.
        dtype: of one value.
        components: of one value; more than one is the last axis of arrays.
        unit: "" if not known.
        description: in words.
        derived: whether it is computed here.
    """

    name: str
    grid: str
    dtype: np.dtype[Any]
    components: int = 1
    unit: str = ""
    description: str = ""
    derived: bool = False


@dataclass
class Stream:
    """What there is in the steps of a stream.

    Attributes:
        grids: by name.
        quantities: by name.
        attributes: numbers and texts that go with a step, as they were when last looked at.
    """

    grids: dict[str, Grid]
    quantities: dict[str, Quantity]
    attributes: Mapping[str, int | float | str] = field(default_factory=dict)

    @staticmethod
    def of_step(step: Step) -> Stream:
        """What a step has."""
        grids: dict[str, Grid] = {}
        quantities = []
        axes = periodic_axes(step.attributes)
        filled = {one.mesh for one in step.fields.values() if one.association == "element"}
        for found in step.fields.values():
            mesh = step.meshes[found.mesh]
            grid = Grid.of(mesh, found.association == "element", axes, found.mesh in filled)
            grid = grids.setdefault(grid.name, grid)
            quantities.append(
                Quantity(
                    found.name,
                    grid.name,
                    found.dtype,
                    found.components,
                    _text(found.attributes.get("unit", found.attributes.get("units", ""))),
                    _text(found.attributes.get("description", "")),
                )
            )
        return Stream(grids, _with_components(quantities), step.attributes)

    @staticmethod
    def of_layouts(
        layouts: Mapping[str, FieldLayout], attributes: Mapping[str, int | float | str]
    ) -> Stream:
        """What a solver will publish, known before its first step."""
        grids: dict[str, Grid] = {}
        quantities = []
        axes = periodic_axes(attributes)
        for name, layout in layouts.items():
            z, y, x = (np.asarray(layout.coordinates[axis], np.float64) for axis in "zyx")
            whole = Box((0, 0, 0), (len(z), len(y), len(x)))
            grid = Grid(layout.mesh, layout.mesh, False, whole, (z, y, x), None, axes)
            grids.setdefault(layout.mesh, grid)
            dtype = np.dtype(np.float64)
            quantities.append(
                Quantity(name, layout.mesh, dtype, 1, _text(layout.unit), layout.description)
            )
        return Stream(grids, _with_components(quantities), attributes)

    @property
    def length_unit(self) -> str:
        """That of coordinates, from the stream's attribute of this name; "" if not known."""
        return _text(self.attributes.get("length_unit", ""))

    @property
    def time_unit(self) -> str:
        """That of time, in the same way."""
        return _text(self.attributes.get("time_unit", ""))

    def quantity(self, name: str) -> Quantity:
        """The quantity of this name; raises `PipelineError` that names those that there are."""
        if name not in self.quantities:
            raise PipelineError(f"the field '{name}' {unknown(name, list(self.quantities))}")
        found = self.quantities[name]
        if found.dtype.kind not in "iuf":
            raise PipelineError(
                f"the field '{name}' holds values of type {found.dtype}, and pipelines take real "
                "numbers; publish the parts of it that are"
            )
        return found

    def scalar(self, name: str) -> Quantity:
        """The same, of one component; raises `PipelineError` for a vector too."""
        found = self.quantity(name)
        if found.components > 1:
            parts = [part for part in self.quantities if part.startswith(f"{name}.")]
            raise PipelineError(
                f"the field '{name}' has {found.components} components; choose one of them "
                f"({', '.join(parts)}), or a source of the kind magnitude"
            )
        return found

    def grid_of(self, name: str) -> Grid:
        """The grid of a quantity; raises `PipelineError`."""
        return self.grids[self.quantity(name).grid]


def periodic_axes(attributes: Mapping[str, int | float | str]) -> str:
    """The periodic axes that a stream names: "x y" or "xy" is both.

    Raises:
        PipelineError: the attribute holds something else.
    """
    given = str(attributes.get("periodic", ""))
    if set(given) - set("xyz, "):
        raise PipelineError(
            f"the stream's attribute periodic is '{given}', and has to name axes, as 'x y'"
        )
    return "".join(axis for axis in "xyz" if axis in given)


def _text(value: object) -> str:
    return "" if value in ("1", 1) else str(value)


def _with_components(quantities: Iterable[Quantity]) -> dict[str, Quantity]:
    """The quantities by name, each vector followed by its components."""
    found = {}
    for quantity in quantities:
        found[quantity.name] = quantity
        found |= {part.name: part for part in components_of(quantity)}
    return found


def components_of(quantity: Quantity) -> list[Quantity]:
    """The components of a vector, as quantities of their own; none of a scalar."""
    if quantity.components == 1:
        return []
    names = COMPONENTS if quantity.components <= 3 else tuple(map(str, range(quantity.components)))
    return [
        Quantity(
            f"{quantity.name}.{name}",
            quantity.grid,
            quantity.dtype,
            1,
            quantity.unit,
            f"{quantity.description or quantity.name}, {name}",
            quantity.derived,
        )
        for name in names[: quantity.components]
    ]
