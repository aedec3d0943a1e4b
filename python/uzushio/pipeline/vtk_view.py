"""A part of a grid as one of VTK's datasets, which looks at the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from uzushio.pipeline.need import Part
    from uzushio.staging.box import Triple


def dataset(part: Part) -> tuple[Any, int]:
    """Make a dataset of all points that a part stores.

    Its kind is vtkImageData where distances are equal, vtkRectilinearGrid, or vtkStructuredGrid
    where the grid is curvilinear; its extent has the grid's indices. Arrays that lie in memory
    without gaps are looked at, the others (of a vector's component, of a block without its ghost
    layers) are copied.

    Returns:
        The dataset, pyvista's if that is installed, and the bytes that were copied.
    """
    numpy_to_vtk = _numpy_to_vtk()
    grid, copied = _grid(part)
    for name, values in part.fields.items():
        lying = np.ascontiguousarray(values)
        copied += 0 if lying is values or values.flags.c_contiguous else lying.nbytes
        components = values.shape[3:]
        array = numpy_to_vtk(lying.reshape((-1, *components)))  # keeps `lying` itself
        array.SetName(name)
        grid.GetPointData().AddArray(array)
    try:
        from pyvista import wrap
    except ImportError:
        return grid, copied
    return wrap(grid), copied


def _grid(part: Part) -> tuple[Any, int]:
    """The points, without values."""
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkImageData, vtkRectilinearGrid, vtkStructuredGrid

    numpy_to_vtk = _numpy_to_vtk()
    grid: Any
    extent = _extent(part.stored.start, part.stored.count)
    if part.corners is not None:
        grid = vtkStructuredGrid()
        points = vtkPoints()
        lying = np.ascontiguousarray(part.corners)
        points.SetData(numpy_to_vtk(lying.reshape(-1, 3)))
        grid.SetExtent(extent)
        grid.SetPoints(points)
        return grid, 0 if part.corners.flags.c_contiguous else lying.nbytes
    whole = part.grid.coordinates
    assert whole is not None
    if (spacing := _spacing(whole)) is not None:
        grid = vtkImageData()
        grid.SetExtent(extent)
        grid.SetSpacing(spacing[::-1])
        first = part.grid.points.start
        origin = [line[0] - s * d for line, s, d in zip(whole, first, spacing, strict=True)]
        grid.SetOrigin(origin[::-1])
        return grid, 0
    grid = vtkRectilinearGrid()
    grid.SetExtent(extent)
    z, y, x = map(np.ascontiguousarray, part.coordinates)
    grid.SetXCoordinates(numpy_to_vtk(x))
    grid.SetYCoordinates(numpy_to_vtk(y))
    grid.SetZCoordinates(numpy_to_vtk(z))
    return grid, 0


def _numpy_to_vtk() -> Callable[[np.ndarray], Any]:
    """VTK's array that looks at the memory of NumPy's, and keeps that."""
    from vtkmodules.util.numpy_support import numpy_to_vtk

    return numpy_to_vtk


def _extent(start: Triple, count: Triple) -> tuple[int, int, int, int, int, int]:
    z, y, x = start
    nz, ny, nx = count
    return x, x + nx - 1, y, y + ny - 1, z, z + nz - 1


def _spacing(lines: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[float] | None:
    """Distances along z, y, x if they are the same everywhere."""
    from uzushio.extracts.frame import spacing

    found = [spacing(line) for line in lines]
    return None if None in found else [one for one in found if one is not None]
