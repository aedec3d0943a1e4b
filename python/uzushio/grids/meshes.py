"""Grids of meshes."""

from __future__ import annotations

from uzushio.domain.multiblock import Mesh
from uzushio.errors import GridError
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.patch import Connection, Patch
from uzushio.grids.point_ranges import merged


def grid_of_mesh(mesh: Mesh) -> Grid:
    """Return the grid of a solver's mesh, to be written to a file.

    Raises:
        GridError: the mesh has fewer than three dimensions.
    """
    if mesh.dimension != 3:
        raise GridError(f"the mesh has {mesh.dimension} dimensions; grids have 3.")
    grid, directed = Grid([]), []
    for zone in mesh.zones:
        boundaries = [(_patch(face, ends), name) for face, ends, name in zone.boundaries]
        grid.zones.append(GridZone(zone.name, zone.vertices(), boundaries))
        for face, ends, donor, donor_face, donor_ends, transform, shift in zone.connections:
            here, there = _patch(face, ends), _patch(donor_face, donor_ends)
            directed.append(
                Connection(zone.name, here, donor, there, tuple(transform), tuple(shift))
            )
    grid.connections = merged(directed)
    return grid


def _patch(face: str, ends: list[tuple[int, int]]) -> Patch:
    (a, b), (c, d) = ends
    return Patch(face, ((a, b), (c, d)))
