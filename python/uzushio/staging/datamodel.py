"""Meshes and fields of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from uzushio.domain.box import Box
from uzushio.staging.box import make_box

Association = Literal["vertex", "element"]
Attributes = Mapping[str, int | float | str]


@dataclass(frozen=True)
class Mesh:
    """Whole structured mesh (one zone of a multiblock mesh).

    Attributes:
        name: name of the mesh.
        kind: "uniform", "rectilinear" or "curvilinear".
        dimension: number of axes in use, counted from x.
        elements: all elements.
        vertices: all vertices, one more along each axis in use.
        origin: of a uniform mesh: (z, y, x) of the vertex with the indices 0.
        spacing: of a uniform mesh, along z, y, x.
        coordinates: along z, y and x of all vertices, three 1-D arrays; None if curvilinear.
        coordinate_field: of a curvilinear mesh: the vertex field with components x, y, z.
    """

    name: str
    kind: Literal["uniform", "rectilinear", "curvilinear"]
    dimension: int
    elements: Box
    vertices: Box
    origin: tuple[float, float, float] | None = None
    spacing: tuple[float, float, float] | None = None
    coordinates: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    coordinate_field: str | None = None

    @staticmethod
    def _from_core(found: dict[str, Any]) -> Mesh:
        vertices = make_box(found["vertices"], "vertices")
        origin, spacing = found.get("origin"), found.get("spacing")
        coordinates = found.get("coordinates")
        if origin is not None and spacing is not None:
            coordinates = tuple(
                o + d * np.arange(s, s + n)
                for o, d, s, n in zip(origin, spacing, *vertices.pair, strict=True)
            )
        return Mesh(
            name=found["name"],
            kind=found["kind"],
            dimension=found["dimension"],
            elements=make_box(found["elements"], "elements"),
            vertices=vertices,
            origin=None if origin is None else tuple(origin),
            spacing=None if spacing is None else tuple(spacing),
            coordinates=coordinates,
            coordinate_field=found.get("field"),
        )


@dataclass(frozen=True)
class Field:
    """Field on a mesh.

    Attributes:
        name: name of the field.
        mesh: name of its mesh.
        association: whether values belong to vertices or to elements.
        dtype: type of one component.
        components: number of components; several are the last axis of arrays.
        attributes: attributes such as the unit.
        box: all global indices, without ghosts.
    """

    name: str
    mesh: str
    association: Association
    dtype: np.dtype[Any]
    components: int
    attributes: Attributes
    box: Box
