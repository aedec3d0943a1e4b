"""Files of grids, by their suffixes."""

from __future__ import annotations

from pathlib import Path

from uzushio.errors import GridError
from uzushio.grids.cgns import read_cgns, write_cgns
from uzushio.grids.grid import Grid
from uzushio.grids.matching import find_connections
from uzushio.grids.neutral_map import read_neutral_map, write_neutral_map
from uzushio.grids.plot3d import read_plot3d, write_plot3d

CGNS = (".cgns", ".hdf", ".hdf5", ".h5")
PLOT3D = (".p3d", ".xyz", ".x", ".g", ".grd", ".fmt", ".ufmt", ".plot3d")


def read_grid(path: Path | str, *, mapped: bool = False) -> Grid:
    """Read a grid from a CGNS file, or from a PLOT3D file with the neutral map file beside it.

    The neutral map file has the name of the PLOT3D file and the suffix `.nmf`. Faces that no file
    names or connects are connected where their vertices coincide. `mapped`: of a CGNS file, see
    `read_cgns`.

    Raises:
        GridError: the file cannot be read.
    """
    path = Path(path)
    if path.suffix.lower() in CGNS:
        grid = read_cgns(path, mapped=mapped)
    elif path.suffix.lower() in PLOT3D:
        grid = read_plot3d(path)
        if (described := path.with_suffix(".nmf")).exists():
            read_neutral_map(grid, described)
    else:
        raise GridError(
            f"{path}: the suffix of a grid is that of CGNS ({', '.join(CGNS)}) or of PLOT3D "
            f"({', '.join(PLOT3D)})."
        )
    find_connections(grid)
    return grid


def write_grid(grid: Grid, path: Path | str) -> list[Path]:
    """Write a grid as a CGNS file, or as a PLOT3D file with a neutral map file; return the paths.

    Raises:
        GridError: the suffix is none of these.
        OutputError: a file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() in CGNS:
        write_cgns(grid, path)
        return [path]
    if path.suffix.lower() in PLOT3D:
        write_plot3d(grid, path)
        write_neutral_map(grid, path.with_suffix(".nmf"))
        return [path, path.with_suffix(".nmf")]
    raise GridError(
        f"{path}: the suffix of a grid is that of CGNS ({', '.join(CGNS)}) or of PLOT3D "
        f"({', '.join(PLOT3D)})."
    )
