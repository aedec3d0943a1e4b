"""Description of a writer's meshes, fields and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from uzushio._base.array_values import real
from uzushio._base.config.names import unknown
from uzushio._base.error_text import capitalised
from uzushio.domain.box import Triple
from uzushio.domain.fields import Association, Field, Mesh
from uzushio.errors import StagingError
from uzushio.staging.box import Extents, make_box


class Description:
    """Base of `Writer` for descriptions; each rank describes its own blocks."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._meshes: dict[str, Mesh] = {}
        self._fields: dict[str, Field] = {}
        self._blocks: dict[int, None] = {}  # in the order of description

    def _open(self) -> Any:
        if self._core is None:
            raise StagingError("The writer is closed; open the stream again to continue.")
        return self._core

    def attribute(self, name: str, value: int | float | str) -> None:
        """Set an attribute of the following steps: a number or a text."""
        self._open().attribute(name, value)

    def mesh(self, mesh: Mesh) -> None:
        """Define a mesh, and the coordinate field of a curvilinear one; its blocks are ignored."""
        core, elements = self._open(), mesh.elements.pair
        if mesh.coordinate_field is not None:
            self.curvilinear_mesh(
                mesh.name, mesh.elements, mesh.coordinate_field, dimension=mesh.dimension
            )
            return
        if mesh.coordinates is None:
            raise StagingError(f"Mesh {mesh.name} needs coordinates, or a field of them.")
        if mesh.origin is not None:
            core.uniform_mesh(mesh.name, elements, mesh.origin, mesh.spacing, mesh.dimension)
        else:
            lines = [line.tolist() for line in mesh.coordinates]
            core.rectilinear_mesh(mesh.name, elements, lines, mesh.dimension)
        self._meshes[mesh.name] = mesh

    def uniform_mesh(
        self,
        name: str,
        elements: Extents,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        spacing: Sequence[float] = (1.0, 1.0, 1.0),
        dimension: int = 3,
    ) -> None:
        """Define a mesh whose vertex i lies at origin + i spacing, along z, y, x.

        Args:
            name: name of the mesh.
            elements: elements of the whole mesh; one less than vertices.
            origin: (z, y, x) of the vertex with the indices 0.
            spacing: spacings along z, y, x.
            dimension: number of axes in use, counted from x; the others have a count of 1.
        """
        box = make_box(elements, f"mesh {name}")
        self.mesh(Mesh(name, box, dimension, tuple(origin), tuple(spacing)))  # type: ignore[arg-type]

    def rectilinear_mesh(
        self,
        name: str,
        coordinates: Sequence[Sequence[float] | np.ndarray],
        start: Triple = (0, 0, 0),
        dimension: int = 3,
    ) -> None:
        """Define a mesh by the coordinates of all vertices along each axis.

        Args:
            name: name of the mesh.
            coordinates: along z, y, x, of the whole mesh, the same on every rank; one value for
                an axis that is not in use.
            start: index of the first vertex along each axis.
            dimension: number of axes in use, counted from x.
        """
        try:
            lines = [real(line, f"an axis of mesh {name}") for line in coordinates]
        except ValueError as error:
            raise StagingError(f"{capitalised(error)}.") from None
        if len(lines) != 3 or any(line.ndim != 1 or not line.size for line in lines):
            raise StagingError(f"Mesh {name} needs three 1-D arrays of coordinates along z, y, x.")
        self.mesh(Mesh.rectilinear(name, lines, start, dimension))

    def curvilinear_mesh(
        self,
        name: str,
        elements: Extents,
        field: str,
        dtype: DTypeLike = np.float64,
        dimension: int = 3,
    ) -> None:
        """Define a mesh whose coordinates are a vertex field.

        Args:
            name: name of the mesh.
            elements: elements of the whole mesh, along z, y, x.
            field: name of the vertex field with components x, y, z, which is defined by this call
                and put like other fields.
            dtype: type of that field.
            dimension: number of axes in use, counted from x.
        """
        box, kind = make_box(elements, f"mesh {name}"), _native(dtype, f'Field "{field}"')
        self._open().curvilinear_mesh(name, box.pair, field, kind.name, dimension)
        self._meshes[name] = Mesh(name, box, dimension, coordinate_field=field)
        self._fields[field] = Field(field, (name,), "vertex", kind, 3)

    def field(
        self,
        name: str,
        mesh: str,
        association: Association = "element",
        dtype: DTypeLike = np.float64,
        components: int = 1,
        **attributes: int | float | str,
    ) -> None:
        """Define a field on a mesh.

        Args:
            name: name of the field.
            mesh: name of its mesh.
            association: whether values belong to elements or to vertices.
            dtype: float32, float64, int32, int64 or uint8.
            components: number of components of a value.
            attributes: attributes such as the unit.
        """
        kind = _native(dtype, f'Field "{name}"')
        if not 1 <= components < 1 << 32:
            raise StagingError(
                f'Field "{name}" cannot have {components} components; it needs at least one.'
            )
        self._open().field(name, mesh, association, kind.name, components, attributes)
        self._fields[name] = Field(name, (mesh,), association, kind, components, attributes)

    def block(
        self,
        id: int,
        mesh: str,
        owned: Extents,
        association: Association = "element",
    ) -> None:
        """Define a block of a mesh on this rank; a rank may have several.

        Args:
            id: number, unique among the blocks of all ranks.
            mesh: name of its mesh.
            owned: owned global indices, without ghosts.
            association: whether `owned` are elements, whose vertices are shared with neighbours,
                or vertices, which are not shared.
        """
        self._open().block(id, mesh, make_box(owned, f"block {id}").pair, association)
        self._blocks[id] = None

    def remove_block(self, id: int) -> None:
        """Remove a block of this rank."""
        self._open().remove_block(id)
        del self._blocks[id]

    def _field(self, field: str) -> Field:
        if field not in self._fields:
            raise StagingError(f'field "{field}" {unknown(field, list(self._fields))}.')
        return self._fields[field]

    def _block_id(self, block: int | None) -> int:
        if block is not None:
            return block
        if len(self._blocks) != 1:
            raise StagingError(f"This rank has {len(self._blocks)} blocks; name one with block=.")
        return next(iter(self._blocks))


def _native(dtype: DTypeLike, what: str) -> np.dtype[Any]:
    """Return the dtype; raises `StagingError` if its byte order is not this machine's."""
    kind = np.dtype(dtype)
    if not kind.isnative:
        raise StagingError(
            f"{what} has the type {kind.str}, whose byte order is not this machine's; describe it "
            f"as {kind.newbyteorder('=').name}, and convert the values."
        )
    return kind
