"""O-H grids of jets: a square core along the axis, and rings of four zones around it.

The axes of the rings are i along the jet, j outwards, k around; those of the core are x, y, z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uzushio.errors import GridError
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.matching import find_connections
from uzushio.grids.patch import Patch
from uzushio.grids.spacing import growing

SECTORS = ("east", "north", "west", "south")


@dataclass(frozen=True)
class _Shape:
    """Radii and distribution of cells of a section across the jet."""

    radius: float
    core: float
    roundness: float
    core_cells: int
    lip_spacing: float

    def angles(self, sector: int) -> np.ndarray:
        return np.pi / 2 * (sector - 0.5 + np.linspace(0.0, 1.0, self.core_cells + 1))

    def circle(self, sector: int) -> np.ndarray:
        """Return y and z on the unit circle, (k, 2)."""
        angles = self.angles(sector)
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1)

    def core_side(self, sector: int) -> np.ndarray:
        """Return y and z of a side of the core: a mean of a straight line and an arc, (k, 2)."""
        arc = self.circle(sector)
        t = np.linspace(0.0, 1.0, self.core_cells + 1)[:, None]
        straight = (1.0 - t) * arc[0] + t * arc[-1]
        weight = self.roundness
        return np.asarray(self.core * self.radius * ((1.0 - weight) * straight + weight * arc))

    def core_square(self) -> np.ndarray:
        """Return y and z of the core by transfinite interpolation, (k, j, 2)."""
        right, top, left, bottom = (self.core_side(sector) for sector in range(4))
        left, top = left[::-1], top[::-1]
        s = np.linspace(0.0, 1.0, self.core_cells + 1)
        u, v = s[None, :, None], s[:, None, None]
        sides = (1 - u) * left[:, None] + u * right[:, None]
        sides = sides + (1 - v) * bottom[None] + v * top[None]
        corners = (1 - v) * ((1 - u) * bottom[0] + u * bottom[-1])
        return np.asarray(sides - corners - v * ((1 - u) * top[0] + u * top[-1]))

    def inner(self, sector: int, cells: int) -> np.ndarray:
        """Return y and z from the core to the nozzle's radius, (k, j, 2)."""
        inside, outside = self.core_side(sector), self.radius * self.circle(sector)
        lengths = np.linalg.norm(outside - inside, axis=-1)
        rows = [growing(d, cells, self.lip_spacing, "the inner ring") / d for d in lengths]
        share = np.stack(rows)[:, ::-1, None]  # from the outer end
        return np.asarray(share * inside[:, None] + (1.0 - share) * outside[:, None])


def jet_grid(
    *,
    radius: float = 0.5,
    length: float = 15.0,
    far: float = 5.0,
    far_end: float | None = None,
    nozzle: float = 0.0,
    wall: float = 0.0,
    core: float = 0.5,
    roundness: float = 0.4,
    core_cells: int = 12,
    inner_cells: int = 12,
    wall_cells: int | None = None,
    outer_cells: int = 32,
    axial_cells: int = 96,
    nozzle_cells: int = 16,
    lip_spacing: float = 0.02,
    exit_spacing: float = 0.04,
    sections: int = 1,
) -> Grid:
    """Make an O-H grid of a jet along x, which leaves a nozzle at x = 0.

    Boundaries: inflow (inside of the nozzle), coflow (around it), side, outflow, and nozzle, its
    wall. Cells are finest at the lip and at the exit, and grow from there by constant ratios.

    Args:
        radius: inner radius of the nozzle.
        length: from the exit to the outflow.
        far: radius of the side boundary.
        far_end: radius of the side boundary at the outflow, to which it grows linearly from the
            exit; None: the same.
        nozzle: length of the nozzle in the grid; 0: the inflow is the exit.
        wall: thickness of the nozzle's wall; 0: a surface.
        core: half of the diagonal of the core's square, relative to the radius.
        roundness: curvature of the sides of the core, from 0, straight, to 1, arcs of a circle.
        core_cells: cells along a side of the core, a quarter of those around the jet.
        inner_cells: cells from the core to the radius.
        wall_cells: cells across the wall, behind its end; None: as wide as those at the lip.
        outer_cells: cells from the nozzle to the side.
        axial_cells: cells from the exit to the outflow.
        nozzle_cells: cells along the nozzle.
        lip_spacing: radial width of the cells at the lip.
        exit_spacing: axial length of the cells at the exit.
        sections: zones along the jet behind the exit.

    Raises:
        GridError: lengths or numbers of cells that do not fit together.
    """
    if not (0 < core < 1 and 0 <= roundness <= 1):
        raise GridError("the core is between 0 and 1 times the radius, its roundness 0 to 1.")
    if not far > radius + wall:
        raise GridError(f"the side at {far:g} lies inside of the nozzle.")
    if wall and not nozzle:
        raise GridError("a nozzle with a thick wall needs a length.")
    if not 1 <= sections <= axial_cells:
        raise GridError(f"{axial_cells} cells cannot be divided into {sections} sections.")
    if wall_cells is None:
        wall_cells = max(1, round(wall / lip_spacing))
    shape = _Shape(radius, core, roundness, core_cells, lip_spacing)
    behind = growing(length, axial_cells, exit_spacing, "the axis behind the exit")
    ends = [axial_cells * n // sections for n in range(sections + 1)]
    lines = {
        "jet" if sections == 1 else f"jet_{n + 1}": behind[ends[n] : ends[n + 1] + 1]
        for n in range(sections)
    }
    if nozzle:
        inside = -growing(nozzle, nozzle_cells, exit_spacing, "the axis of the nozzle")[::-1]
        lines = {"nozzle": inside} | lines
    grid = Grid([])
    for section, x in lines.items():
        core_zone = _extruded(x, np.broadcast_to(shape.core_square(), (len(x), *_k(shape), 2)))
        grid.zones.append(GridZone(f"{section}_core", core_zone))
        slope = ((far_end or far) - far) / length
        radii = far + slope * np.maximum(x, 0.0)
        for ring, sector, plane in _rings(
            shape, section, x, radii, wall, inner_cells, wall_cells, outer_cells
        ):
            zone = GridZone(f"{section}_{ring}_{SECTORS[sector]}", _extruded(x, plane))
            grid.zones.append(zone)
            if section == "nozzle":  # a thin wall coincides with itself: it is named first
                zone.set_boundary("j-max" if ring == "inner" else "j-min", "nozzle")
    find_connections(grid)
    names = list(lines)
    first, last = names[0], names[-1]

    def name(zone: GridZone, patch: Patch) -> str:
        section, ring = zone.name.rsplit("_", 1 if zone.name.endswith("core") else 2)[:2]
        if section == first and patch.face == "i-min":
            return "coflow" if ring == "outer" else "inflow"
        if section == last and patch.face == "i-max":
            return "outflow"
        return "side" if ring == "outer" and patch.face == "j-max" else "nozzle"

    grid.name_open_patches(name)
    grid.check()
    return grid


def _k(shape: _Shape) -> tuple[int, int]:
    return shape.core_cells + 1, shape.core_cells + 1


def _rings(
    shape: _Shape,
    section: str,
    x: np.ndarray,
    radii: np.ndarray,
    wall: float,
    inner_cells: int,
    wall_cells: int,
    outer_cells: int,
) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield the name of each ring, its sector, and y and z of its vertices, (i, k, j, 2)."""
    start = shape.radius + wall
    outer = np.stack(
        [
            start + growing(r - start, outer_cells, shape.lip_spacing, "the outer ring")
            for r in radii
        ]
    )
    for sector in range(4):
        circle = shape.circle(sector)
        inner = shape.inner(sector, inner_cells)
        yield "inner", sector, np.broadcast_to(inner, (len(x), *inner.shape))
        if wall and section != "nozzle":
            across = np.linspace(shape.radius, start, wall_cells + 1)
            plane = across[None, :, None] * circle[:, None]
            yield "wall", sector, np.broadcast_to(plane, (len(x), *plane.shape))
        yield "outer", sector, outer[:, None, :, None] * circle[None, :, None]


def _extruded(x: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """Return vertices (k, j, i, 3) of x, (i,), and of y and z, (i, k, j, 2)."""
    vertices = np.empty((*planes.shape[1:3], len(x), 3))
    vertices[..., 0] = x
    vertices[..., 1:] = np.moveaxis(planes, 0, 2)
    return vertices
