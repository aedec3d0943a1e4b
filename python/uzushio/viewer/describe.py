"""Content of a stream for the page's controls, and a first view of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uzushio.domain.axes import Bounds, bounds_of
from uzushio.domain.fields import Mesh
from uzushio.pipeline.blocks import lines_of
from uzushio.pipeline.stream import Grid, Stream
from uzushio.render.plates import thickened
from uzushio.staging.step import Step
from uzushio.viewer.steps import Steps
from uzushio.viewer.stream_state import FieldDescription, MeshDescription, StreamDescription


def description(
    stream: Stream,
    step: Step,
    title: str,
    ranges: Mapping[str, tuple[float, float]],
    bounds: Mapping[str, Bounds],
    steps: Steps,
    computed: Mapping[str, tuple[float, float]],
) -> StreamDescription:
    """Return the content of a step's stream.

    Args:
        stream: grids and quantities of the step.
        step: the step.
        title: name of the run or of the contact, if the stream has no title.
        ranges: ranges of the fields that were read.
        bounds: bounds of the curvilinear meshes whose coordinates were read.
        steps: stored steps, if they are.
        computed: ranges of components and derived fields that were drawn.
    """
    coordinates = {mesh.coordinate_field for mesh in step.meshes.values()}
    fields = tuple(
        FieldDescription(
            name,
            field.mesh,
            stream.quantities[name].unit,
            field.components,
            ranges.get(name),
        )
        for name, field in step.fields.items()
        if name not in coordinates and field.dtype.kind in "iuf"
    )
    meshes = tuple(
        MeshDescription(name, mesh.kind, bounds.get(name) or _bounds(mesh, stream))
        for name, mesh in step.meshes.items()
    )
    return StreamDescription(
        str(stream.attributes.get("title", "") or title),
        not steps.stored,
        fields,
        meshes,
        tuple(index for index, _ in steps.stored),
        tuple(moment for _, moment in steps.stored),
        stream.time_unit,
        stream.length_unit,
        default_view(stream),
        computed,
    )


def default_view(stream: Stream) -> dict[str, Any]:
    """Return settings of a first view: a slice through the middle; empty if nothing can be drawn.

    The field is the first scalar of the stream, or else the first component of a vector.
    """
    grids = stream.grids
    drawable = [
        quantity
        for quantity in stream.quantities.values()
        if quantity.components == 1
        and quantity.dtype.kind in "iuf"
        and quantity.name.partition(".")[0] not in {grid.corner_field for grid in grids.values()}
    ]
    # Components come after scalars, and the mask of bodies is the last.
    drawable.sort(key=lambda quantity: (quantity.name == stream.body_mask, "." in quantity.name))
    if not drawable:
        return {}
    field = drawable[0].name
    grid = grids[drawable[0].grid]
    mesh, _, rest = field.partition("/")
    if rest and mesh == grid.mesh.name and len(stream.parts(rest)) > 1:
        field = rest
    # Elements of a curvilinear mesh have an extent, also where there is only one.
    thick = grid.corner_layers if grid.coordinates is None else (0, 0, 0)
    flat = [n + more < 2 for n, more in zip(grid.points.count, thick, strict=True)]
    normal = "zyx"[flat.index(True)] if any(flat) else "z"
    camera = {"z": "top", "y": "front", "x": "right"}[normal] if any(flat) else "isometric"
    return {
        "layers": [{"kind": "slice", "field": field, "normal": normal}],
        "camera": {"name": camera},
    }


def _bounds(mesh: Mesh, stream: Stream) -> Bounds:
    """Return the bounds of a mesh along x, y and z; those of a unit cube if it is curvilinear."""
    grid: Grid | None = next((g for g in stream.grids.values() if g.mesh.name == mesh.name), None)
    lines = None if grid is None else lines_of(grid)
    if lines is None:
        return (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)
    return bounds_of(thickened(lines))
