"""Conversion of a view's layers for the ray caster: planes, colour tables and opacities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from uzushio.domain.axes import Bounds
from uzushio.domain.box import Triple
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


@dataclass(frozen=True)
class ColorScale:
    """Colours with their limits in one picture.

    Attributes:
        colors: The colours.
        field: The field of the values.
        limits: Values of the ends.
        values: Range of the values in the picture, (inf, -inf) if not computed.
        known: Whether the limits are given or follow values; otherwise there were none so far.
    """

    colors: Colors
    field: str
    limits: tuple[float, float]
    values: Range = EMPTY_RANGE
    known: bool = True


@dataclass
class LayerRange:
    """Ranges of a layer's values: of all, and of those that the limits of its colours follow."""

    all: Range = EMPTY_RANGE
    followed: Range = EMPTY_RANGE

    def minima(self) -> list[float]:
        """Return four numbers whose minima over ranks are those of the ranges of all ranks."""
        return [self.all[0], -self.all[1], self.followed[0], -self.followed[1]]

    @staticmethod
    def of(minima: Sequence[float]) -> LayerRange:
        """Return the ranges of a result of `minima`."""
        a, b, c, d = minima
        return LayerRange((a, -b), (c, -d))


def colouring(layer: Layer) -> tuple[Colors, str] | None:
    """Return the colours of a layer and the field of their values; None for a single colour."""
    if isinstance(layer.color, str):
        return None
    own = "" if isinstance(layer, MeshLayer) else layer.field
    return layer.color, layer.color.field or own


def local_ranges(view: View, blocks: Sequence[Any], bounds: Bounds) -> dict[int, LayerRange]:
    """Return the ranges of this rank's values by layer, for layers whose colours need them.

    These are colours that follow the values or are logarithmic, and all slices, where a range costs
    little.
    """
    ranges: dict[int, LayerRange] = {}
    for number, layer in enumerate(view.layers):
        colored = colouring(layer)
        if colored is None or isinstance(layer, MeshLayer):
            continue
        colors, name = colored
        if isinstance(layer, SliceLayer):
            plane = layer.plane(bounds)
            range_of = partial(_plane_range, name=name, plane=plane)
        elif colors.fixed and colors.scale == "linear":
            continue
        else:
            range_of = partial(field_range, name=name)
        ranges[number] = layer_range(colors, blocks, range_of)
    return ranges


def layer_range(colors: Colors, parts: Sequence[Any], range_of: Callable[..., Range]) -> LayerRange:
    """Return the ranges of the values of parts.

    Args:
        colors: colours of the values; on a logarithmic scale their limits follow positive values.
        parts: blocks, or data sets.
        range_of: returns the range of a part's values; its argument `positive` is whether only
            those above zero count.
    """
    every = merged([range_of(part, positive=False) for part in parts])
    if colors.scale == "linear" or every[0] > 0.0:
        return LayerRange(every, every)
    return LayerRange(every, merged([range_of(part, positive=True) for part in parts]))


def _plane_range(block: Any, *, name: str, plane: tuple[Any, Any], positive: bool) -> Range:
    return plane_range(block, name, *plane, positive)


def scales(
    view: View, ranges: Mapping[int, LayerRange], tracker: LimitTracker
) -> dict[int, ColorScale]:
    """Return the colour scales of all layers that have colours, by index in the view."""
    found_scales: dict[int, ColorScale] = {}
    for number, layer in enumerate(view.layers):
        coloring = colouring(layer)
        if coloring is not None:
            key, values = (view.layers, number), ranges.get(number, LayerRange())
            limits = tracker.follow(key, coloring[0], values.followed)
            known = tracker.is_known(key, coloring[0])
            found_scales[number] = ColorScale(*coloring, limits, values.all, known)
    return found_scales


def scene(view: View, scales: Mapping[int, ColorScale], domain: Any, bounds: Bounds) -> Scene:
    """Return the scene for the ray caster, without the domain's edges.

    Args:
        view: the view; layers of meshes are left out.
        scales: scales of the coloured layers.
        domain: coordinates of the whole domain along z, y and x.
        bounds: bounds of the domain along x, y and z.
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
    colorings = {number: colouring(layer) for number, layer in enumerate(view.layers)}
    any_scales = {
        n: ColorScale(*colored, (1.0, 2.0)) for n, colored in colorings.items() if colored
    }
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
    log = scale.colors.is_logarithmic(scale.limits)
    places, opacities = np.array(layer.opacity).T
    rows = np.geomspace(lo, hi, ROWS) if log else np.linspace(lo, hi, ROWS)
    on_scale = log and layer.places == "limits"  # opacities are then linear in the logarithm
    if layer.places == "limits":
        places = lo * (hi / lo) ** places if log else lo + (hi - lo) * places
    table = scale.colors.table(scale.limits)
    # Values beyond the limits have their own colour: a jump is two rows with the same value.
    values = np.concatenate([[lo], rows, [hi]])
    below, above = table.ends
    colors = np.concatenate([[below[:3]], scale.colors.ramp(ROWS)[:, :3], [above[:3]]])
    more = np.setdiff1d(places[places > 0.0] if log else places, values)
    between = np.stack([np.interp(more, values, channel) for channel in colors.T], axis=1)
    all_values = np.concatenate([values, more])
    at, ends = (np.log(all_values), np.log(places)) if on_scale else (all_values, places)
    points = np.column_stack(
        [all_values, np.concatenate([colors, between]), np.interp(at, ends, opacities)]
    )
    order = np.argsort(all_values, kind="stable")
    return Transfer(points[order], (*table.nan[:3], float(opacities.max())), log)
