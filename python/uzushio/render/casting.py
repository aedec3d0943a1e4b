"""Conversion of a view's layers for the ray caster: planes, colour tables and opacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uzushio.raycast import (
    HalfSpace,
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
from uzushio.render.limits import EMPTY_RANGE, LimitTracker, Range
from uzushio.render.ranges import field_range, merged, plane_range
from uzushio.render.view import IsosurfaceLayer, Layer, MeshLayer, SliceLayer, View, VolumeLayer

#: Rows of colours in a volume's transfer function.
ROWS = 128

Triple = tuple[int, int, int]
Bounds = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class ColorScale:
    """Colours with their limits in one picture.

    Attributes:
        colors: The colours.
        field: The field of the values.
        limits: Values of the ends.
        values: Range of the values in the picture, (inf, -inf) if not computed.
    """

    colors: Colors
    field: str
    limits: tuple[float, float]
    values: Range = EMPTY_RANGE


def colouring(layer: Layer) -> tuple[Colors, str] | None:
    """Return the colours of a layer and the field of their values; None for a single colour."""
    if isinstance(layer.color, str):
        return None
    own = "" if isinstance(layer, MeshLayer) else layer.field
    return layer.color, layer.color.field or own


def local_ranges(view: View, blocks: Sequence[Any], bounds: Bounds) -> dict[int, Range]:
    """Return the ranges of this rank's values by layer, for layers whose colours need them.

    These are colours that follow the values, and all slices, where a range costs little.
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


def scales(view: View, ranges: Mapping[int, Range], tracker: LimitTracker) -> dict[int, ColorScale]:
    """Return the colour scales of all layers that have colours, by index in the view."""
    found_scales: dict[int, ColorScale] = {}
    for number, layer in enumerate(view.layers):
        found = colouring(layer)
        if found is not None:
            values = ranges.get(number, EMPTY_RANGE)
            limits = tracker.follow((view.layers, number), found[0], values)
            found_scales[number] = ColorScale(*found, limits, values)
    return found_scales


def scene(view: View, scales: Mapping[int, ColorScale], domain: Any, bounds: Bounds) -> Scene:
    """Return the scene for the ray caster, without the domain's edges.

    Args:
        view: the view; layers of meshes are left out.
        scales: of the coloured layers.
        domain: coordinates of the whole domain along z, y and x.
        bounds: of the domain along x, y and z.
    """
    layers = [
        _layer(layer, scales.get(number), bounds)
        for number, layer in enumerate(view.layers)
        if not isinstance(layer, MeshLayer)
    ]
    half_spaces = [HalfSpace(*plane.half_space(bounds)) for plane in view.clip]
    return Scene(layers, domain, half_spaces=half_spaces)


def ghosts(view: View, domain: Any, cells: Any) -> tuple[Triple, Triple]:
    """Return the number of ghost points that a block needs around its own cells for a view.

    With them the picture does not depend on the decomposition.

    Args:
        view: the view.
        domain: coordinates of the whole domain along z, y and x.
        cells: the block's own, (start, count) along z, y and x.

    Returns:
        Points below and above, each along z, y and x, limited by the ends of the domain.
    """
    bounds = ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))
    found = {number: colouring(layer) for number, layer in enumerate(view.layers)}
    any_scales = {n: ColorScale(*colored, (1.0, 2.0)) for n, colored in found.items() if colored}
    return ghost_layers(domain, cells, scene(view, any_scales, domain, bounds).layers)


def _layer(layer: Layer, scale: ColorScale | None, bounds: Bounds) -> CastLayer:
    if isinstance(layer, SliceLayer):
        origin, normal = layer.plane(bounds)
        assert scale is not None
        table = scale.colors.table(scale.limits)
        return Slice(layer.field, origin, normal, table, layer.opacity, layer.clipped)
    if isinstance(layer, IsosurfaceLayer):
        return Isosurface(
            layer.field,
            layer.values,
            color=rgba(layer.color) if isinstance(layer.color, str) else None,
            colors=None if scale is None else scale.colors.table(scale.limits),
            color_field=None if scale is None or scale.field == layer.field else scale.field,
            opacity=layer.opacity,
            lighting=Lighting() if layer.lighting else None,
            clipped=layer.clipped,
        )
    assert isinstance(layer, VolumeLayer) and scale is not None
    distance = layer.unit_distance or float(np.linalg.norm(np.diff(bounds, axis=1))) / 40
    light = Lighting() if layer.shading else None
    return Volume(layer.field, transfer(layer, scale), distance, light, layer.clipped)


def transfer(layer: VolumeLayer, scale: ColorScale) -> Transfer:
    """Return colour and opacity of a volume's values."""
    lo, hi = scale.limits
    log = scale.colors.scale == "log"
    places, opacities = np.array(layer.opacity).T
    if layer.places == "limits":
        places = lo * (hi / lo) ** places if log else lo + (hi - lo) * places
    table = scale.colors.table(scale.limits)
    rows = np.geomspace(lo, hi, ROWS) if log else np.linspace(lo, hi, ROWS)
    # Values beyond the limits have their own colour: a jump is two rows with the same value.
    values = np.concatenate([[lo], rows, [hi]])
    below, above = table.ends
    colors = np.concatenate([[below[:3]], scale.colors.ramp(ROWS)[:, :3], [above[:3]]])
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
