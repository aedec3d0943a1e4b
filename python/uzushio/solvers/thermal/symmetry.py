"""Symmetry of a flow past bodies."""

from __future__ import annotations

from math import hypot, inf

import numpy as np

from uzushio.solvers.thermal.case import AXES, ThermalCase

#: Reynolds number of the largest width of a body from which wakes shed vortices: that of a circular
#: cylinder (Jackson, J. Fluid Mech. 182 (1987) 23) is the smallest of the shapes.
_SHEDDING = 46.0
#: Maximum distance of a body's middle from the box's, over the width of the box.
_MIDDLE = 1e-6


def rests_symmetric(case: ThermalCase) -> bool:
    """Return whether a wake that sheds vortices begins symmetric, and so remains for long.

    Body and box have one middle along an axis across the inflow, whose ends are alike, and there is
    neither noise nor a script.
    """
    start = case.initial
    if not case.bodies or start.noise.get("velocity") or start.script is not None:
        return False
    corners = np.array([body.surface().corners for body in case.bodies.values()])
    for side, boundary in case.boundaries.items():
        if boundary.type != "inflow":
            continue
        speed = hypot(*boundary.velocity)
        across = [n for n in range(len(case.grid.axes)) if AXES[n] != side[0]]
        return any(
            _is_symmetric(case, axis, corners)
            and speed * _width(corners, axis) > _SHEDDING * case.fluid.viscosity
            for axis in across
        )
    return False


def _width(corners: np.ndarray, axis: int) -> float:
    """Return the largest width of a body along an axis; infinite ones have no ends to flow past."""
    widths = corners[:, 1, axis] - corners[:, 0, axis]
    return float(max((width for width in widths if width < inf), default=0.0))


def _is_symmetric(case: ThermalCase, axis: int, corners: np.ndarray) -> bool:
    """Return whether ends, cells and each body are symmetric along an axis."""
    ends = [
        [boundary for side, boundary in case.boundaries.items() if side == f"{AXES[axis]}-{end}"]
        for end in ("min", "max")
    ]
    faces = case.grid.axes[axis].positions()
    middle, near = 0.5 * (faces[0] + faces[-1]), _MIDDLE * (faces[-1] - faces[0])
    with np.errstate(invalid="ignore"):  # NaN: of a body without ends
        centres = 0.5 * (corners[:, 0, axis] + corners[:, 1, axis])
    return bool(
        ends[0] == ends[1]
        and np.abs(faces + faces[::-1] - 2.0 * middle).max() <= near
        and (np.abs(centres - middle) <= near).all()
    )
