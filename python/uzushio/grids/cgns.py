"""Structured grids in CGNS files (HDF5)."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from uzushio._base.error_text import system_sentence
from uzushio._base.files import atomic_file
from uzushio.domain.box import Triple
from uzushio.errors import GridError, OutputError
from uzushio.grids import cgns_nodes as nodes
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.mapped import MappedVertices, Vertices, components_of
from uzushio.grids.patch import Connection, Patch
from uzushio.grids.point_ranges import (
    begin_and_end,
    connection_of,
    donor_points,
    merged,
    patch_of,
    points_of,
)

_AXES = ("X", "Y", "Z")


def read_cgns(path: Path | str, base: str = "", *, mapped: bool = False) -> Grid:
    """Read the structured zones of a CGNS file, with their connections and named patches.

    A patch has the name of its family, or else of its node. Cells of solutions are not read. The
    grid is not checked; `Grid.mesh` does so.

    Args:
        path: the file, in HDF5.
        base: name of the base; "": the only one.
        mapped: whether vertices are mapped from the file, so that a rank reads only those that it
            uses, and ranks of a node share them; arrays in another form than memory's are read. The
            file must not change meanwhile.

    Raises:
        GridError: it is no such file, or has other zones or connections.
    """
    path = Path(path)
    try:
        if not h5py.is_hdf5(path):
            raise GridError(_no_hdf5(path))
        with h5py.File(path, "r", locking=False) as file:  # not all file systems have locks
            return _read_base(_base(file, base), mapped)
    except GridError as error:
        raise GridError(f"{path}: {error}") from None
    except (OSError, KeyError, ValueError, TypeError, RuntimeError, IndexError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise GridError(system_sentence(error)) from None
        raise GridError(f"{path} is damaged, or no CGNS file ({error}).") from None


def write_cgns(grid: Grid, path: Path | str) -> None:
    """Write a grid as a CGNS file, which other tools read.

    Each named patch is a `BC_t` of a family of its name; each connection a pair of
    `GridConnectivity1to1_t`. Coordinates are written in double precision.

    Raises:
        GridError: a name is too long for CGNS.
        OutputError: the file cannot be written.
    """
    path = Path(path)
    try:
        with atomic_file(path) as fresh, nodes.create_file(str(fresh)) as file:
            base = nodes.add(file, "Base", "CGNSBase_t", np.array([3, 3], dtype=np.int32))
            for name in grid.conditions():
                family = nodes.add(base, name, "Family_t")
                nodes.add(family, "FamilyBC", "FamilyBC_t", "UserDefined")
            for zone in grid.zones:
                if zone.name in grid.conditions():
                    raise ValueError(f"a zone and a patch have the name '{zone.name}'")
                _write_zone(base, grid, zone)
    except ValueError as error:
        raise GridError(f"{path}: {error}.") from None
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror or error}).") from None


def _no_hdf5(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(32)
    if b"ADF Database" in start:
        return "the file is in ADF, not in HDF5; the tool adf2hdf of CGNS converts it."
    return "the file is no CGNS file in HDF5."


def _base(file: h5py.File, name: str) -> h5py.Group:
    bases = dict(nodes.children(file, "CGNSBase_t"))
    if name and name not in bases:
        raise GridError(f"there is no base '{name}'; there are: {', '.join(bases)}.")
    if not bases:
        raise GridError("the file has no CGNSBase_t: it is no CGNS file.")
    if not name and len(bases) > 1:
        raise GridError(f"the file has several bases; name one of {', '.join(bases)}.")
    return bases[name] if name else next(iter(bases.values()))


def _read_base(base: h5py.Group, mapped: bool) -> Grid:
    dimensions = nodes.array(base).ravel().tolist()
    if dimensions != [3, 3]:
        raise GridError(f"the base has the dimensions {dimensions}; 3 of cells and space are read.")
    zones = dict(nodes.children(base, "Zone_t"))
    if not zones:
        raise GridError("the base has no zones.")
    grid = Grid([_read_zone(name, node, mapped) for name, node in zones.items()])
    directed = [c for name, node in zones.items() for c in _read_connections(grid, name, node)]
    grid.connections = merged(directed)
    return grid


def _read_zone(name: str, node: h5py.Group, mapped: bool) -> GridZone:
    kind = nodes.text(nodes.child(node, "ZoneType_t")) or "Structured"
    if kind != "Structured":
        raise GridError(f"zone '{name}' is {kind.lower()}; structured zones are read.")
    sizes = nodes.array(node)
    if sizes.shape != (3, 3):
        raise GridError(f"zone '{name}': its size has the shape {sizes.shape}, not (3, 3).")
    count = tuple(int(n) for n in sizes[0])
    if min(count) < 2 or any(int(c) != n - 1 for c, n in zip(sizes[1], count, strict=True)):
        raise GridError(f"zone '{name}': {count} vertices and {sizes[1].tolist()} cells.")
    coordinates = nodes.child(node, "GridCoordinates_t")
    if coordinates is None:
        raise GridError(f"zone '{name}' has no coordinates.")
    zone = GridZone(name, _read_vertices(name, coordinates, count[::-1], mapped))
    if (conditions := nodes.child(node, "ZoneBC_t")) is not None:
        for bc, condition in nodes.children(conditions, "BC_t"):
            where = f"zone '{name}', BC '{bc}'"
            family = nodes.text(nodes.child(condition, "FamilyName_t"))
            zone.boundaries.append((_read_patch(where, condition, zone.cells), family or bc))
    return zone


def _read_vertices(name: str, node: h5py.Group, count: tuple[int, ...], mapped: bool) -> Vertices:
    """Return the vertices of a zone, (k, j, i, 3), without its rind."""
    arrays = dict(nodes.children(node, "DataArray_t"))
    rind_node = nodes.child(node, "Rind_t")
    rind = [0] * 6 if rind_node is None else [int(n) for n in nodes.array(rind_node).ravel()]
    inner = tuple(slice(rind[2 * a], rind[2 * a] + count[2 - a]) for a in (2, 1, 0))
    stored = tuple(count[2 - a] + rind[2 * a] + rind[2 * a + 1] for a in (2, 1, 0))
    data = []
    for axis in _AXES:
        if f"Coordinate{axis}" not in arrays:
            raise GridError(
                f"zone '{name}' has no Coordinate{axis}; Cartesian coordinates are read, not "
                f"{', '.join(arrays) or 'none'}."
            )
        data.append(arrays[f"Coordinate{axis}"][" data"])
        if data[-1].shape != stored:
            raise GridError(
                f"zone '{name}': Coordinate{axis} has the shape {data[-1].shape}, not {stored}."
            )
    places = [values.id.get_offset() for values in data]  # None unless contiguous
    is_native = all(values.dtype.isnative for values in data)
    if mapped and not any(rind) and all(places) and is_native:
        x, y, z = (
            np.memmap(values.file.filename, values.dtype, "r", offset=place, shape=stored)
            for values, place in zip(data, places, strict=True)
        )
        return MappedVertices((x, y, z))
    vertices = np.empty((*count, 3))
    for c, values in enumerate(data):
        vertices[..., c] = values[inner]
    return vertices


def _read_patch(where: str, node: h5py.Group, cells: Triple) -> Patch:
    location = nodes.text(nodes.child(node, "GridLocation_t")) or "Vertex"
    ranges = dict(nodes.children(node, "IndexRange_t"))
    if "PointRange" not in ranges:
        raise GridError(f"{where} has no PointRange; lists of points or elements are not read.")
    begin, end = begin_and_end(where, nodes.array(ranges["PointRange"]))
    return patch_of(where, begin, end, cells, location)


def _read_connections(grid: Grid, zone: str, node: h5py.Group) -> list[Connection]:
    connections = []
    for _, part in nodes.children(node, "ZoneGridConnectivity_t"):
        others = ("GridConnectivity_t", "OversetHoles_t")
        for name, other in nodes.children(part, *others):
            raise GridError(
                f"zone '{zone}', '{name}': {nodes.label(other)} is not read, only one-to-one "
                "connections (GridConnectivity1to1_t)."
            )
        for name, connection in nodes.children(part, "GridConnectivity1to1_t"):
            where = f"zone '{zone}', connection '{name}'"
            donor = nodes.text(connection).rpartition("/")[2]
            ranges = dict(nodes.children(connection, "IndexRange_t"))
            transforms = dict(
                nodes.children(connection, '"int[IndexDimension]"', "int[IndexDimension]")
            )
            for key, here in (("PointRange", ranges), ("PointRangeDonor", ranges)):
                if key not in here:
                    raise GridError(f"{where} has no {key}.")
            vector = [int(n) for n in nodes.array(transforms["Transform"]).ravel()]
            connections.append(
                connection_of(
                    where,
                    grid,
                    zone,
                    donor,
                    begin_and_end(where, nodes.array(ranges["PointRange"])),
                    begin_and_end(where, nodes.array(ranges["PointRangeDonor"])),
                    vector,
                    _translation(where, connection),
                )
            )
    return connections


def _translation(where: str, node: h5py.Group) -> np.ndarray | None:
    """Return the translation of a periodic connection; None if it is not periodic."""
    properties = nodes.child(node, "GridConnectivityProperty_t")
    periodic = None if properties is None else nodes.child(properties, "Periodic_t")
    if periodic is None:
        return None
    arrays = {name: nodes.array(array) for name, array in nodes.children(periodic, "DataArray_t")}
    if np.any(arrays.get("RotationAngle", 0.0)):
        raise GridError(f"{where} is periodic by a rotation; translations are read.")
    return np.asarray(arrays["Translation"], dtype=np.float64).ravel()


def _write_zone(base: h5py.Group, grid: Grid, zone: GridZone) -> None:
    cells = np.array(zone.cells, dtype=np.int32)
    node = nodes.add(base, zone.name, "Zone_t", np.stack([cells + 1, cells, 0 * cells]))
    nodes.add(node, "ZoneType", "ZoneType_t", "Structured")
    coordinates = nodes.add(node, "GridCoordinates", "GridCoordinates_t")
    for component, axis in zip(components_of(zone.vertices), _AXES, strict=True):
        values = np.ascontiguousarray(component, dtype=np.float64)
        nodes.add(coordinates, f"Coordinate{axis}", "DataArray_t", values)
    if zone.boundaries:
        conditions = nodes.add(node, "ZoneBC", "ZoneBC_t")
        for number, (patch, name) in enumerate(zone.boundaries, 1):
            bc = nodes.add(conditions, f"BC_{number}", "BC_t", "FamilySpecified")
            nodes.add(bc, "PointRange", "IndexRange_t", points_of(patch, zone.cells))
            nodes.add(bc, "FamilyName", "FamilyName_t", name)
    directed = [c for c in grid.connections if c.zone == zone.name]
    directed += [c.reversed() for c in grid.connections if c.donor == zone.name]
    if directed:
        part = nodes.add(node, "ZoneGridConnectivity", "ZoneGridConnectivity_t")
        for number, c in enumerate(directed, 1):
            connection = nodes.add(part, f"connection_{number}", "GridConnectivity1to1_t", c.donor)
            nodes.add(connection, "PointRange", "IndexRange_t", points_of(c.patch, zone.cells))
            donor = donor_points(c, grid.zone(c.donor).cells)
            nodes.add(connection, "PointRangeDonor", "IndexRange_t", donor)
            nodes.add(
                connection,
                "Transform",
                '"int[IndexDimension]"',
                np.array(c.transform, dtype=np.int32),
            )
            if any(c.translation):
                _write_translation(connection, c)


def _write_translation(node: h5py.Group, connection: Connection) -> None:
    above = nodes.add(node, "GridConnectivityProperty", "GridConnectivityProperty_t")
    periodic = nodes.add(above, "Periodic", "Periodic_t")
    zero = np.zeros(3, dtype=np.float32)
    nodes.add(periodic, "RotationCenter", "DataArray_t", zero)
    nodes.add(periodic, "RotationAngle", "DataArray_t", zero)
    nodes.add(
        periodic, "Translation", "DataArray_t", np.array(connection.translation, dtype=np.float32)
    )
