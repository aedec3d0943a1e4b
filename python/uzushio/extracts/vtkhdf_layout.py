"""How the points of a frame are told to VTK: VTKHDF's groups and attributes for each kind of data.

The format is specified in VTK's documentation (VTKHDF format specification, version 2.7). What
vtkHDFReader of VTK 9.7 takes besides: arrays have no axis where a structured grid has one point;
an only step has no axis of time; `Steps/Values` has as many numbers as there are steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from uzushio.errors import OutputError

if TYPE_CHECKING:
    import h5py

    from uzushio.extracts.frame import Frame, Variable

Kind = Literal["ImageData", "RectilinearGrid", "StructuredGrid", "UnstructuredGrid"]

#: Kinds that VTKHDF has had from the beginning, and from version 2.7 on (VTK 9.7, ParaView 6.2).
_VERSIONS = {"ImageData": (2, 0), "UnstructuredGrid": (2, 0)}
#: Points of an unstructured grid, which rank 0 holds with all cells.
MOST_POINTS = 50_000_000
#: VTK's number of a vertex, line, quadrilateral, hexahedron, by dimensions.
_CELLS = (1, 3, 9, 12)


def kind_of(frame: Frame, compatible: bool) -> Kind:
    """The kind of VTK's data that suits a frame.

    Args:
        frame: of the store.
        compatible: only what ParaView before 6.2 reads.

    Raises:
        OutputError: that would be too large.
    """
    _, y, x = frame.count
    if frame.spacing is not None and (not compatible or (x > 1 and y > 1)):
        return "ImageData"
    if not compatible:
        return "StructuredGrid" if frame.lines is None else "RectilinearGrid"
    if frame.whole.size > MOST_POINTS:
        raise OutputError(
            f"The extract has {frame.whole.size} points, and cells for ParaView before 6.2 can be "
            f"made of {MOST_POINTS} at most; leave `compatible` out, or take a stride."
        )
    return "UnstructuredGrid"


def shape(frame: Frame, variable: Variable, kind: Kind, steps: int) -> tuple[int, ...]:
    """Of the array of a variable over so many steps."""
    if kind == "UnstructuredGrid":
        return (steps * frame.whole.size, *variable.shape)
    return (steps, *(n for n in frame.count if n > 1), *variable.shape)


def large_arrays(frame: Frame, kind: Kind, corners: np.ndarray | None) -> dict[str, np.ndarray]:
    """The arrays of the geometry that are as large as a field, by their place in the file.

    Args:
        frame: of the store.
        kind: of data.
        corners: coordinates of the points, (z, y, x, 3), if the frame has no lines.
    """
    if kind == "StructuredGrid" and corners is not None:
        return {"Points": corners}
    if kind != "UnstructuredGrid":
        return {}
    if corners is None:
        assert frame.lines is not None
        z, y, x = np.meshgrid(*frame.lines, indexing="ij")
        corners = np.stack([x, y, z], axis=-1)
    connectivity = _connectivity(frame.count)
    cells, each = connectivity.shape
    return {
        "Points": corners.reshape(-1, 3),
        "Connectivity": connectivity.ravel(),
        "Offsets": each * np.arange(cells + 1, dtype=np.int64),
        "Types": np.full(cells, _CELLS[each.bit_length() - 1], np.uint8),
    }


def _connectivity(count: tuple[int, int, int]) -> np.ndarray:
    """Points of each cell, in VTK's order."""
    points = np.arange(int(np.prod(count)), dtype=np.int64).reshape(count)
    cells = points[tuple(slice(0, max(n - 1, 1)) for n in count)].ravel()[:, np.newaxis]
    strides = (count[1] * count[2], count[2], 1)
    for axis in (2, 1, 0):
        if count[axis] > 1:
            beyond = cells + strides[axis]
            # Around a quadrilateral, and not in rows.
            cells = np.concatenate([cells, beyond[:, ::-1] if cells.shape[1] == 2 else beyond], 1)
    return cells


def write_geometry(group: h5py.Group, frame: Frame, kind: Kind, cells: int) -> None:
    """Put all of the geometry into the group VTKHDF that is small.

    Args:
        group: VTKHDF's.
        frame: of the store.
        kind: of data.
        cells: of an unstructured grid.
    """
    group.attrs["Version"] = np.array(_VERSIONS.get(kind, (2, 7)), np.int64)
    group.attrs.create("Type", np.bytes_(kind))
    nz, ny, nx = frame.count
    if kind == "ImageData":
        assert frame.lines is not None and frame.spacing is not None
        group.attrs["WholeExtent"] = np.array([0, nx - 1, 0, ny - 1, 0, nz - 1], np.int64)
        group.attrs["Origin"] = np.array([line[0] for line in reversed(frame.lines)])
        group.attrs["Spacing"] = np.array(frame.spacing[::-1])
        group.attrs["Direction"] = np.eye(3).ravel()
    elif kind == "UnstructuredGrid":
        group["NumberOfPoints"] = np.array([frame.whole.size], np.int64)
        group["NumberOfCells"] = np.array([cells], np.int64)
        group["NumberOfConnectivityIds"] = np.array([cells * _corners(frame)], np.int64)
    else:
        group.attrs["Dimensions"] = np.array([nx, ny, nz], np.int64)
        for axis, line in zip("ZYX", frame.lines or (), strict=False):
            group[f"{axis}Coordinates"] = np.asarray(line, np.float64)


def cells_of(frame: Frame) -> int:
    """Number of cells between the points of a frame."""
    return int(np.prod([max(n - 1, 1) for n in frame.count]))


def _corners(frame: Frame) -> int:
    return 1 << sum(n > 1 for n in frame.count)


def write_steps(group: h5py.Group, frame: Frame, kind: Kind, times: list[float]) -> None:
    """Say which part of the arrays is which step's."""
    steps, count = group.create_group("Steps"), len(times)
    steps.attrs["NSteps"] = np.int64(count)
    steps["Values"] = np.array(times, np.float64)
    still = np.zeros(count, np.int64)
    offsets = np.arange(count, dtype=np.int64)
    if kind == "UnstructuredGrid":
        offsets *= frame.whole.size
        steps["PartOffsets"], steps["NumberOfParts"] = still, still + 1
        steps["PointOffsets"] = still
        steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = still[:, np.newaxis]
    elif kind == "RectilinearGrid":
        for axis in "XYZ":
            steps[f"{axis}CoordinatesOffsets"] = still
    of_fields = steps.create_group("PointDataOffsets")
    for name in frame.variables:
        of_fields[name] = offsets
