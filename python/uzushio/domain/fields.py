"""Meshes and fields, as solvers describe them and as pipelines and live views receive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from uzushio.domain.axes import Lines
from uzushio.domain.box import Box, Triple

Association = Literal["vertex", "element"]
Attributes = Mapping[str, int | float | str]

_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Whole structured mesh (one zone of a multiblock mesh).

    Attributes:
        name: name of the mesh.
        elements: all elements.
        dimension: number of axes in use, counted from x; the others have one vertex.
        origin: coordinates (z, y, x) of the vertex with the indices 0 of a uniform mesh.
        spacing: distances of the vertices of a uniform mesh along z, y, x.
        coordinates: along z, y and x of all vertices, three 1-D arrays; None if curvilinear.
        coordinate_field: vertex field with the coordinates x, y, z of a curvilinear mesh.
        blocks: boxes of elements or vertices of a solver on this rank, disjoint from those of all
            ranks; a box may be empty. All other attributes are equal on all ranks.
        blocks_of: whether `blocks` are elements, whose vertices neighbours share, or vertices.
    """

    name: str
    elements: Box
    dimension: int = 3
    origin: tuple[float, float, float] | None = None
    spacing: tuple[float, float, float] | None = None
    coordinates: Lines | None = field(default=None, repr=False)
    coordinate_field: str | None = None
    blocks: tuple[Box, ...] = ()
    blocks_of: Association = "vertex"

    def __post_init__(self) -> None:
        if self.origin is not None and self.spacing is not None:
            axes = zip(self.origin, self.spacing, *self.vertices.pair, strict=True)
            lines = tuple(o + d * np.arange(s, s + n) for o, d, s, n in axes)
            object.__setattr__(self, "coordinates", lines)

    @staticmethod
    def rectilinear(
        name: str,
        coordinates: Sequence[np.ndarray],
        start: Triple = (0, 0, 0),
        dimension: int = 3,
        **more: Any,
    ) -> Mesh:
        """Make a mesh of the coordinates of all vertices along z, y and x.

        Args:
            name: name of the mesh.
            coordinates: three 1-D arrays.
            start: index of the first vertex along each axis.
            dimension: number of axes in use, counted from x.
            more: `blocks` and `blocks_of`.
        """
        z, y, x = coordinates
        count = tuple(len(line) - (axis >= 3 - dimension) for axis, line in enumerate((z, y, x)))
        return Mesh(name, Box(start, count), dimension, coordinates=(z, y, x), **more)

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> Literal["uniform", "rectilinear", "curvilinear"]:
        """How the coordinates are described."""
        if self.coordinates is None:
            return "curvilinear"
        return "rectilinear" if self.origin is None else "uniform"

    @property
    def vertices(self) -> Box:
        """All vertices, one more than elements along each axis in use."""
        if self.coordinates is not None:
            return Box(self.elements.start, tuple(map(len, self.coordinates)))
        return self._grown(self.elements, 1)

    def box(self, association: Association, block: Box | None = None) -> Box:
        """Return all elements or vertices, or those of one of `blocks`."""
        if block is None:
            return self.vertices if association == "vertex" else self.elements
        if association == self.blocks_of:
            return block
        return self._grown(block, 1 if association == "vertex" else -1)

    def _grown(self, box: Box, by: int) -> Box:
        """Return a box with one index more, or less, along the axes in use; an empty one as is."""
        if box.size == 0:
            return box
        count = (n + by if axis >= 3 - self.dimension else n for axis, n in enumerate(box.count))
        return Box(box.start, tuple(count))

    def lines(self, association: Association) -> Lines | None:
        """Return the coordinates of all vertices, or centres of elements; None if curvilinear."""
        if self.coordinates is None or association == "vertex":
            return self.coordinates
        centres = (0.5 * (a[1:] + a[:-1]) if len(a) > 1 else a for a in self.coordinates)
        z, y, x = centres
        return z, y, x


@dataclass(frozen=True)
class Field:
    """Field on a mesh.

    Attributes:
        name: name of the field; in a pipeline "NAME.x" for a component of a vector.
        meshes: name of its mesh; of a solver's field also several, the zones of a multiblock mesh;
            none in a store.
        association: whether values belong to vertices or to elements.
        dtype: type of one component.
        components: number of components; several are the last axis of arrays.
        attributes: attributes such as `unit` and `description`.
        derived: whether a pipeline computes it.
    """

    name: str
    meshes: tuple[str, ...] = ()
    association: Association = "element"
    dtype: np.dtype[Any] = _FLOAT64
    components: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)
    derived: bool = False

    @property
    def mesh(self) -> str:
        """Name of its mesh, or of the first one."""
        return self.meshes[0]

    @property
    def unit(self) -> str:
        """Unit of the values; "" if they have none or it is not known."""
        unit = str(self.attributes.get("unit", self.attributes.get("units", "")))
        return "" if unit == "1" else unit

    @property
    def description(self) -> str:
        """Description in words; may be empty."""
        return str(self.attributes.get("description", ""))

    @property
    def grid(self) -> str:
        """Name of the grid of its points in pipelines."""
        return grid_name(self.mesh, self.association)

    @property
    def parts(self) -> list[Field]:
        """The field on each of its meshes, named MESH/NAME if there are several.

        A field of several meshes is published and stored as these fields.
        """
        if len(self.meshes) == 1:
            return [self]
        return [replace(self, name=f"{mesh}/{self.name}", meshes=(mesh,)) for mesh in self.meshes]

    def boxes(self, meshes: Mapping[str, Mesh]) -> list[Box]:
        """Return the boxes of this rank's values, one for each block, in order of meshes."""
        return [
            meshes[mesh].box(self.association, block)
            for mesh in self.meshes
            for block in meshes[mesh].blocks
        ]

    @property
    def value_shape(self) -> tuple[int, ...]:
        """Shape of one value: () for a scalar."""
        return () if self.components == 1 else (self.components,)

    def shape(self, box: Box) -> tuple[int, ...]:
        """Return the shape of the array of a box."""
        return (*box.count, *self.value_shape)


def grid_name(mesh: str, association: Association) -> str:
    """Return the name of the vertices of a mesh, or of the centres of its elements."""
    return mesh if association == "vertex" else f"{mesh} (elements)"
