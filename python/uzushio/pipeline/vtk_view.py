"""VTK dataset of a part of a grid, on the same memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from uzushio.domain.box import Triple
    from uzushio.pipeline.need import Part


class VtkView:
    """Dataset of all stored points of a part.

    It is a vtkImageData if spacings are uniform, a vtkStructuredGrid if the grid is curvilinear,
    else a vtkRectilinearGrid; its extent has the grid's indices. Contiguous arrays are used in
    place; others (a component of a vector, a block without its ghost layers) are copied.

    Attributes:
        dataset: a pyvista dataset if pyvista is installed, else VTK's.
        copied: number of copied bytes.
    """

    def __init__(self, part: Part) -> None:
        self.copied = 0
        self._arrays: list[Any] = []
        grid = self._grid(part)
        for name, values in part.fields.items():
            array = self._wrap(values, values.shape[3:])
            array.SetName(name)
            grid.GetPointData().AddArray(array)
        try:
            from pyvista import wrap
        except ImportError:
            self.dataset: Any = grid
        else:
            self.dataset = wrap(grid)

    def release(self) -> bool:
        """Empty the dataset, and drop the references to the memory.

        Returns:
            False if other references to one of the arrays exist, which keep its memory.
        """
        self.dataset.Initialize()
        self.dataset = None
        kept = False
        while self._arrays:
            array = self._arrays.pop()
            # References besides `array` and the argument of getrefcount; and in VTK besides Python.
            if sys.getrefcount(array) > 2 or array.GetReferenceCount() > 1:
                kept = True
                continue
            # The reference to NumPy's array is in VTK's array, or (from 9.6 on) in its buffer.
            holders: list[Any] = [array]
            if hasattr(array, "GetBuffer"):
                holders.append(array.GetBuffer())
            for holder in holders:
                if hasattr(holder, "_numpy_reference"):
                    del holder._numpy_reference
        return not kept

    def _wrap(self, values: np.ndarray, components: tuple[int, ...]) -> Any:
        """Make a VTK array on NumPy's memory, or on a contiguous copy."""
        contiguous = np.ascontiguousarray(values)
        if not values.flags.c_contiguous:
            self.copied += contiguous.nbytes
        self._arrays.append(_to_vtk(contiguous.reshape((-1, *components))))
        return self._arrays[-1]

    def _grid(self, part: Part) -> Any:
        """Make the dataset with its points, without values."""
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
            points.SetData(self._wrap(part.corners, (3,)))
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
    """Make a VTK array on NumPy's memory; it holds a reference to NumPy's array."""
    from vtkmodules.util import numpy_support

    numpy_to_vtk: Callable[[np.ndarray], Any] = numpy_support.numpy_to_vtk
    return numpy_to_vtk(array)


def _extent(start: Triple, count: Triple) -> tuple[int, int, int, int, int, int]:
    z, y, x = start
    nz, ny, nx = count
    return x, x + nx - 1, y, y + ny - 1, z, z + nz - 1


def _spacing(lines: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[float] | None:
    """Return the spacings along z, y, x if they are uniform, else None."""
    from uzushio.extracts.schema import spacing

    found = [spacing(line) for line in lines]
    return None if None in found else [one for one in found if one is not None]
