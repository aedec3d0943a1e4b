"""Multiblock structured grids: files, connections, checks, quality, and generators.

A `Grid` has zones with coordinates, named boundary patches and one-to-one connections; `Grid.mesh`
checks it and returns the mesh for solvers. No MPI is needed::

    from uzushio.grids import jet_grid, read_grid, write_cgns

    write_cgns(jet_grid(length=20.0, far=8.0), "jet.cgns")
    mesh = read_grid("jet.cgns").mesh()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.grids.box import box_grid as box_grid
    from uzushio.grids.cgns import read_cgns as read_cgns
    from uzushio.grids.cgns import write_cgns as write_cgns
    from uzushio.grids.files import read_grid as read_grid
    from uzushio.grids.files import write_grid as write_grid
    from uzushio.grids.grid import CellError as CellError
    from uzushio.grids.grid import Grid as Grid
    from uzushio.grids.grid import GridZone as GridZone
    from uzushio.grids.jet import jet_grid as jet_grid
    from uzushio.grids.mapped import MappedVertices as MappedVertices
    from uzushio.grids.matching import find_connections as find_connections
    from uzushio.grids.meshes import grid_of_mesh as grid_of_mesh
    from uzushio.grids.neutral_map import read_neutral_map as read_neutral_map
    from uzushio.grids.neutral_map import write_neutral_map as write_neutral_map
    from uzushio.grids.patch import Connection as Connection
    from uzushio.grids.patch import Patch as Patch
    from uzushio.grids.picture import draw_cells as draw_cells
    from uzushio.grids.picture import draw_grid as draw_grid
    from uzushio.grids.plot3d import read_plot3d as read_plot3d
    from uzushio.grids.plot3d import write_plot3d as write_plot3d
    from uzushio.grids.quality import GridQuality as GridQuality
    from uzushio.grids.quality import ZoneQuality as ZoneQuality
    from uzushio.grids.quality import grid_quality as grid_quality
    from uzushio.grids.volumes import cell_volumes as cell_volumes
else:
    __getattr__, __dir__ = lazy.names(__name__)
