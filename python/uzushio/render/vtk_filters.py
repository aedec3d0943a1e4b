"""Slices and isosurfaces of VTK meshes, as surfaces for VTK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from uzushio.domain.axes import Bounds
from uzushio.errors import RenderError
from uzushio.render.casting import colouring
from uzushio.render.view import IsosurfaceLayer, Layer, MeshLayer, SliceLayer
from uzushio.render.vtk_window import data_sets, values_of

#: Distance of a plane that touches a side of the domain, and of its slice from the side, as shares
#: of the domain's size.
_TOUCHING, _SHIFT = 1e-6, 1e-9


def meshes_of(layer: Layer, parts: Mapping[str, Any]) -> list[Any]:
    """Return this rank's data sets for a layer: those of its mesh, or all.

    Raises:
        RenderError: The mesh is missing, or VTK cannot draw layers of this kind.
    """
    if not isinstance(layer, MeshLayer):
        if not isinstance(layer, SliceLayer | IsosurfaceLayer):
            raise RenderError(
                f"A layer of kind {layer.kind} needs a uniform or rectilinear mesh; other meshes "
                "have slices, isosurfaces and surfaces."
            )
        if layer.opacity < 1.0:
            raise RenderError(
                "Layers of meshes that are neither uniform nor rectilinear are opaque: leave out "
                "`opacity`."
            )
        return data_sets(list(parts.values()))
    if layer.mesh not in parts:
        raise RenderError(
            f"There is no mesh {layer.mesh}; there is {', '.join(parts) or 'none at all'}."
        )
    return data_sets(parts[layer.mesh])


def surfaces(layer: Layer, data: list[Any], bounds: Bounds) -> list[Any]:
    """Return the surfaces of a layer in data sets; for a mesh, the data sets themselves.

    Raises:
        RenderError: A field is missing, has components, or belongs to cells instead of points.
    """
    colored = colouring(layer)
    pieces = []
    for mesh in data:
        if colored is not None:
            values_of(mesh, colored[1])
        if isinstance(layer, SliceLayer):
            plane = layer.plane(bounds)
            lies_in = _lies_in(mesh, *plane)
            ends = np.reshape(mesh.GetBounds(), (3, 2))
            pieces.append(mesh if lies_in else _slice(mesh, *plane_inside(ends, bounds, *plane)))
        elif isinstance(layer, IsosurfaceLayer):
            pieces.append(_isosurface(mesh, layer))
        else:
            pieces.append(mesh)
    return [surface for surface in pieces if surface.GetNumberOfPoints()]


def _lies_in(mesh: Any, origin: Any, normal: Any) -> bool:
    """Whether a flat mesh lies in a plane, which VTK's cutter does not find."""
    ends = np.reshape(mesh.GetBounds(), (3, 2))
    distances = _distances(ends, origin, normal)
    size = np.linalg.norm(np.ptp(ends, axis=1)) * np.linalg.norm(normal)
    return bool(mesh.GetNumberOfPoints() and np.abs(distances).max() <= 1e-9 * size)


def plane_inside(ends: Any, bounds: Bounds, origin: Any, normal: Any) -> tuple[Any, Any]:
    """Return a plane in a side of the domain moved into a mesh; VTK's cutter finds some sides only.

    Args:
        ends: ends of the mesh along x, y, z.
        bounds: ends of the domain along x, y, z.
        origin: point of the plane.
        normal: normal of the plane.
    """
    unit = np.array(normal, float) / np.linalg.norm(normal)
    size = float(np.linalg.norm(np.ptp(bounds, axis=1)))
    of_domain = _distances(bounds, origin, unit)
    of_mesh = _distances(ends, origin, unit)
    for domain_end, mesh_end, inward in zip(of_domain, of_mesh, (1.0, -1.0), strict=True):
        # The ends of a mesh may be of single precision.
        if max(abs(domain_end), abs(mesh_end)) <= _TOUCHING * size:
            return origin + (mesh_end + inward * _SHIFT * size) * unit, normal
    return origin, normal


def _distances(bounds: Any, origin: Any, normal: Any) -> Any:
    """Return the least and the largest distance of a box from a plane, along its normal."""
    ends = np.array(bounds, float) - np.reshape(origin, (3, 1))
    return np.sort(ends * np.reshape(normal, (3, 1)), axis=1).sum(axis=0)


def _slice(mesh: Any, origin: Any, normal: Any) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkPlane
    from vtkmodules.vtkFiltersCore import vtkCutter

    plane = vtkPlane()
    plane.SetOrigin(*origin)
    plane.SetNormal(*normal)
    cutter = vtkCutter()
    cutter.SetInputData(mesh)
    cutter.SetCutFunction(plane)
    cutter.GenerateTrianglesOff()
    cutter.Update()
    return cutter.GetOutput()


def _isosurface(mesh: Any, layer: IsosurfaceLayer) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkDataObject
    from vtkmodules.vtkFiltersCore import vtkContourFilter

    _, at_points = values_of(mesh, layer.field)
    if not at_points:
        raise RenderError(
            f"An isosurface needs values at points, and those of {layer.field} belong to cells: "
            "average them to the points first."
        )
    contour = vtkContourFilter()
    contour.SetInputData(mesh)
    contour.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, layer.field)
    for n, value in enumerate(layer.values):
        contour.SetValue(n, value)
    contour.ComputeNormalsOn()
    contour.Update()
    surface = contour.GetOutput()
    _wind_as_normals(surface)
    return surface


def _wind_as_normals(surface: Any) -> None:
    """Turn the triangles that wind against their normals, as those of a left-handed mesh do.

    VTK takes the lit side from the order of the corners: such triangles would be dark.
    """
    from vtkmodules.util.numpy_support import vtk_to_numpy

    normals, triangles = surface.GetPointData().GetNormals(), surface.GetPolys()
    if normals is None or triangles.GetMaxCellSize() != 3:
        return
    corners = vtk_to_numpy(triangles.GetConnectivityArray()).reshape(-1, 3)  # not a copy
    points = vtk_to_numpy(surface.GetPoints().GetData())[corners]
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    against = (across * vtk_to_numpy(normals)[corners].sum(axis=1)).sum(axis=1) < 0.0
    corners[against] = corners[against, ::-1]
