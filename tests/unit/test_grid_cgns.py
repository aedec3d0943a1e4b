"""CGNS files of grids, beside VTK's reader, and libcgns and cgnscheck where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from uzushio.errors import GridError
from uzushio.grids import (
    Connection,
    Grid,
    GridZone,
    MappedVertices,
    Patch,
    box_grid,
    grid_of_mesh,
    read_cgns,
    write_cgns,
)
from uzushio.grids.cgns_nodes import add


def turned_box() -> Grid:
    """Zones in different directions, left-handed ones too, periodic along y and z."""
    return box_grid(
        (6, 5, 4),
        (1.0, 3.0, 2 * np.pi),
        zones=(2, 2, 1),
        periodic="yz",
        mapping="wavy",
        amplitude=0.02,
        orientations="any",
    )


def ends(grid: Grid) -> set[str]:
    """Connections without their direction."""
    return {min(str(c), str(c.reversed())) for c in grid.connections}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_cgns(turned_box(), tmp_path / "grid.cgns")
    return tmp_path / "grid.cgns"


def test_what_is_written_is_read_with_the_same_bits(written: Path) -> None:
    grid, read = turned_box(), read_cgns(written)
    assert [zone.name for zone in read.zones] == [zone.name for zone in grid.zones]
    for zone, other in zip(grid.zones, read.zones, strict=True):
        np.testing.assert_array_equal(zone.vertices, other.vertices)
        assert zone.boundaries == other.boundaries
    # The file has translations in single precision; those of the vertices are read.
    assert ends(read) == ends(grid)
    assert any(c.translation == (0, 0, 2 * np.pi) for c in read.connections)
    read.check()


def test_a_mesh_of_mapped_vertices_has_all_of_the_file(written: Path) -> None:
    mapped = read_cgns(written, mapped=True)
    assert all(isinstance(zone.vertices, MappedVertices) for zone in mapped.zones)
    grid = grid_of_mesh(mapped.mesh(volumes=False))
    for zone, other in zip(turned_box().zones, grid.zones, strict=True):
        np.testing.assert_array_equal(zone.vertices, other.vertices)
        assert zone.boundaries == other.boundaries
    assert ends(grid) == ends(turned_box())
    mapped.check()


def test_vtk_reads_zones_and_vertices(written: Path) -> None:
    reader_module = pytest.importorskip("vtkmodules.vtkIOCGNSReader")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet

    reader = reader_module.vtkCGNSReader()
    reader.SetFileName(str(written))
    reader.UpdateInformation()
    reader.EnableAllBases()
    reader.Update()
    base = reader.GetOutput().GetBlock(0)
    grid = turned_box()
    assert base.GetNumberOfBlocks() == len(grid.zones)
    for number, zone in enumerate(grid.zones):
        block = base.GetBlock(number)
        assert base.GetMetaData(number).Get(vtkCompositeDataSet.NAME()) == zone.name
        block = block.GetBlock(0) if block.IsA("vtkMultiBlockDataSet") else block
        dimensions = [0, 0, 0]
        block.GetDimensions(dimensions)
        assert dimensions == [n + 1 for n in zone.cells]
        points = vtk_to_numpy(block.GetPoints().GetData())
        np.testing.assert_array_equal(points, zone.vertices.reshape(-1, 3))


@pytest.mark.skipif(shutil.which("cgnscheck") is None, reason="cgnscheck is not installed")
def test_cgnscheck_finds_no_error(written: Path) -> None:
    done = subprocess.run(["cgnscheck", written], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "checking complete" in done.stdout and "ERROR" not in done.stdout, done.stdout
    others = {line for line in done.stdout.splitlines() if line.startswith("WARNING")}
    assert others <= {"WARNING:dataclass not given"}


#: Zone "a": unit cubes, x from 0 to 4. Zone "b" beyond it, in single precision, its axes y, z, x.
PROGRAM = r"""
#include <cgnslib.h>
#define DO(call) if (call) cg_error_exit()
static double xyz[3][60]; static float single[3][60];
int main(void) {
    int f, b, z, c, n = 0, m = 0;
    cgsize_t a_size[9] = {5, 4, 3, 4, 3, 2, 0, 0, 0}, b_size[9] = {4, 3, 3, 3, 2, 2, 0, 0, 0};
    cgsize_t a_max[6] = {5, 1, 1, 5, 4, 3}, b_min[6] = {1, 1, 1, 4, 3, 1};
    cgsize_t jmin[6] = {1, 1, 1, 5, 1, 3}, jmax[6] = {1, 4, 1, 5, 4, 3};
    cgsize_t inlet[6] = {1, 3, 1, 1, 1, 2}, rest[6] = {1, 1, 2, 1, 3, 2};
    int to_b[3] = {3, 1, 2}, to_a[3] = {2, 3, 1}, same[3] = {1, 2, 3};
    float zero[3] = {0, 0, 0}, up[3] = {0, 3, 0}, down[3] = {0, -3, 0};
    const char *axes[3] = {"CoordinateX", "CoordinateY", "CoordinateZ"};
    for (int k = 0; k < 3; ++k) for (int j = 0; j < 4; ++j) for (int i = 0; i < 5; ++i, ++n)
        xyz[0][n] = i, xyz[1][n] = j, xyz[2][n] = k;
    for (int k = 0; k < 3; ++k) for (int j = 0; j < 3; ++j) for (int i = 0; i < 4; ++i, ++m)
        single[0][m] = 4 + k, single[1][m] = i, single[2][m] = j;
    cg_set_file_type(CG_FILE_HDF5);
    DO(cg_open("made.cgns", CG_MODE_WRITE, &f));
    DO(cg_base_write(f, "Jet", 3, 3, &b));
    DO(cg_zone_write(f, b, "a", a_size, CGNS_ENUMV(Structured), &z));
    for (int d = 0; d < 3; ++d)
        DO(cg_coord_write(f, b, z, CGNS_ENUMV(RealDouble), axes[d], xyz[d], &c));
    DO(cg_zone_write(f, b, "b", b_size, CGNS_ENUMV(Structured), &z));
    for (int d = 0; d < 3; ++d)
        DO(cg_coord_write(f, b, z, CGNS_ENUMV(RealSingle), axes[d], single[d], &c));
    DO(cg_1to1_write(f, b, 1, "to b", "b", a_max, b_min, to_b, &c));
    DO(cg_1to1_write(f, b, 2, "to a", "a", b_min, a_max, to_a, &c));
    DO(cg_1to1_write(f, b, 1, "up", "a", jmin, jmax, same, &c));
    DO(cg_1to1_periodic_write(f, b, 1, c, zero, zero, up));
    DO(cg_1to1_write(f, b, 1, "down", "a", jmax, jmin, same, &c));
    DO(cg_1to1_periodic_write(f, b, 1, c, zero, zero, down));
    DO(cg_boco_write(f, b, 1, "first", CGNS_ENUMV(FamilySpecified), CGNS_ENUMV(PointRange), 2,
                     inlet, &c));
    DO(cg_goto(f, b, "Zone_t", 1, "ZoneBC_t", 1, "BC_t", c, "end"));
    DO(cg_famname_write("inlet"));
    DO(cg_boco_write(f, b, 1, "wall", CGNS_ENUMV(BCWall), CGNS_ENUMV(PointRange), 2, rest, &c));
    DO(cg_boco_gridlocation_write(f, b, 1, c, CGNS_ENUMV(IFaceCenter)));
    DO(cg_close(f));
    return 0;
}
"""


def test_a_file_of_libcgns_is_read(tmp_path: Path) -> None:
    (tmp_path / "make.c").write_text(PROGRAM)
    compiler = shutil.which("cc")
    build = [compiler or "cc", "-std=c99", "make.c", "-o", "make", "-lcgns"]
    if not compiler or subprocess.run(build, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("libcgns and its headers are not installed")
    subprocess.run(["./make"], cwd=tmp_path, check=True, timeout=60)
    grid = read_cgns(tmp_path / "made.cgns")
    a, b = grid.zones
    assert (a.cells, b.cells) == ((4, 3, 2), (3, 2, 2))
    np.testing.assert_array_equal(b.vertices[2, 1, 3], [6, 3, 1])
    assert a.boundaries == [
        (Patch("i-min", ((0, 2), (0, 1))), "inlet"),
        (Patch("i-min", ((0, 3), (1, 2))), "wall"),
    ]
    whole = Patch("i-max", ((0, 3), (0, 2)))
    assert grid.connections == [
        Connection("a", whole, "b", Patch("k-min", ((0, 3), (0, 2))), (3, 1, 2)),
        Connection(
            "a",
            Patch("j-min", ((0, 4), (0, 2))),
            "a",
            Patch("j-max", ((0, 4), (0, 2))),
            translation=(0.0, 3.0, 0.0),
        ),
    ]
    with pytest.raises(GridError, match="zone 'a', face i-min, range j 2:3, k 0:1: no boundary"):
        grid.check()
    grid.name_open_patches(lambda zone, patch: "rest")
    grid.check()


def two() -> Grid:
    x = np.stack(np.meshgrid(*(np.arange(3.0),) * 3, indexing="ij")[::-1], axis=-1)
    grid = Grid([GridZone("a", x), GridZone("b", x + np.array([2.0, 0, 0]))])
    whole = ((0, 2), (0, 2))
    grid.connections = [Connection("a", Patch("i-max", whole), "b", Patch("i-min", whole))]
    grid.name_open_patches(lambda zone, patch: "wall")
    return grid


def changed(tmp_path: Path, change: Callable[[h5py.File], None]) -> Path:
    path = tmp_path / "two.cgns"
    write_cgns(two(), path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def replace(node: h5py.Group, data: object) -> None:
    del node[" data"]
    node[" data"] = np.frombuffer(data, np.int8) if isinstance(data, bytes) else np.asarray(data)


def test_rind_and_single_precision_and_paths_of_donors_are_read(tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        zone = file["Base/a"]
        for axis in "XYZ":
            node = zone[f"GridCoordinates/Coordinate{axis}"]
            padded = np.pad(node[" data"][()], ((0, 1), (2, 0), (1, 1)), mode="edge")
            replace(node, padded.astype(np.float32))
        add(zone["GridCoordinates"], "Rind", "Rind_t", np.array([1, 1, 2, 0, 0, 1], np.int32))
        part = zone["ZoneGridConnectivity/connection_1"]
        replace(part, b"/Base/b")
        replace(part["PointRange"], np.array([[3, 3, 1], [3, 1, 3]], np.int32))  # j descends
        replace(part["PointRangeDonor"], np.array([[1, 3, 1], [1, 1, 3]], np.int32))
        del file["Base/b/ZoneGridConnectivity"]  # the direction back is implied

    read = read_cgns(changed(tmp_path, change))
    np.testing.assert_array_equal(read.zones[0].vertices, two().zones[0].vertices)
    assert read.connections == two().connections
    read.check()


def test_single_precision_is_mapped_and_what_cannot_be_is_read(tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        for zone, dtype in (("a", "<f4"), ("b", ">f8")):
            for axis in "XYZ":
                node = file[f"Base/{zone}/GridCoordinates/Coordinate{axis}"]
                replace(node, node[" data"][()].astype(dtype))

    grid = read_cgns(changed(tmp_path, change), mapped=True)
    assert isinstance(grid.zones[0].vertices, MappedVertices)
    assert isinstance(grid.zones[1].vertices, np.ndarray)
    for zone, other in zip(grid.zones, grid_of_mesh(grid.mesh()).zones, strict=True):
        np.testing.assert_array_equal(np.asarray(zone.vertices), other.vertices)
    np.testing.assert_array_equal(np.asarray(grid.zones[0].vertices), two().zones[0].vertices)


def test_a_bad_file_has_one_message_with_its_place(tmp_path: Path) -> None:
    connection = "Base/a/ZoneGridConnectivity/connection_1"
    condition = "Base/a/ZoneBC/BC_1"

    def relabel(node: str, label: str) -> Callable[[h5py.File], None]:
        return lambda file: file[node].attrs.__setitem__("label", np.bytes_(label))

    def lists(file: h5py.File) -> None:
        file[condition].move("PointRange", "PointList")

    def unstructured(file: h5py.File) -> None:
        replace(file["Base/a/ZoneType"], b"Unstructured")

    def rotation(file: h5py.File) -> None:
        above = add(file[connection], "Property", "GridConnectivityProperty_t")
        periodic = add(above, "Periodic", "Periodic_t")
        add(periodic, "RotationAngle", "DataArray_t", np.array([0, 0, 1], np.float32))

    def another_base(file: h5py.File) -> None:
        add(file, "Other", "CGNSBase_t", np.array([3, 3], np.int32))

    def data(node: str, values: object) -> Callable[[h5py.File], None]:
        return lambda file: replace(file[node], np.array(values, dtype=np.int32))

    x = "Base/a/GridCoordinates/CoordinateX"
    for change, words in (
        (lambda file: file[x].move(" data", "data"), "damaged, or no CGNS file"),
        (data(x, np.zeros((3, 3))), r"CoordinateX has the shape \(3, 3\), not \(3, 3, 3\)"),
        (lambda file: file.move(x, x[:-1] + "R"), "zone 'a' has no CoordinateX; Cartesian"),
        (data("Base/a", np.ones((3, 2))), r"zone 'a': its size has the shape \(3, 2\)"),
        (data("Base/a", [[3, 3, 3], [2, 3, 2], [0, 0, 0]]), r"\(3, 3, 3\) vertices and \[2, 3, 2"),
        (data("Base", [2, 2]), r"base has the dimensions \[2, 2\]"),
        (unstructured, "zone 'a' is unstructured"),
        (another_base, "several bases; name one of Base, Other"),
        (relabel("Base", "Thing_t"), "no CGNSBase_t"),
        (relabel(connection, "GridConnectivity_t"), "'connection_1': GridConnectivity_t is not"),
        (lists, "zone 'a', BC 'BC_1' has no PointRange"),
        (data(f"{condition}/PointRange", [[1, 1, 1], [1, 3, 4]]), r"\(1, 3, 4\) leaves the zone"),
        (data(f"{condition}/PointRange", [[2, 1, 1], [2, 3, 3]]), "lies inside the zone"),
        (data(f"{condition}/PointRange", [[1, 1, 1], [1, 1, 3]]), "is not a part of a face"),
        (data(f"{condition}/PointRange", [[1, 1, 1]]), r"the shape \(1, 3\)"),
        (data(f"{connection}/Transform", [1, 1, 3]), r"\(1, 1, 3\) is not a signed permutation"),
        (data(f"{connection}/Transform", [1, 3, 2]), "the one back disagrees"),
        (rotation, "connection 'connection_1' is periodic by a rotation"),
        (lambda file: replace(file[connection], b"c"), "there is no zone 'c'; there are: a, b"),
    ):
        with pytest.raises(GridError, match=words) as error:
            read_cgns(changed(tmp_path, change))
        assert str(error.value).startswith(str(tmp_path / "two.cgns"))


def test_other_files_are_no_cgns_files(tmp_path: Path) -> None:
    path = tmp_path / "other.cgns"
    for content, words in (
        (b"", "no CGNS file in HDF5"),
        (b"@(#)ADF Database Version B02012>", "adf2hdf"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "damaged, or no CGNS file"),
    ):
        path.write_bytes(content)
        with pytest.raises(GridError, match=words):
            read_cgns(path)
    with pytest.raises(GridError, match="No such file"):
        read_cgns(tmp_path / "none.cgns")
    with pytest.raises(GridError, match="no base 'B'; there are: Base"):
        read_cgns(changed(tmp_path, lambda file: None), base="B")


def test_names_that_cgns_does_not_allow_are_refused(tmp_path: Path) -> None:
    for name in ("a/b", "n" * 33, ""):
        grid = two()
        grid.zones[1].boundaries = [(patch, name) for patch, _ in grid.zones[1].boundaries]
        with pytest.raises(GridError, match="1 to 32 letters"):
            write_cgns(grid, tmp_path / "a.cgns")
    grid = two()
    grid.zones[0].name = "wall"
    with pytest.raises(GridError, match="a zone and a patch have the name 'wall'"):
        write_cgns(grid, tmp_path / "a.cgns")
    assert list(tmp_path.iterdir()) == []
