"""Multiblock grids: zones with coordinates, named patches and connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from uzushio.domain import multiblock
from uzushio.domain.box import Triple
from uzushio.errors import GridError
from uzushio.grids.mapped import MappedVertices, Vertices, components_of
from uzushio.grids.patch import FACES, Connection, Patch, cells_of, rectangles
from uzushio.grids.volumes import cell_volumes


class CellError(GridError):
    """A cell of a grid is inverted, flat, or has a vertex that is not finite.

    Attributes:
        zone: name of its zone.
        cell: index (i, j, k) of the cell.
    """

    def __init__(self, message: str, zone: str, cell: Triple) -> None:
        super().__init__(message)
        self.zone, self.cell = zone, cell


@dataclass(eq=False)
class GridZone:
    """Structured zone of a grid.

    Attributes:
        name: name of the zone.
        vertices: x, y and z of all vertices, (k, j, i, 3): an array, or mapped from a file.
        boundaries: patches with the names of their boundary conditions.
    """

    name: str
    vertices: Vertices = field(repr=False)
    boundaries: list[tuple[Patch, str]] = field(default_factory=list)

    @property
    def cells(self) -> Triple:
        """Number of cells along i, j, k."""
        return cells_of(self.vertices)

    def set_boundary(self, face: str, name: str) -> None:
        """Name the boundary condition of all of a face."""
        self.boundaries.append((Patch.whole(face, self.cells), name))


@dataclass(eq=False)
class Grid:
    """Zones of a multiblock grid and their connections, each of which is listed once."""

    zones: list[GridZone]
    connections: list[Connection] = field(default_factory=list)

    @property
    def cells(self) -> int:
        """Number of cells of all zones."""
        return sum(int(np.prod(zone.cells)) for zone in self.zones)

    def zone(self, name: str) -> GridZone:
        """Return a zone by its name; raises `GridError` if there is none."""
        for zone in self.zones:
            if zone.name == name:
                return zone
        names = ", ".join(zone.name for zone in self.zones)
        raise GridError(f"there is no zone '{name}'; there are: {names}.")

    def conditions(self) -> list[str]:
        """Return the names of the boundary conditions, in order of appearance."""
        return list(dict.fromkeys(name for zone in self.zones for _, name in zone.boundaries))

    def parts(self) -> list[set[str]]:
        """Return the names of zones in groups that no connection joins."""
        groups = [{zone.name} for zone in self.zones]
        for c in self.connections:
            joined = [group for group in groups if {c.zone, c.donor} & group]
            groups = [group for group in groups if group not in joined]
            groups.append(set().union(*joined))
        return groups

    def open_sides(self, zone: GridZone, face: str) -> np.ndarray:
        """Return which cell sides of a face have neither a name nor a connection.

        Returns:
            Truth values with the axes (second, first) of the face.
        """
        first, second = Patch.whole(face, zone.cells).extents
        is_open = np.ones((second, first), dtype=bool)
        patches = [patch for patch, _ in zone.boundaries]
        for c in self.connections:
            patches += [c.patch] if c.zone == zone.name else []
            patches += [c.donor_patch] if c.donor == zone.name else []
        for patch in patches:
            if patch.face == face:
                along, across = (slice(*ends) for ends in patch.range)
                is_open[across, along] = False
        return is_open

    def open_patches(self) -> Iterator[tuple[GridZone, Patch]]:
        """Yield all patches that have neither a name nor a connection."""
        for zone in self.zones:
            for face in FACES:
                for rectangle in rectangles(self.open_sides(zone, face)):
                    yield zone, Patch(face, rectangle)

    def name_open_patches(self, name: Callable[[GridZone, Patch], str]) -> None:
        """Name the boundary condition of each patch that has neither a name nor a connection."""
        for zone, patch in list(self.open_patches()):
            zone.boundaries.append((patch, name(zone, patch)))

    def check(self) -> None:
        """Raise `GridError`, which names zone, face and cells, unless a solver can use the grid.

        Cells of a zone have volumes of the same sign: positive, or negative in a left-handed zone.
        Each cell side of each face has one name or one connection, and connected vertices coincide.
        """
        self.mesh()

    def mesh(self, volumes: bool = True) -> multiblock.Mesh:
        """Return the mesh for solvers, after the checks of `check`.

        The mesh refers to the arrays of vertices, which must not change any more.

        Args:
            volumes: whether the volumes of all cells are checked, for which all vertices are read.
        """
        if not self.zones:
            raise GridError("the grid has no zones.")
        zones = {}
        for zone in self.zones:
            if volumes:
                check_volumes(zone)
            x, y, z = components_of(zone.vertices)
            in_memory = not isinstance(zone.vertices, MappedVertices)
            coordinates = multiblock.Coordinates.arrays(x, y, z, in_memory=in_memory)
            made = multiblock.Zone(zone.name, zone.cells, coordinates)
            for patch, name in zone.boundaries:
                made.set_boundary(patch.face, name, range=patch.range)
            zones[zone.name] = made
        if len(zones) < len(self.zones):
            raise GridError(f"two zones have the name '{_repeated(self.zones)}'.")
        for c in self.connections:
            for name in (c.zone, c.donor):
                self.zone(name)
            multiblock.connect(
                zones[c.zone],
                c.patch.face,
                zones[c.donor],
                c.donor_patch.face,
                transform=c.transform,
                translation=c.translation,
                range=c.patch.range,
                donor_range=c.donor_patch.range,
            )
        try:
            return multiblock.Mesh(list(zones.values()))
        except RuntimeError as error:
            raise GridError(f"{error}.") from None


def check_volumes(zone: GridZone) -> None:
    """Raise `CellError`, which names the zone and a cell, unless all volumes have one sign.

    The cell is the one of least volume in a right-handed zone, of greatest in a left-handed one.
    """
    cells = zone.cells
    if min(cells) < 1:
        raise GridError(f"zone '{zone.name}' has {' x '.join(map(str, cells))} cells.")
    with np.errstate(invalid="ignore", over="ignore"):
        volumes = cell_volumes(zone.vertices)
    if not np.isfinite(volumes).all():
        finite = np.isfinite(zone.vertices).all(axis=-1)
        k, j, i = (int(n) for n in np.unravel_index(int(finite.argmin()), finite.shape))
        cell = (min(i, cells[0] - 1), min(j, cells[1] - 1), min(k, cells[2] - 1))
        message = f"zone '{zone.name}', vertex ({i}, {j}, {k}): it is not finite."
        raise CellError(message, zone.name, cell)
    hand = 1.0 if np.count_nonzero(volumes > 0) * 2 >= volumes.size else -1.0
    volumes *= hand
    if volumes.min() > 0:
        return
    k, j, i = (int(n) for n in np.unravel_index(int(volumes.argmin()), volumes.shape))
    wrong = int(np.count_nonzero(volumes <= 0))
    side = "right-handed" if hand > 0 else "left-handed, where volumes are negative"
    others = f" {wrong} cells of the zone are inverted or flat." if wrong > 1 else ""
    raise CellError(
        f"zone '{zone.name}', cell ({i}, {j}, {k}): its volume is {hand * volumes[k, j, i]:.6g}; "
        f"the zone is {side}.{others}",
        zone.name,
        (i, j, k),
    )


def _repeated(zones: Sequence[GridZone]) -> str:
    names = [zone.name for zone in zones]
    return next(name for name in names if names.count(name) > 1)
