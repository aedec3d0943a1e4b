"""Meshes, fields and attributes that the channel solver publishes."""

from __future__ import annotations

import numpy as np

from uzushio.domain.box import Box
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.contract import Field, Mesh


def walls(mesh: str, planes: tuple[int, int], cells: int) -> tuple[int, int]:
    """Return the number of wall planes of a rank below and above those of the core.

    No centre lies on a wall. Of the faces, the core has the upper wall but not the lower one.
    """
    first, end = planes
    return int(first == 0), int(end == cells and mesh == "centres")


def meshes(case: ChannelCase, planes: tuple[int, int], rows: tuple[int, int]) -> dict[str, Mesh]:
    """Return the points of a rank that has some planes and rows of cells."""
    grid = case.grid
    faces = grid.wall_faces()
    centres = np.concatenate([faces[:1], 0.5 * (faces[1:] + faces[:-1]), faces[-1:]])
    x = np.arange(grid.nx) * grid.lx / grid.nx
    y = np.arange(grid.ny) * grid.ly / grid.ny
    result = {}
    for name, z in (("centres", centres), ("faces", faces)):
        below, above = walls(name, planes, grid.nz)
        start = (planes[0] + 1 - below, rows[0], 0)
        count = (planes[1] - planes[0] + below + above, rows[1] - rows[0], grid.nx)
        result[name] = Mesh.rectilinear(name, (z, y, x), blocks=(Box(start, count),))
    return result


def fields(case: ChannelCase) -> dict[str, Field]:
    """Return velocity and pressure."""
    unit = case.flow.velocity_unit
    described = {
        "u": ("centres", unit, "streamwise velocity"),
        "v": ("centres", unit, "spanwise velocity"),
        "w": ("faces", unit, "wall-normal velocity"),
        "p": ("centres", f"{unit}^2", "pressure over density"),
    }
    return {
        name: Field(name, (mesh,), "vertex", attributes={"unit": unit, "description": text})
        for name, (mesh, unit, text) in described.items()
    }


def numbers(case: ChannelCase) -> dict[str, int | float | str]:
    """Return the flow's parameters in a case."""
    grid, flow = case.grid, case.flow
    return {
        **flow.model_dump(exclude_none=True),
        "viscosity": flow.viscosity,
        "periodic": "x y",
        "length_unit": "h",
        "time_unit": f"h/{flow.velocity_unit}",
        "lx": grid.lx,
        "ly": grid.ly,
    }
