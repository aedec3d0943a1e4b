"""Fields of a thermal flow on planes and lines through one point, gathered on rank 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.solvers.thermal.case import AXES, Boundary, Scalar, ThermalCase

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.solvers.block_solver.zone_arrays import ZoneArray

#: Distance around bodies that pictures show, over the largest extent of the bodies.
_AROUND = 4.0


@dataclass(frozen=True, eq=False)
class Plane:
    """Fields at the points where a plane cuts the lines through cell centres.

    Attributes:
        axes: indices of the horizontal and the vertical axis of pictures.
        normal: index of the third axis; None in two dimensions.
        at: position of the plane along it.
        edges: positions of the cell faces along both axes.
        velocity: (component, vertical, horizontal); None if not known.
        scalars: (vertical, horizontal) by name.
        fluid: whether points are in the fluid; None if all are.
    """

    axes: tuple[int, int]
    normal: int | None
    at: float
    edges: tuple[np.ndarray, np.ndarray]
    velocity: np.ndarray | None
    scalars: Mapping[str, np.ndarray]
    fluid: np.ndarray | None = None

    def centres(self, which: int) -> np.ndarray:
        """Return the positions of cell centres along the horizontal (0) or vertical (1) axis."""
        edges = self.edges[which]
        return np.asarray(0.5 * (edges[1:] + edges[:-1]))

    def speed(self) -> np.ndarray | None:
        """Return the magnitude of the velocity."""
        if self.velocity is None:
            return None
        return np.asarray(np.sqrt(np.sum(self.velocity**2, axis=0)))


@dataclass(frozen=True, eq=False)
class Line:
    """Fields along a line parallel to an axis, with the values at the boundaries of the box.

    Attributes:
        axis: index of the axis.
        at: position along the other axes of the case, by index.
        positions: along the axis.
        velocity: (component, position); NaN in bodies.
        scalars: by name; NaN in bodies.
    """

    axis: int
    at: Mapping[int, float]
    positions: np.ndarray
    velocity: np.ndarray
    scalars: Mapping[str, np.ndarray]


def focus(case: ThermalCase) -> list[float]:
    """Return the point through which planes and lines are drawn.

    It is the middle of the bounds of all bodies, moved into the box; without bodies of the box.
    """
    point = []
    for section, (low, high) in zip(case.grid.axes, reach(case), strict=True):
        faces = section.positions()
        point.append(float(np.clip(0.5 * (low + high), faces[0], faces[-1])))
    return point


def reach(case: ThermalCase) -> list[tuple[float, float]]:
    """Return the bounds of all bodies along each axis; of the box if there are none, or no end."""
    bounds = np.array([body.surface().corners for body in case.bodies.values()])
    ranges = []
    for axis, section in enumerate(case.grid.axes):
        faces = section.positions()
        ends = (faces[0], faces[-1])
        if len(bounds):
            given = bounds[:, 0, axis].min(), bounds[:, 1, axis].max()
            ends = tuple(a if isfinite(a) else b for a, b in zip(given, ends, strict=True))
        ranges.append((float(ends[0]), float(ends[1])))
    return ranges


def window(case: ThermalCase, plane: Plane) -> list[tuple[float, float]]:
    """Return the part of a plane that pictures show: around small bodies, and to the outflow."""
    ends = reach(case)
    around = _AROUND * max(high - low for low, high in ends)
    shown = []
    for axis, edges in zip(plane.axes, plane.edges, strict=True):
        low, high = ends[axis][0] - around, ends[axis][1] + around
        below, above = (
            any(
                side == name and boundary.type == "outflow"
                for side, boundary in case.boundaries.items()
            )
            for name in (f"{AXES[axis]}-min", f"{AXES[axis]}-max")
        )
        shown.append(
            (
                edges[0] if below else max(edges[0], low),
                edges[-1] if above else min(edges[-1], high),
            )
        )
    return shown


def conducts(case: ThermalCase, scalar: str) -> bool:
    """Return whether a scalar diffuses in a body."""
    return any(scalar in body.conduction for body in case.bodies.values())


def axes_of_planes(dimension: int) -> list[tuple[int, int]]:
    """Return the horizontal and the vertical axis of the pictures of all planes."""
    return [(0, 1)] if dimension == 2 else [(0, 2), (1, 2), (0, 1)]


def planes(case: ThermalCase, arrays: Sequence[ZoneArray], comm: MPI.Comm) -> list[Plane]:
    """Return the planes through `focus` on rank 0, none on other ranks (collective).

    Args:
        case: the case.
        arrays: velocity at cell centres and scalars; with bodies, which cells are fluid.
        comm: ranks of the solver.
    """
    point, slices = focus(case), []
    for axes in axes_of_planes(len(case.grid.axes)):
        normal = ({0, 1, 2} - set(axes)).pop()
        weights = _weights(case, normal, point)
        fields = {
            array.name: _gathered(array.array.parts, normal, weights, comm) for array in arrays
        }
        if comm.rank == 0:
            slices.append(_plane(case, axes, point, fields, fields.pop("fluid", None)))
    return slices


def plane_of(case: ThermalCase, axes: tuple[int, int], fields: Mapping[str, np.ndarray]) -> Plane:
    """Return a plane through `focus` of whole fields (k, j, i), with components last."""
    point = focus(case)
    normal = ({0, 1, 2} - set(axes)).pop()
    weights = _weights(case, normal, point)
    cut = {
        name: sum(weight * values.take(n, 2 - normal) for n, weight in weights.items())
        for name, values in fields.items()
    }
    return _plane(case, axes, point, cut, None)


def _plane(
    case: ThermalCase,
    axes: tuple[int, int],
    point: Sequence[float],
    fields: Mapping[str, Any],
    inside: np.ndarray | None,
) -> Plane:
    faces = [axis.positions() for axis in case.grid.axes]
    normal = ({0, 1, 2} - set(axes)).pop() if len(faces) == 3 else None
    velocity = fields.get("velocity")
    return Plane(
        axes=axes,
        normal=normal,
        at=0.0 if normal is None else point[normal],
        edges=(faces[axes[0]], faces[axes[1]]),
        velocity=None if velocity is None else np.moveaxis(velocity, -1, 0),
        scalars={name: values for name, values in fields.items() if name != "velocity"},
        fluid=None if inside is None else inside > 0.5,
    )


def _weights(case: ThermalCase, normal: int, point: Sequence[float]) -> dict[int, float]:
    """Return the layers of cells beside the plane, and their weights."""
    if normal >= len(case.grid.axes):
        return {0: 1.0}
    faces = case.grid.axes[normal].positions()
    return _between(0.5 * (faces[1:] + faces[:-1]), point[normal])


def _between(points: np.ndarray, position: float) -> dict[int, float]:
    """Return the indices of the points beside a position, and their weights."""
    upper = int(np.clip(np.searchsorted(points, position), 1, max(len(points) - 1, 1)))
    if len(points) == 1:
        return {0: 1.0}
    share = (position - points[upper - 1]) / (points[upper] - points[upper - 1])
    share = float(np.clip(share, 0.0, 1.0))
    return {n: w for n, w in ((upper - 1, 1.0 - share), (upper, share)) if w > 0.0}


def _gathered(
    parts: Sequence[tuple[tuple[int, ...], np.ndarray]],
    normal: int,
    weights: Mapping[int, float],
    comm: MPI.Comm,
) -> np.ndarray | None:
    """Return the weighted layers of all ranks' parts, (k, j, i) without the normal, on rank 0."""
    dropped = 2 - normal
    pieces = []
    for start, values in parts:
        for layer in weights:
            inside = layer - start[dropped]
            if 0 <= inside < values.shape[dropped]:
                place = [first for axis, first in enumerate(start[:3]) if axis != dropped]
                pieces.append((place, layer, np.asarray(values.take(inside, dropped), float)))
    all_pieces = comm.gather(pieces)
    if all_pieces is None:
        return None
    flat = [piece for rank in all_pieces for piece in rank]
    ends = [[at + n for at, n in zip(place, cut.shape, strict=False)] for place, _, cut in flat]
    result = np.zeros((*np.max(ends, axis=0), *flat[0][2].shape[2:]))
    for (j, i), layer, cut in flat:
        result[j : j + cut.shape[0], i : i + cut.shape[1]] += weights[layer] * cut
    return result


def lines(case: ThermalCase, slices: Sequence[Plane]) -> list[Line]:
    """Return the lines through `focus` along all axes, from the planes through it."""
    result, point = [], focus(case)
    for axis in range(len(case.grid.axes)):
        plane = next(candidate for candidate in slices if axis in candidate.axes)
        which = plane.axes.index(axis)
        across = plane.axes[1 - which]
        weights = _between(plane.centres(1 - which), point[across])
        assert plane.velocity is not None

        def cut(values: np.ndarray, which: int = which, weights: Any = weights) -> np.ndarray:
            taken = (w * values.take(n, values.ndim - 2 + which) for n, w in weights.items())
            return np.asarray(sum(taken))

        hidden = np.zeros(len(plane.centres(which)), bool)
        if plane.fluid is not None:
            hidden = cut(plane.fluid.astype(float)) < 0.5
        velocity = np.where(hidden, np.nan, cut(plane.velocity))
        scalars = {
            name: cut(values) if conducts(case, name) else np.where(hidden, np.nan, cut(values))
            for name, values in plane.scalars.items()
        }
        result.append(
            Line(
                axis,
                {other: point[other] for other in range(len(case.grid.axes)) if other != axis},
                np.concatenate(
                    [plane.edges[which][:1], plane.centres(which), plane.edges[which][-1:]]
                ),
                np.array(
                    [
                        with_ends(case, axis, ("uvw"[n], component))
                        for n, component in enumerate(velocity)
                    ]
                ),
                {name: with_ends(case, axis, (name, values)) for name, values in scalars.items()},
            )
        )
    return result


def with_ends(case: ThermalCase, axis: int, field: tuple[str, np.ndarray]) -> np.ndarray:
    """Return values along an axis (last of the array) with those at both ends of the box.

    Args:
        case: the case.
        axis: index of the axis.
        field: name of the field ("u", "v", "w" or a scalar) and its values at cell centres.
    """
    name, values = field
    faces = case.grid.axes[axis].positions()
    ends = []
    for side, n in (("min", 0), ("max", -1)):
        nearest = values[..., n]
        boundary = case.boundaries.get(f"{AXES[axis]}-{side}")  # type: ignore[call-overload]
        if boundary is None:  # periodic
            ends.append(0.5 * (values[..., 0] + values[..., -1]))
            continue
        width = float(np.diff(faces)[n])
        scalar = case.scalars.get(name)
        known = _at_boundary(boundary, axis, name, scalar, width)
        fixed, change = known
        ends.append(nearest + change if fixed is None else np.full_like(nearest, fixed))
    return np.concatenate([ends[0][..., None], values, ends[1][..., None]], axis=-1)


def _at_boundary(
    boundary: Boundary, axis: int, name: str, scalar: Scalar | None, width: float
) -> tuple[float | None, float]:
    """Return the value at a boundary; None and the change from the next cell if it is not given."""
    if scalar is not None:
        if name in boundary.values:
            return boundary.values[name], 0.0
        return None, 0.5 * width * boundary.fluxes.get(name, 0.0) / scalar.diffusivity
    component = "uvw".index(name)
    if boundary.type in ("wall", "inflow"):
        return boundary.velocity[component], 0.0
    return (0.0 if boundary.type == "symmetry" and component == axis else None), 0.0
