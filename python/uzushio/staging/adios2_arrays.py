"""Steps of global arrays that other ADIOS2 programs write, in BP5 files or over SST.

A YAML file is the contact: it names the stream, its meshes and fields.

    adios2: {path: flow.bp, time: t}
    meshes:
      box: {x: {spacing: 0.1}, y: {origin: -1, spacing: 0.1}, z: zc}
    fields:
      T: {mesh: box, variable: temperature, unit: K}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field as Key
from pydantic import model_validator

from uzushio import _core
from uzushio._base.config.section import Section
from uzushio._base.config.yaml_document import Document
from uzushio.errors import CaseError, StagingError
from uzushio.staging.adios2_library import Adios2Stream
from uzushio.staging.adios2_source import Adios2Source


class UniformAxis(Section):
    """Vertices at equal distances."""

    origin: float = Key(default=0.0, description="coordinate of the first vertex")
    spacing: float = Key(gt=0.0, description="distance of the vertices")


#: Vertices along an axis: uniform, a 1-D variable, or numbers.
Axis = UniformAxis | str | list[float]


class ArrayMesh(Section):
    """Mesh of arrays: vertices along x, y, z; without z or y of two dimensions or one.

    A curvilinear mesh has `coordinates` instead, the name of a field at its vertices.
    """

    x: Axis | None = Key(default=None, description="vertices along the last axis of the arrays")
    y: Axis | None = Key(default=None, description="vertices along the axis before x")
    z: Axis | None = Key(default=None, description="vertices along the axis before y")
    coordinates: str | None = Key(default=None, description="field with components x, y, z")

    @model_validator(mode="after")
    def _is_complete(self) -> ArrayMesh:
        if self.coordinates is not None:
            if any(axis is not None for axis in self.axes):
                raise ValueError("needs either coordinates or x, y, z")
        elif self.x is None or (self.y is None and self.z is not None):
            raise ValueError("needs x, x and y, or x, y and z")
        return self

    @property
    def axes(self) -> tuple[Axis | None, ...]:
        """Vertices along z, y, x."""
        return self.z, self.y, self.x

    @property
    def dimension(self) -> int:
        """Number of axes in use."""
        given = sum(axis is not None for axis in self.axes)
        return given or 3


class ArrayField(Section):
    """Field: a global array with the axes of its mesh, and a last one of components if several."""

    mesh: str = Key(description="name of its mesh")
    variable: str | None = Key(default=None, description="name of the variable; null: the field's")
    association: Literal["vertex", "element"] = Key(
        default="vertex", description="whether values belong to vertices or to elements"
    )
    components: int = Key(default=1, ge=1, description="number of components of a value")
    unit: str = Key(default="", description="unit of the values")


class ArrayStream(Section):
    """Stream of another program."""

    path: str = Key(description="BP5 folder or name of an SST stream, relative to this file")
    kind: Literal["bp5", "sst"] = Key(default="bp5", description="ADIOS2's engine")
    time: str | None = Key(
        default=None, description="variable of the time; null: the step's number"
    )


class ArrayDescription(Section):
    """Description of the arrays of a stream."""

    adios2: ArrayStream
    meshes: dict[str, ArrayMesh] = Key(min_length=1)
    fields: dict[str, ArrayField] = Key(min_length=1)

    @model_validator(mode="after")
    def _names_are_known(self) -> ArrayDescription:
        for name, field in self.fields.items():
            if field.mesh not in self.meshes:
                raise ValueError(f"the field {name} names an unknown mesh, {field.mesh}")
        return self


class Adios2Arrays(Adios2Source):
    """Source of the steps of another program."""

    _given: ArrayDescription

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._lines: dict[str, np.ndarray] = {}  # coordinates, which only the first step may have
        super().__init__(*arguments, **named)

    def _describe(self, contact: Path, stream: str) -> dict[str, Any]:
        try:
            self._given = Document.read(contact, "ADIOS2 arrays").validate(ArrayDescription)
        except CaseError as error:
            raise StagingError(str(error)) from None
        given = self._given.adios2
        return {"kind": given.kind, "streams": [given.path], "shared": True}

    def _variable(self, field: str) -> str:
        return self._given.fields[field].variable or field

    def _unused_axes(self, mesh: dict[str, Any]) -> int:
        return 3 - int(mesh["dimension"])

    def _is_unlocked(self) -> bool:
        return False  # other programs take no lock

    def _read_table(self, number: int, stream: Adios2Stream) -> int:
        index = stream.current_step()
        time = self._given.adios2.time
        at = float(index) if time is None else float(stream.read(time).reshape(-1)[0])
        described = {name: stream.described(self._variable(name)) for name in self._given.fields}
        shapes = {name: found for name, found in described.items() if found is not None}
        meshes, fields = [], []
        for name, mesh in self._given.meshes.items():
            vertices = self._vertices(name, shapes)
            elements = tuple(
                n - 1 if axis >= 3 - mesh.dimension else 1 for axis, n in enumerate(vertices)
            )
            coordinates = mesh.coordinates or self._coordinates(stream, name, mesh, vertices)
            meshes.append((name, ((0, 0, 0), elements), mesh.dimension, coordinates))
        order = list(self._given.meshes)
        for name, (kind, _) in shapes.items():
            field = self._given.fields[name]
            own = {"unit": field.unit} if field.unit else {}
            fields.append(
                (name, order.index(field.mesh), field.association, kind, field.components, own)
            )
        table = _core.staging.whole_arrays(index, at, meshes, fields)
        self._announced = _core.staging.announce(index, table)
        return index

    def _vertices(self, mesh: str, shapes: dict[str, tuple[str, tuple[int, ...]]]) -> list[int]:
        """Return the number of vertices along z, y, x; raises `StagingError` if fields differ."""
        dimension = self._given.meshes[mesh].dimension
        known: dict[tuple[int, ...], str] = {}
        for name, (_, shape) in shapes.items():
            field = self._given.fields[name]
            if field.mesh != mesh:
                continue
            last = (field.components,) if field.components > 1 else ()
            if len(shape) != dimension + len(last) or shape[dimension:] != last:
                raise StagingError(
                    f'The variable of the field "{name}" has the shape '
                    f'{" x ".join(map(str, shape))}; a field on the mesh "{mesh}" has '
                    f"{dimension} axes, and a last one of its components if it has several."
                )
            more = int(field.association == "element")
            known.setdefault(tuple(n + more for n in shape[:dimension]), name)
        if len(known) != 1:
            counts = ", ".join(
                f"{name}: {' x '.join(map(str, shape))}" for shape, name in known.items()
            )
            raise StagingError(
                f'The fields on the mesh "{mesh}" have different numbers of vertices ({counts}).'
                if known
                else f'The step has none of the fields on the mesh "{mesh}".'
            )
        (vertices,) = known
        return [1] * (3 - dimension) + list(vertices)

    def _coordinates(
        self, stream: Adios2Stream, name: str, mesh: ArrayMesh, vertices: list[int]
    ) -> list[list[float]]:
        """Return origin and spacing, or the coordinates of the vertices, along z, y, x."""
        given = [UniformAxis(spacing=1.0) if axis is None else axis for axis in mesh.axes]
        uniform = [axis for axis in given if isinstance(axis, UniformAxis)]
        if len(uniform) == 3:
            return [[axis.origin for axis in uniform], [axis.spacing for axis in uniform]]
        lines = []
        for letter, axis, count in zip("zyx", given, vertices, strict=True):
            line = self._line(stream, axis, count)
            if line.size != count:
                raise StagingError(
                    f'The mesh "{name}" has {line.size} coordinates along {letter}, and its fields '
                    f"need {count}."
                )
            lines.append(line.astype(float).tolist())
        return lines

    def _line(self, stream: Adios2Stream, axis: UniformAxis | str | list[float], count: int) -> Any:
        """Return the coordinates of the vertices along an axis."""
        if isinstance(axis, UniformAxis):
            return axis.origin + axis.spacing * np.arange(count)
        if isinstance(axis, list):
            return np.array(axis, float)
        if axis not in self._lines or stream.described(axis) is not None:
            self._lines[axis] = np.ravel(stream.read(axis))
        return self._lines[axis]
