"""Nusselt numbers of boundaries."""

from __future__ import annotations

from uzushio.solvers.thermal.case import AXES, ThermalCase


def nusselt_factors(case: ThermalCase, scalar: str) -> dict[str, float]:
    """Return the factors from mean fluxes into the box to Nusselt numbers, by boundary.

    The Nusselt number is the flux over that of conduction between two opposite walls with different
    values. Boundaries of other axes have none.
    """
    by_wall: dict[str, float] = {}
    for axis, section in zip(AXES, case.grid.axes, strict=False):
        sides = (f"{axis}-min", f"{axis}-max")
        walls = [case.boundaries.get(side) for side in sides]  # type: ignore[call-overload]
        if not all(wall and wall.type == "wall" and scalar in wall.values for wall in walls):
            continue
        first, second = (wall.values[scalar] for wall in walls)
        if first == second:
            continue
        faces = section.positions()
        length = float(faces[-1] - faces[0])
        factor = length / (case.scalars[scalar].diffusivity * (first - second))
        by_wall |= {sides[0]: factor, sides[1]: -factor}
    return by_wall
