"""VTK dataset of a part of a grid, on the same memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.domain.axes import reverse_axes

if TYPE_CHECKING:
    from uzushio.domain.axes import Lines
    from uzushio.domain.box import Index
    from uzushio.pipeline.need import Part


class VtkView:
    """Dataset of all stored points of a part, or of all stored elements.

    It is a vtkImageData if spacings are uniform, a vtkStructuredGrid if the grid is curvilinear,
    else a vtkRectilinearGrid; its extent has the grid's indices. Contiguous arrays are used in
    place; others (a component of a vector, a block without its ghost layers) are copied.

    Args:
        part: the part.
        names: names of fields in the dataset that differ from those in the part.
        elements: whether values are those of cells: of a part of elements, with `Need.corners`.

    Attributes:
        dataset: a pyvista dataset if pyvista is installed, else VTK's.
        copied: number of copied bytes.
    """

    def __init__(
        self, part: Part, names: Mapping[str, str] | None = None, elements: bool = False
    ) -> None:
        self.copied = 0
        self._arrays: list[Any] = []
        grid = self._grid(part, elements)
        for name, values in part.fields.items():
            array = self._wrap(values, values.shape[3:])
            array.SetName((names or {}).get(name, name))
            (grid.GetCellData() if elements else grid.GetPointData()).AddArray(array)
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

    def _grid(self, part: Part, elements: bool) -> Any:
        """Make the dataset with its points, without values."""
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkImageData, vtkStructuredGrid

        grid: Any
        corners = part.grid.corners(part.stored)
        if part.corners is not None:
            extent = _extent(*corners.pair)
            grid, points = vtkStructuredGrid(), vtkPoints()
            points.SetData(self._wrap(part.corners, (3,)))
            grid.SetExtent(extent)
            grid.SetPoints(points)
            return grid
        if elements:
            assert part.grid.faces is not None
            places = corners.slices(part.grid.points.start)
            z, y, x = (line[at] for line, at in zip(part.grid.faces, places, strict=True))
            return _rectilinear(_extent(*corners.pair), (z, y, x))
        extent = _extent(*part.stored.pair)
        whole = part.grid.coordinates
        assert whole is not None
        if (spacing := _spacing(whole)) is not None:
            grid = vtkImageData()
            grid.SetExtent(extent)
            grid.SetSpacing(reverse_axes(spacing))
            first = part.grid.points.start
            origin = [line[0] - s * d for line, s, d in zip(whole, first, spacing, strict=True)]
            grid.SetOrigin(reverse_axes(origin))
            return grid
        return _rectilinear(extent, part.coordinates)


def _rectilinear(extent: tuple[int, int, int, int, int, int], lines: Lines) -> Any:
    """Make a rectilinear dataset with coordinates along z, y, x."""
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid

    grid: Any = vtkRectilinearGrid()
    grid.SetExtent(extent)
    for axis, line in zip("ZYX", lines, strict=True):
        getattr(grid, f"Set{axis}Coordinates")(_to_vtk(line.copy()))
    return grid


def _to_vtk(array: np.ndarray) -> Any:
    """Make a VTK array on NumPy's memory; it holds a reference to NumPy's array."""
    from vtkmodules.util import numpy_support

    numpy_to_vtk: Callable[[np.ndarray], Any] = numpy_support.numpy_to_vtk
    return numpy_to_vtk(array)


def _extent(start: Index, count: Index) -> tuple[int, int, int, int, int, int]:
    z, y, x = start
    nz, ny, nx = count
    return x, x + nx - 1, y, y + ny - 1, z, z + nz - 1


def _spacing(lines: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[float] | None:
    """Return the spacings along z, y, x if they are uniform, else None."""
    from uzushio._base.store.schema import spacing

    spacings = [spacing(line) for line in lines]
    return None if None in spacings else [interval for interval in spacings if interval is not None]
