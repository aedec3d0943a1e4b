"""Values beyond or below float32, in which rays are cast: scaled by powers of two before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from uzushio.raycast import Block, ColorTable, Isosurface, Scene, Slice, Transfer
from uzushio.raycast import Layer as CastLayer
from uzushio.render.casting import ColorScale
from uzushio.render.view import IsosurfaceLayer, View, VolumeLayer

#: Largest value of float32.
_LARGEST = (2.0 - 2.0**-23) * 2.0**127
#: Limit of scaled values: differences of them are finite.
_BOUND = _LARGEST / 8
#: Magnitude below which differences of values, or one over them, are not normal numbers of float32.
_SMALLEST = 2.0**-80
#: Largest exponent of a factor: products of it are finite.
_MAX_EXPONENT = 1000

#: Factors of fields, by name.
Factors = Mapping[str, float]


def factors(view: View, scales: Mapping[int, ColorScale]) -> dict[str, float]:
    """Return a power of two for each field whose values are too large or too small for float32.

    Colours, surfaces and opacities lie within float32 after the multiplication. Other fields are
    left out. Values count if they are drawn, large ones also if they are known.

    Args:
        view: view without layers of meshes.
        scales: colour scales of its layers.
    """
    drawn: dict[str, list[float]] = {}
    known: dict[str, list[float]] = {}
    for number, layer in enumerate(view.layers):
        if (scale := scales.get(number)) is not None:
            drawn.setdefault(scale.field, []).extend(scale.limits)
            known.setdefault(scale.field, []).extend(scale.values)
        if isinstance(layer, IsosurfaceLayer):
            drawn.setdefault(layer.field, []).extend(layer.values)
        elif isinstance(layer, VolumeLayer) and layer.places == "values":
            drawn.setdefault(layer.field, []).extend(place for place, _ in layer.opacity)
    by_field: dict[str, float] = {}
    for field, values in drawn.items():
        largest = _magnitude(values)
        exponent = min(-math.frexp(largest)[1], _MAX_EXPONENT)
        if largest > _LARGEST or 0.0 < largest < _SMALLEST:
            by_field[field] = math.ldexp(1.0, exponent)
        elif _magnitude(known.get(field, ())) > _LARGEST:
            by_field[field] = 1.0
    return by_field


def _magnitude(values: Iterable[float]) -> float:
    return max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def scaled_blocks(blocks: Sequence[Block], by: Factors) -> Sequence[Block]:
    """Return blocks whose fields are multiplied, and limited to a part of the range of float32."""
    if not by:
        return blocks
    return [
        Block(
            block.coordinates,
            block.start,
            block.cells,
            {
                name: _scaled(values, by[name]) if name in by else values
                for name, values in block.fields.items()
            },
        )
        for block in blocks
    ]


def _scaled(values: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # infinite products are limited too
        result = np.multiply(values, factor, dtype=np.float64)
    return np.clip(result, -_BOUND, _BOUND, out=result, where=np.isfinite(values))


def scaled_scene(scene: Scene, by: Factors) -> Scene:
    """Return the scene for such blocks."""
    return (
        replace(scene, layers=[_scaled_layer(layer, by) for layer in scene.layers]) if by else scene
    )


def _scaled_layer(layer: CastLayer, by: Factors) -> CastLayer:
    factor = by.get(layer.field, 1.0)
    if isinstance(layer, Slice):
        return replace(layer, colors=_scaled_table(layer.colors, factor))
    if isinstance(layer, Isosurface):
        of_colors = by.get(layer.color_field or layer.field, 1.0)
        table = None if layer.colors is None else _scaled_table(layer.colors, of_colors)
        return replace(layer, values=[factor * value for value in layer.values], colors=table)
    points = layer.medium.points.copy()
    points[:, 0] *= factor
    return replace(layer, transfer=Transfer(points, layer.medium.nan))


def _scaled_table(table: ColorTable, factor: float) -> ColorTable:
    return replace(table, lo=factor * table.lo, hi=factor * table.hi)
