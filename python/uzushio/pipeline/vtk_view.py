"""A part of a grid as one of VTK's datasets, which looks at the same memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from uzushio.pipeline.need import Part
    from uzushio.staging.box import Triple


class VtkView:
    """A dataset of all points that a part stores.

    Its kind is vtkImageData where distances are equal, vtkRectilinearGrid, or vtkStructuredGrid
    where the grid is curvilinear; its extent has the grid's indices. Arrays that lie in memory
    without gaps are looked at, the others (of a vector's component, of a block without its ghost
    layers) are copied.

    Attributes:
        dataset: pyvista's if that is installed, else VTK's.
        copied: bytes that were copied.
    """

    def __init__(self, part: Part) -> None:
        self.copied = 0
        self._arrays: list[Any] = []
        grid = self._grid(part)
        for name, values in part.fields.items():
            array = self._look(values, values.shape[3:])
            array.SetName(name)
            grid.GetPointData().AddArray(array)
        try:
            from pyvista import wrap
        except ImportError:
            self.dataset: Any = grid
        else:
            self.dataset = wrap(grid)

    def release(self) -> bool:
        """Empty the dataset, and look at the memory no more.

        Returns:
            False if somebody keeps one of the arrays, whose memory then stays looked at.
        """
        self.dataset.Initialize()
        self.dataset = None
        kept = False
        while self._arrays:
            array = self._arrays.pop()
            # More than this name and the question; more than what this name stands for.
            if sys.getrefcount(array) > 2 or array.GetReferenceCount() > 1:
                kept = True
                continue
            # NumPy's array hangs on VTK's, or (from 9.6 on) on its buffer.
            holders: list[Any] = [array]
            if hasattr(array, "GetBuffer"):
                holders.append(array.GetBuffer())
            for holder in holders:
                if hasattr(holder, "_numpy_reference"):
                    del holder._numpy_reference
        return not kept

    def _look(self, values: np.ndarray, components: tuple[int, ...]) -> Any:
        """VTK's array with the memory of NumPy's, or of a copy without gaps."""
        lying = np.ascontiguousarray(values)
        if not values.flags.c_contiguous:
            self.copied += lying.nbytes
        self._arrays.append(_to_vtk(lying.reshape((-1, *components))))
        return self._arrays[-1]

    def _grid(self, part: Part) -> Any:
        """The points, without values."""
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import (
            vtkImageData,
            vtkRectilinearGrid,
            vtkStructuredGrid,
        )

        grid: Any
        extent = _extent(part.stored.start, part.stored.count)
        if part.corners is not None:
            grid, points = vtkStructuredGrid(), vtkPoints()
            points.SetData(self._look(part.corners, (3,)))
            grid.SetExtent(extent)
            grid.SetPoints(points)
            return grid
        whole = part.grid.coordinates
        assert whole is not None
        if (spacing := _spacing(whole)) is not None:
            grid = vtkImageData()
            grid.SetExtent(extent)
            grid.SetSpacing(spacing[::-1])
            first = part.grid.points.start
            origin = [line[0] - s * d for line, s, d in zip(whole, first, spacing, strict=True)]
            grid.SetOrigin(origin[::-1])
            return grid
        grid = vtkRectilinearGrid()
        grid.SetExtent(extent)
        for axis, line in zip("ZYX", part.coordinates, strict=True):
            getattr(grid, f"Set{axis}Coordinates")(_to_vtk(line.copy()))
        return grid


def _to_vtk(array: np.ndarray) -> Any:
    """VTK's array with the memory of NumPy's, which it keeps."""
    from vtkmodules.util import numpy_support

    numpy_to_vtk: Callable[[np.ndarray], Any] = numpy_support.numpy_to_vtk
    return numpy_to_vtk(array)


def _extent(start: Triple, count: Triple) -> tuple[int, int, int, int, int, int]:
    z, y, x = start
    nz, ny, nx = count
    return x, x + nx - 1, y, y + ny - 1, z, z + nz - 1


def _spacing(lines: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[float] | None:
    """Distances along z, y, x if they are the same everywhere."""
    from uzushio.extracts.frame import spacing

    found = [spacing(line) for line in lines]
    return None if None in found else [one for one in found if one is not None]
