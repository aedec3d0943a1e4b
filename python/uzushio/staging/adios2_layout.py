"""Fields of a step as ADIOS2's global arrays, and what other ADIOS2 readers learn of them.

Names and order of axes: the global array FIELD has the axes z, y, x, and components if several.
Attributes: FIELD/mesh, FIELD/association, FIELD/units and the field's others; of a mesh
MESH/origin and MESH/spacing (z, y, x), or coordinates of the vertices MESH/z, MESH/y, MESH/x, or
MESH/coordinates, the name of the field of coordinates; and the attributes of the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

#: Shape of a global array, and the first index of a part in it.
GlobalBox: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


def global_box(meshes: Any, block: Any, field: Any) -> tuple[GlobalBox, tuple[int, ...]]:
    """Return place and count of a block's owned values in the global array of a field.

    Args:
        meshes: the meshes of the core's StepInfo.
        block: an entry of its blocks.
        field: an entry of its fields.
    """
    _, mesh_index, association, _, components, _ = field
    mesh = meshes[mesh_index]
    origin, elements = mesh["elements"]
    vertex = association == "vertex"
    start, count = block[4] if vertex else block[3]
    used = [vertex and axis >= 3 - mesh["dimension"] for axis in range(3)]
    shape = tuple(n + more for n, more in zip(elements, used, strict=True))
    first = tuple(s - o for s, o in zip(start, origin, strict=True))
    if components > 1:
        return ((*shape, components), (*first, 0)), (*count, components)
    return (shape, first), tuple(count)


def place(part: Any, values: list[np.ndarray]) -> Iterator[tuple[str, GlobalBox, np.ndarray]]:
    """Give name, place and owned values, contiguous, of each array of a rank that has any."""
    meshes, fields = part.meshes, part.fields
    arrays = ((block, array) for block in part.blocks for array in block[5])
    for (block, (number, lower, _, _)), stored in zip(arrays, values, strict=True):
        field = fields[number]
        box, count = global_box(meshes, block, field)
        if 0 in count:
            continue
        owned = stored[tuple(slice(a, a + n) for a, n in zip(lower, count, strict=False))]
        yield field[0], box, np.ascontiguousarray(owned).reshape(count)


def attributes(step: Any) -> Iterator[tuple[str, str | float | np.ndarray]]:
    """Give the names and values of all attributes of a step."""
    yield from step.attributes.items()
    meshes = step.meshes
    for mesh in meshes:
        name = mesh["name"]
        if "origin" in mesh:
            yield f"{name}/origin", np.array(mesh["origin"], float)
            yield f"{name}/spacing", np.array(mesh["spacing"], float)
        elif "coordinates" in mesh:
            for axis, line in zip("zyx", mesh["coordinates"], strict=True):
                yield f"{name}/{axis}", line
        else:
            yield f"{name}/coordinates", mesh["coordinate_field"]
    for name, mesh_index, association, _, _, own in step.fields:
        yield f"{name}/mesh", meshes[mesh_index]["name"]
        yield f"{name}/association", association
        for key, value in own.items():
            yield f"{name}/{'units' if key == 'unit' else key}", value
