"""First point of surfaces on a ray, with the values there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.render.vtk_window import surface_of

Vector = NDArray[np.float64]


class Picker:
    """Search trees of VTK data sets for intersections with rays.

    Args:
        data: data sets of any kind; of one that is no surface, its boundary.
    """

    def __init__(self, data: Sequence[Any]) -> None:
        from vtkmodules.vtkCommonDataModel import vtkStaticCellLocator

        self._trees: list[tuple[int, Any, Any]] = []
        for number, surface in enumerate(map(surface_of, data)):
            if surface.GetNumberOfCells():
                tree = vtkStaticCellLocator()
                tree.SetDataSet(surface)
                tree.BuildLocator()
                self._trees.append((number, surface, tree))

    def first(
        self,
        origin: Vector,
        direction: Vector,
        names: Sequence[str],
        parts: Sequence[tuple[float, float]] | None = None,
    ) -> tuple[float, dict[str, float]]:
        """Return the distance to the first intersection of a ray, and values there by name.

        Values of points are interpolated in the cell, as in the picture; an array that the surface
        does not have is left out. Without an intersection the distance is infinite.

        Args:
            origin: start of the ray (x, y, z).
            direction: unit vector along the ray.
            names: names of arrays with one component.
            parts: for each data set the distances between which it is drawn; None: everywhere.
        """
        from vtkmodules.vtkCommonCore import mutable
        from vtkmodules.vtkCommonDataModel import vtkGenericCell

        nearest, values = np.inf, {}
        for at, surface, tree in self._trees:
            bounds = np.array(surface.GetBounds()).reshape(3, 2)
            size = float(np.linalg.norm(np.ptp(bounds, axis=1)))
            reach = float(np.linalg.norm(bounds.mean(axis=1) - origin)) + size
            begin, end = (0.0, reach) if parts is None else parts[at]
            begin, end = max(begin - 1e-6 * size, 0.0), min(end + 1e-6 * size, reach)
            if begin >= end:
                continue
            place, part, number = mutable(0.0), mutable(0), mutable(0)
            point, inside, cell = [0.0] * 3, [0.0] * 3, vtkGenericCell()
            if not tree.IntersectWithLine(
                origin + begin * direction,
                origin + end * direction,
                1e-9 * size,
                place,
                point,
                inside,
                part,
                number,
                cell,
            ):
                continue
            distance = float((np.array(point) - origin) @ direction)
            if distance < nearest:
                nearest = distance
                values = _values(surface, int(number), cell, int(part), inside, names)
        return nearest, values


def _values(
    surface: Any, number: int, cell: Any, part: int, inside: list[float], names: Sequence[str]
) -> dict[str, float]:
    """Return the values at parametric coordinates of a cell."""
    from vtkmodules.vtkCommonCore import mutable

    weights = [0.0] * cell.GetNumberOfPoints()
    cell.EvaluateLocation(mutable(part), inside, [0.0] * 3, weights)
    values = {}
    for name in names:
        at_points = surface.GetPointData().GetArray(name)
        at_cells = surface.GetCellData().GetArray(name)
        if at_points is not None:
            corners = [cell.GetPointId(n) for n in range(len(weights))]
            pairs = zip(weights, corners, strict=True)
            values[name] = sum(share * at_points.GetTuple1(corner) for share, corner in pairs)
        elif at_cells is not None:
            values[name] = at_cells.GetTuple1(number)
    return values
