"""Layout of VTKHDF files: groups, attributes and arrays for each kind of data.

The format is specified in VTK's documentation (VTKHDF format specification, version 2.7). Further
requirements of vtkHDFReader in VTK 9.7: arrays have no axis where a structured grid has one point;
a single step has no time axis; `Steps/Values` has one number for each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from uzushio.domain.axes import reverse_axes
from uzushio.errors import OutputError

if TYPE_CHECKING:
    import h5py

    from uzushio._base.store.schema import StoreSchema
    from uzushio.domain.fields import Field

Kind = Literal["ImageData", "RectilinearGrid", "StructuredGrid", "UnstructuredGrid"]

#: Versions of kinds before 2.7 (VTK 9.7, ParaView 6.2).
_VERSIONS = {"ImageData": (2, 0), "UnstructuredGrid": (2, 0)}
#: Maximum number of points of an unstructured grid, which rank 0 holds with all cells.
MAX_POINTS = 50_000_000
#: VTK's cell types by dimension: vertex, line, quadrilateral, hexahedron.
_CELLS = (1, 3, 9, 12)


def kind_of(schema: StoreSchema, compatible: bool) -> Kind:
    """Choose the kind of VTK data for a schema.

    Args:
        schema: schema of the store.
        compatible: only kinds that ParaView before 6.2 reads.

    Raises:
        OutputError: an unstructured grid would be too large.
    """
    _, y, x = schema.count
    if schema.spacing is not None and (not compatible or (x > 1 and y > 1)):
        return "ImageData"
    if not compatible:
        return "StructuredGrid" if schema.lines is None else "RectilinearGrid"
    if schema.whole.size > MAX_POINTS:
        raise OutputError(
            f"The extract has {schema.whole.size} points, and the maximum for ParaView before 6.2 "
            f"is {MAX_POINTS}; leave `compatible` out, or set a stride."
        )
    return "UnstructuredGrid"


def shape(schema: StoreSchema, variable: Field, kind: Kind, steps: int) -> tuple[int, ...]:
    """Return the shape of the array of a variable with `steps` steps."""
    if kind == "UnstructuredGrid":
        return (steps * schema.whole.size, *variable.value_shape)
    return (steps, *(n for n in schema.count if n > 1), *variable.value_shape)


def large_arrays(
    schema: StoreSchema, kind: Kind, corners: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the arrays of the geometry that are as large as a field, by their path in the file.

    Args:
        schema: schema of the store.
        kind: kind of data.
        corners: coordinates of the points, (z, y, x, 3), if the schema has no lines.
    """
    if kind == "StructuredGrid" and corners is not None:
        return {"Points": corners}
    if kind != "UnstructuredGrid":
        return {}
    if corners is None:
        assert schema.lines is not None
        z, y, x = np.meshgrid(*schema.lines, indexing="ij")
        corners = np.stack([x, y, z], axis=-1)
    connectivity = _connectivity(schema.count)
    cells, each = connectivity.shape
    return {
        "Points": corners.reshape(-1, 3),
        "Connectivity": connectivity.ravel(),
        "Offsets": each * np.arange(cells + 1, dtype=np.int64),
        "Types": np.full(cells, _CELLS[each.bit_length() - 1], np.uint8),
    }


def large_shapes(schema: StoreSchema, kind: Kind) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Return shape and type of the arrays of `large_arrays`."""
    if kind == "StructuredGrid":
        return {"Points": ((*schema.count, 3), np.dtype(np.float64))}
    if kind != "UnstructuredGrid":
        return {}
    cells, corners = cells_of(schema), 1 << sum(n > 1 for n in schema.count)
    return {
        "Points": ((schema.whole.size, 3), np.dtype(np.float64)),
        "Connectivity": ((cells * corners,), np.dtype(np.int64)),
        "Offsets": ((cells + 1,), np.dtype(np.int64)),
        "Types": ((cells,), np.dtype(np.uint8)),
    }


def _connectivity(count: tuple[int, ...]) -> np.ndarray:
    """Return the points of each cell, in VTK's order."""
    points = np.arange(int(np.prod(count)), dtype=np.int64).reshape(count)
    cells = points[tuple(slice(0, max(n - 1, 1)) for n in count)].ravel()[:, np.newaxis]
    strides = (count[1] * count[2], count[2], 1)
    for axis in (2, 1, 0):
        if count[axis] > 1:
            beyond = cells + strides[axis]
            # The points of a quadrilateral are ordered around it, not by rows.
            cells = np.concatenate([cells, beyond[:, ::-1] if cells.shape[1] == 2 else beyond], 1)
    return cells


def write_geometry(group: h5py.Group, schema: StoreSchema, kind: Kind, cells: int) -> None:
    """Write the small part of the geometry to the group VTKHDF.

    Args:
        group: the group VTKHDF.
        schema: schema of the store.
        kind: kind of data.
        cells: number of cells of an unstructured grid.
    """
    group.attrs["Version"] = np.array(_VERSIONS.get(kind, (2, 7)), np.int64)
    group.attrs.create("Type", np.bytes_(kind))
    nz, ny, nx = schema.count
    if kind == "ImageData":
        assert schema.lines is not None and schema.spacing is not None
        group.attrs["WholeExtent"] = np.array([0, nx - 1, 0, ny - 1, 0, nz - 1], np.int64)
        group.attrs["Origin"] = np.array(reverse_axes(line[0] for line in schema.lines))
        group.attrs["Spacing"] = np.array(reverse_axes(schema.spacing))
        group.attrs["Direction"] = np.eye(3).ravel()
    elif kind == "UnstructuredGrid":
        group["NumberOfPoints"] = np.array([schema.whole.size], np.int64)
        group["NumberOfCells"] = np.array([cells], np.int64)
        group["NumberOfConnectivityIds"] = np.array([cells * _corners(schema)], np.int64)
    else:
        group.attrs["Dimensions"] = np.array([nx, ny, nz], np.int64)
        for axis, line in zip("ZYX", schema.lines or (), strict=False):
            group[f"{axis}Coordinates"] = np.asarray(line, np.float64)


def cells_of(schema: StoreSchema) -> int:
    """Return the number of cells between the points."""
    return int(np.prod([max(n - 1, 1) for n in schema.count]))


def _corners(schema: StoreSchema) -> int:
    return 1 << sum(n > 1 for n in schema.count)


def write_steps(group: h5py.Group, schema: StoreSchema, kind: Kind, times: list[float]) -> None:
    """Write the times and the offsets of the steps in the arrays."""
    steps, count = group.create_group("Steps"), len(times)
    steps.attrs["NSteps"] = np.int64(count)
    steps["Values"] = np.array(times, np.float64)
    still = np.zeros(count, np.int64)
    offsets = np.arange(count, dtype=np.int64)
    if kind == "UnstructuredGrid":
        offsets *= schema.whole.size
        steps["PartOffsets"], steps["NumberOfParts"] = still, still + 1
        steps["PointOffsets"] = still
        steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = still[:, np.newaxis]
    elif kind == "RectilinearGrid":
        for axis in "XYZ":
            steps[f"{axis}CoordinatesOffsets"] = still
    of_fields = steps.create_group("PointDataOffsets")
    for name in schema.variables:
        of_fields[name] = offsets
