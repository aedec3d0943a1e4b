"""A view's layers as the ray caster takes them: planes, colour tables and opacities in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uzushio.raycast import (
    ColorTable,
    Isosurface,
    Lighting,
    Scene,
    Slice,
    Transfer,
    Volume,
    ghost_layers,
)
from uzushio.raycast import Layer as CastLayer
from uzushio.render.colors import Colors, rgba
from uzushio.render.limits import NOTHING, LimitTracker, Range
from uzushio.render.ranges import field_range, merged, plane_range
from uzushio.render.view import IsosurfaceLayer, Layer, MeshLayer, SliceLayer, View, VolumeLayer

#: Rows of the colours in a volume's transfer function.
ROWS = 128

Triple = tuple[int, int, int]
Bounds = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Scale:
    """Colours with the limits that they have in one picture.

    Attributes:
        colors: The colours.
        field: Whose values they show.
        limits: Values of the ends.
        values: Range of the values in the picture, (inf, -inf) where nobody looked.
    """

    colors: Colors
    field: str
    limits: tuple[float, float]
    values: Range = NOTHING


def colouring(layer: Layer) -> tuple[Colors, str] | None:
    """The colours of a layer, and the field whose values they show; None for one colour."""
    if isinstance(layer.color, str):
        return None
    own = "" if isinstance(layer, MeshLayer) else layer.field
    return layer.color, layer.color.field or own


def local_ranges(view: View, blocks: Sequence[Any], bounds: Bounds) -> dict[int, Range]:
    """Return the ranges of this rank's values for layers whose colours need them, by number.

    Those are colours that follow the values; and all on slices, where looking costs little.
    """
    found: dict[int, Range] = {}
    for number, layer in enumerate(view.layers):
        colored = colouring(layer)
        if colored is None or isinstance(layer, MeshLayer):
            continue
        colors, name = colored
        positive = colors.scale == "log"
        if isinstance(layer, SliceLayer):
            plane = layer.plane(bounds)
            found[number] = merged([plane_range(block, name, *plane, positive) for block in blocks])
        elif not colors.fixed:
            found[number] = merged([field_range(block, name, positive) for block in blocks])
    return found


def scales(view: View, ranges: Mapping[int, Range], tracker: LimitTracker) -> dict[int, Scale]:
    """Settle the limits of all layers that have colours, by their number in the view."""
    settled: dict[int, Scale] = {}
    for number, layer in enumerate(view.layers):
        found = colouring(layer)
        if found is not None:
            values = ranges.get(number, NOTHING)
            limits = tracker.follow((view, number), found[0], values)
            settled[number] = Scale(*found, limits, values)
    return settled


def scene(view: View, scales: Mapping[int, Scale], domain: Any, bounds: Bounds) -> Scene:
    """Return what the ray caster draws: the layers, without the domain's edges.

    Args:
        view: what is shown; layers of meshes are left out.
        scales: of the coloured layers.
        domain: coordinates of the whole domain along z, y and x.
        bounds: of the domain along x, y and z.
    """
    layers = [
        _layer(layer, scales.get(number), bounds)
        for number, layer in enumerate(view.layers)
        if not isinstance(layer, MeshLayer)
    ]
    return Scene(layers, domain)


def ghosts(view: View, domain: Any, cells: Any) -> tuple[Triple, Triple]:
    """Return the points that a block needs beyond those of its own cells to draw a view.

    With them the picture does not depend on how the domain is divided.

    Args:
        view: what is shown.
        domain: coordinates of the whole domain along z, y and x.
        cells: the block's own, (start, count) along z, y and x.

    Returns:
        Points below and above, each along z, y and x, cut off where the domain ends.
    """
    bounds = ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))
    found = {number: colouring(layer) for number, layer in enumerate(view.layers)}
    any_scales = {n: Scale(*colored, (1.0, 2.0)) for n, colored in found.items() if colored}
    return ghost_layers(domain, cells, scene(view, any_scales, domain, bounds).layers)


def _layer(layer: Layer, scale: Scale | None, bounds: Bounds) -> CastLayer:
    if isinstance(layer, SliceLayer):
        origin, normal = layer.plane(bounds)
        assert scale is not None
        return Slice(layer.field, origin, normal, _table(scale), layer.opacity)
    if isinstance(layer, IsosurfaceLayer):
        light = Lighting() if layer.lighting else None
        if scale is None:
            assert isinstance(layer.color, str)
            color = rgba(layer.color)
            return Isosurface(
                layer.field, layer.values, color=color, opacity=layer.opacity, lighting=light
            )
        return Isosurface(
            layer.field,
            layer.values,
            colors=_table(scale),
            color_field=None if scale.field == layer.field else scale.field,
            opacity=layer.opacity,
            lighting=light,
        )
    assert isinstance(layer, VolumeLayer) and scale is not None
    distance = layer.unit_distance or float(np.linalg.norm(np.diff(bounds, axis=1))) / 40
    light = Lighting() if layer.shading else None
    return Volume(layer.field, transfer(layer, scale), distance, light)


def _table(scale: Scale) -> ColorTable:
    table = scale.colors.table(scale.limits)
    return ColorTable(table.rgba, table.lo, table.hi, table.below, table.above, table.nan)


def transfer(layer: VolumeLayer, scale: Scale) -> Transfer:
    """Return colour and opacity of a volume's values."""
    lo, hi = scale.limits
    log = scale.colors.scale == "log"
    places, opacities = np.array(layer.opacity).T
    if layer.places == "limits":
        places = lo * (hi / lo) ** places if log else lo + (hi - lo) * places
    table = scale.colors.table(scale.limits)
    rows = np.geomspace(lo, hi, ROWS) if log else np.linspace(lo, hi, ROWS)
    # Values beyond the limits have a colour of their own: a jump is two rows of the same value.
    values = np.concatenate([[lo], rows, [hi]])
    colors = np.concatenate([[table.below[:3]], scale.colors.ramp(ROWS)[:, :3], [table.above[:3]]])
    more = np.setdiff1d(places, values)
    between = np.stack([np.interp(more, values, channel) for channel in colors.T], axis=1)
    all_values = np.concatenate([values, more])
    points = np.column_stack(
        [
            all_values,
            np.concatenate([colors, between]),
            np.interp(all_values, places, opacities),
        ]
    )
    order = np.argsort(all_values, kind="stable")
    return Transfer(points[order], (*table.nan[:3], float(opacities.max())))
