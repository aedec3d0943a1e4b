"""Averages in wall units: shear and fluxes at walls, and profiles scaled with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uzushio.solvers.thermal.case import AXES, ThermalCase

if TYPE_CHECKING:
    import xarray as xr


def add_wall_units(case: ThermalCase, averages: xr.Dataset) -> None:
    """Add the shear at walls and profiles in wall units to averages that depend on one axis.

    Nothing is added with bodies, without the mean velocity, or where no end of the axis is a wall.
    For the walls, along `wall`: `wall_shear`, the momentum flux ν ∂u/∂n from the flow into the
    wall; `u_tau`, the root of its magnitude; for each scalar s `wall_flux_s`, κ times the gradient
    along the inward normal with its sign changed, from the wall into the flow, and `s_tau`, this
    flux over u_tau. Along the axis, in units of the nearest wall: `wall_distance_plus`,
    `velocity_plus`, the velocity less the wall's, and `s_plus`, the wall's value less s. Values
    whose unit is 0 are NaN.

    Args:
        case: the case.
        averages: result of `block_solver.averages.dataset`.
    """
    left = {str(dim) for name in averages for dim in averages[name].dims} & {*AXES}
    if len(left) != 1 or case.bodies or "velocity" not in averages:
        return
    axis = left.pop()
    walls = [
        side
        for side, boundary in case.boundaries.items()
        if side.startswith(axis) and boundary.type == "wall"
    ]
    if not walls:
        return
    walls.sort(reverse=True)  # min before max
    position = averages[axis].values
    faces = case.grid.axes[AXES.index(axis)].positions()
    distances = np.stack(
        [abs(position - (faces[0] if side.endswith("min") else faces[-1])) for side in walls]
    )
    nearest, cells = distances.argmin(axis=0), distances.argmin(axis=1)
    gaps = distances.min(axis=1)
    nu, velocity = case.fluid.viscosity, averages["velocity"].values
    components = velocity.shape[-1]
    speeds = np.array([case.boundaries[side].velocity[:components] for side in walls])
    shear = nu * (velocity[cells] - speeds) / gaps[:, np.newaxis]
    shear[:, AXES.index(axis)] = 0.0
    u_tau = np.sqrt(np.linalg.norm(shear, axis=1))
    unit = u_tau[nearest]
    averages.coords["wall"] = walls

    def add(name: str, dims: tuple[str, ...], values: np.ndarray, text: str, unit: str) -> None:
        averages[name] = (dims, values, {"long_name": text, "units": unit or "1"})

    speed, units = "velocity relative to the nearest wall over its u_tau", case.units
    add("wall_shear", ("wall", "component"), shear, "shear at walls / density", units.text(2, -2))
    add("u_tau", ("wall",), u_tau, "friction velocity", units.text(1, -1))
    distance = distances.min(axis=0) * unit / nu
    add("wall_distance_plus", (axis,), distance, "distance from the nearest wall, u_tau/ν", "1")
    plus = _ratio(velocity - speeds[nearest], unit[:, np.newaxis])
    add("velocity_plus", (axis, "component"), plus, f"mean {speed}", "1")
    for name, scalar in case.scalars.items():
        if name not in averages:
            continue
        mean = averages[name].values
        given = [case.boundaries[side].values.get(name) for side in walls]
        fluxes = np.array([case.boundaries[side].fluxes.get(name, 0.0) for side in walls])
        slopes = gaps / scalar.diffusivity
        at_wall = mean[cells] + fluxes * slopes
        for number, value in enumerate(given):
            if value is not None:
                at_wall[number] = value
                fluxes[number] = (value - mean[cells[number]]) / slopes[number]
        tau = _ratio(fluxes, u_tau)
        plus = _ratio(at_wall[nearest] - mean, tau[nearest])
        flux_unit = units.text(1, -1, scalar.unit)
        add(f"wall_flux_{name}", ("wall",), fluxes, f"flux of {name} from the wall", flux_unit)
        add(f"{name}_tau", ("wall",), tau, f"flux of {name} over u_tau", scalar.unit)
        text = f"{name} of the nearest wall less the mean, over {name}_tau"
        add(f"{name}_plus", (axis,), plus, text, "1")


def _ratio(values: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return values in a unit; NaN where it is 0."""
    return np.asarray(values / np.where(unit == 0.0, np.nan, unit))
