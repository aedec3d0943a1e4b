"""Slices and isosurfaces of curvilinear blocks, drawn by this project's own code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.domain.axes import Bounds
from uzushio.raycast import Camera
from uzushio.raycast.surface import (
    CurvilinearBlock,
    Surface,
    SurfacePaint,
    isosurface,
    paint,
    slice_surface,
)
from uzushio.render.view import IsosurfaceLayer, Layer, SliceLayer
from uzushio.render.vtk_filters import plane_inside
from uzushio.render.vtk_window import MeshPart

Vector = NDArray[np.float64]


def block_surfaces(
    layer: Layer, blocks: Sequence[CurvilinearBlock], bounds: Bounds
) -> list[Surface]:
    """Return the surfaces of a layer in blocks, with the values of all fields."""
    pieces = []
    for block in blocks:
        names = list(block.fields)
        if isinstance(layer, SliceLayer):
            plane = plane_inside(block.bounds, bounds, *layer.plane(bounds))
            pieces.append(slice_surface(block, *plane, names))
        elif isinstance(layer, IsosurfaceLayer):
            pieces += [
                isosurface(block, layer.field, value, names, layer.lighting)
                for value in layer.values
            ]
    return [surface for surface in pieces if len(surface.triangles)]


def paint_surfaces(parts: Sequence[MeshPart], camera: Camera, out: NDArray[Any]) -> None:
    """Draw surfaces into pixels of type `uzushio.compositing.DEPTH_PIXEL`."""
    painted = []
    for part in parts:
        surface: Surface = part.data
        size = float(np.linalg.norm(np.ptp(surface.points, axis=0)))
        for origin, normal in part.half_spaces:
            outward = np.array(normal) / np.linalg.norm(normal)
            # Surfaces in the plane are not lost to rounding.
            x, y, z = np.array(origin) + 1e-5 * size * outward
            surface = surface.clip((x, y, z), tuple(outward))
        if part.color is not None or part.table is None:
            r, g, b = (round(255 * channel) for channel in (part.color or (0.8,) * 3)[:3])
            color = (r, g, b, 255)
            painted.append((surface, SurfacePaint(color, lit=part.lighting)))
        else:
            number = surface.names.index(part.field)
            painted.append((surface, SurfacePaint.of_table(number, part.table, part.lighting)))
    paint(painted, camera, out)


class SurfacePicker:
    """Search for the first point of surfaces on a ray.

    Args:
        surfaces: the surfaces.
    """

    def __init__(self, surfaces: Sequence[Surface]) -> None:
        self._surfaces = surfaces

    def first(
        self,
        origin: Vector,
        direction: Vector,
        names: Sequence[str],
        parts: Sequence[tuple[float, float]] | None = None,
    ) -> tuple[float, dict[str, float]]:
        """Return the distance and values of the first intersection; see `Picker.first`."""
        nearest, values = np.inf, {}
        for number, surface in enumerate(self._surfaces):
            begin, end = (0.0, np.inf) if parts is None else parts[number]
            a, b, c = (surface.points[corner] for corner in surface.triangles.T)
            # Möller & Trumbore 1997.
            across = np.cross(direction, c - a)
            volume = ((b - a) * across).sum(axis=1)
            away = origin - a
            with np.errstate(all="ignore"):
                u = (away * across).sum(axis=1) / volume
                other = np.cross(away, b - a)
                v = other @ direction / volume
                distance = (other * (c - a)).sum(axis=1) / volume
                room = 1e-6 * float(np.linalg.norm(np.ptp(surface.points, axis=0)))
                hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
                hit &= (distance >= max(begin - room, 0.0)) & (distance <= end + room)
            if hit.any():
                at = int(np.argmin(np.where(hit, distance, np.inf)))
                if distance[at] < nearest:
                    nearest = float(distance[at])
                    weights = np.array([1.0 - u[at] - v[at], u[at], v[at]])
                    corners = surface.triangles[at]
                    values = {
                        name: float(weights @ surface.values(name)[corners])
                        for name in names
                        if name in surface.names
                    }
        return nearest, values
