"""Meshes and fields of solvers, as they are published and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uzushio.domain.box import Box, Triple

Association = Literal["vertex", "element"]


@dataclass(frozen=True)
class UniformCoordinates:
    """Uniform spacing: vertex i of an axis is at origin + i spacing; both along z, y, x."""

    origin: tuple[float, float, float]
    spacing: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class SolverMesh:
    """Structured mesh, or a zone of a multiblock mesh, and this rank's blocks of it.

    Constant during a run; all attributes except `blocks` are equal on all ranks.

    Attributes:
        vertices: number of vertices of the whole mesh along z, y, x.
        coordinates: coordinates of all vertices: uniform, or 1-D arrays along z, y, x; None if the
            mesh is curvilinear, for which `Solver.write_coordinates` writes them.
        blocks: this rank's boxes of elements or vertices, disjoint from those of all ranks. A box
            may be empty.
        blocks_of: whether `blocks` are elements, whose vertices neighbours share, or vertices.
        dimension: number of used axes, counted from x; the others have one vertex.
    """

    vertices: Triple
    coordinates: UniformCoordinates | tuple[np.ndarray, np.ndarray, np.ndarray] | None
    blocks: tuple[Box, ...]
    blocks_of: Association = "vertex"
    dimension: int = 3

    @property
    def elements(self) -> Triple:
        """Number of elements along z, y, x; 1 along an unused axis."""
        return self._moved(self.vertices, -1)

    def box(self, block: Box, association: Association) -> Box:
        """Return the elements or vertices of a block."""
        if association == self.blocks_of or block.size == 0:
            return block
        return Box(block.start, self._moved(block.count, 1 if association == "vertex" else -1))

    def _moved(self, count: Sequence[int], by: int) -> Triple:
        z, y, x = (n + by if axis >= 3 - self.dimension else n for axis, n in enumerate(count))
        return z, y, x

    def lines(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the coordinates of all vertices along z, y, x; None if curvilinear."""
        given = self.coordinates
        if not isinstance(given, UniformCoordinates):
            return given
        z, y, x = (
            origin + spacing * np.arange(count)
            for origin, spacing, count in zip(
                given.origin, given.spacing, self.vertices, strict=True
            )
        )
        return z, y, x


@dataclass(frozen=True)
class SolverField:
    """Field of a solver.

    Attributes:
        meshes: names of its meshes: one, or the zones of a multiblock mesh.
        association: whether values belong to vertices or to elements.
        components: number of components; several are the last axis of arrays.
        unit: unit of the values, "1" if non-dimensional.
        description: description for users.
    """

    meshes: tuple[str, ...]
    association: Association = "vertex"
    components: int = 1
    unit: str = "1"
    description: str = ""

    def parts(self, name: str) -> dict[str, str]:
        """Return the name of the field called `name` on each of its meshes, by mesh.

        A field of several meshes is published and stored as one field per mesh.
        """
        if len(self.meshes) == 1:
            return {self.meshes[0]: name}
        return {mesh: f"{mesh}/{name}" for mesh in self.meshes}

    def boxes(self, meshes: Mapping[str, SolverMesh]) -> list[Box]:
        """Return the boxes of this rank's values, one per block, in order of meshes."""
        return [
            meshes[mesh].box(block, self.association)
            for mesh in self.meshes
            for block in meshes[mesh].blocks
        ]

    def shape(self, box: Box) -> tuple[int, ...]:
        """Return the shape of the array of a box."""
        return (*box.count, self.components) if self.components > 1 else box.count


def coordinate_field(mesh: str) -> str:
    """Return the name of the published vertex field with a curvilinear mesh's coordinates."""
    return f"{mesh}/xyz"
