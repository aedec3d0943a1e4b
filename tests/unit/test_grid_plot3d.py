"""PLOT3D grids and neutral map files, beside SciPy's Fortran records and VTK's reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import FortranFile

from uzushio.errors import GridError
from uzushio.grids import (
    Connection,
    Grid,
    GridZone,
    Patch,
    box_grid,
    read_grid,
    read_neutral_map,
    read_plot3d,
    write_grid,
    write_neutral_map,
    write_plot3d,
)


def turned_box() -> Grid:
    return box_grid((6, 5, 4), zones=(2, 2, 1), periodic="yz", mapping="wavy", orientations="any")


def same_vertices(grid: Grid, other: Grid) -> None:
    assert len(grid.zones) == len(other.zones)
    for zone, read in zip(grid.zones, other.zones, strict=True):
        np.testing.assert_array_equal(zone.vertices, read.vertices)


@pytest.mark.parametrize("form", ["text", "fortran", "binary"])
def test_coordinates_are_read_with_the_same_bits(tmp_path: Path, form) -> None:
    write_plot3d(turned_box(), tmp_path / "grid.p3d", form)
    read = read_plot3d(tmp_path / "grid.p3d")
    same_vertices(turned_box(), read)
    assert [zone.name for zone in read.zones] == [f"block_{n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("with_count", [True, False])
def test_records_of_fortran_are_read_in_any_precision_and_byte_order(
    tmp_path: Path, order, width, with_count
) -> None:
    zones = turned_box().zones[: None if with_count else 1]
    with FortranFile(tmp_path / "grid.x", "w", header_dtype=np.dtype(f"{order}u4")) as file:
        if with_count:
            file.write_record(np.array([len(zones)], f"{order}i4"))
        sizes = [n + 1 for zone in zones for n in zone.cells]
        file.write_record(np.array(sizes, f"{order}i4"))
        for zone in zones:
            file.write_record(np.moveaxis(zone.vertices, -1, 0).astype(f"{order}f{width}"))
    read = read_plot3d(tmp_path / "grid.x")
    for zone, other in zip(zones, read.zones, strict=True):
        np.testing.assert_array_equal(zone.vertices.astype(f"f{width}"), other.vertices)


def test_a_long_record_in_parts_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uzushio.grids.plot3d._MAX_RECORD", 1000)
    write_plot3d(turned_box(), tmp_path / "grid.p3d", "fortran")
    raw = (tmp_path / "grid.p3d").read_bytes()
    count = 3 * 8 * turned_box().zones[0].vertices[..., 0].size
    sizes = 8 + 4 + 8 + 4 * 12  # records before the first coordinates
    markers = np.frombuffer(raw, np.int32)[[sizes // 4, sizes // 4 + 251]]
    assert count > 1000 and markers.tolist() == [-1000, 1000]
    same_vertices(turned_box(), read_plot3d(tmp_path / "grid.p3d"))


def test_vtk_reads_the_records(tmp_path: Path) -> None:
    module = pytest.importorskip("vtkmodules.vtkIOParallel")
    from vtkmodules.util.numpy_support import vtk_to_numpy

    write_plot3d(turned_box(), tmp_path / "grid.p3d", "fortran")
    reader = module.vtkMultiBlockPLOT3DReader()
    reader.SetXYZFileName(str(tmp_path / "grid.p3d"))
    reader.AutoDetectFormatOn()
    reader.Update()
    output = reader.GetOutput()
    zones = turned_box().zones
    assert output.GetNumberOfBlocks() == len(zones)
    for number, zone in enumerate(zones):
        points = vtk_to_numpy(output.GetBlock(number).GetPoints().GetData())
        np.testing.assert_allclose(points, zone.vertices.reshape(-1, 3), rtol=1e-7, atol=1e-12)


def test_text_may_have_repeated_words_and_exponents_of_fortran(tmp_path: Path) -> None:
    (tmp_path / "cube.xyz").write_text(
        "1\n2 2 2\n 0., 1.D0 0 1 0 1 0 1\n 2*0 2*1.0E+00 2*0 2*1\n4*0d0\n4*1\n"
    )
    (zone,) = read_plot3d(tmp_path / "cube.xyz").zones
    k, j, i = np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")
    np.testing.assert_array_equal(zone.vertices, np.stack([i, j, k], axis=-1))


def test_files_that_are_no_grids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.p3d"
    write_plot3d(turned_box(), path, "fortran")
    whole = path.read_bytes()
    blanked = np.arange(8, dtype=np.int32)
    for content, words in (
        (b"", "the file is empty"),
        (b"1 2", "the text has no grid"),
        (b"1\n2 2 2\n" + b"0 " * 23, "its 27 numbers are not those"),
        (b"1\n2 2 2\n" + b"0 " * 32, "without blanking"),  # with iblank
        (b"1\n2 2\n" + b"0 " * 8, "three-dimensional"),
        (b"1 2 2 2 e- 4 5", "no number"),
        (b"1\n2 2 2\n99999999999*0", "no number"),
        (whole[:-9], "it is no PLOT3D grid"),
        (whole + whole, "it is no PLOT3D grid"),
        (whole[:100] + bytes([7]) + whole[101:-1], "it is no PLOT3D grid"),
        (np.int32([1, 2, 2, 2]).tobytes() + bytes(8 * 24) + blanked.tobytes(), "no PLOT3D grid"),
        (b"\x00" * 64, "it is no PLOT3D grid"),
        (b"\xff" * 64, "it is no PLOT3D grid"),
        (np.int32([1 << 20, 9, 9]).tobytes(), "it is no PLOT3D grid"),
    ):
        path.write_bytes(content)
        with pytest.raises(GridError, match=words) as error:
            read_plot3d(path)
        assert str(error.value).startswith(str(path))
    with pytest.raises(GridError, match="No such file"):
        read_plot3d(tmp_path / "none.p3d")


def test_a_neutral_map_file_keeps_patches_and_connections(tmp_path: Path) -> None:
    write_grid(turned_box(), tmp_path / "grid.p3d")
    read = read_grid(tmp_path / "grid.p3d")
    renamed = {zone.name: f"block_{n}" for n, zone in enumerate(turned_box().zones, 1)}

    def ends(connections: list[Connection], names: dict[str, str]) -> set[str]:
        seen = [
            Connection(
                names.get(c.zone, c.zone),
                c.patch,
                names.get(c.donor, c.donor),
                c.donor_patch,
                c.transform,
                c.translation,
            )
            for c in connections
        ]
        return {min(str(c), str(c.reversed())) for c in seen}

    assert ends(read.connections, {}) == ends(turned_box().connections, renamed)
    for zone, other in zip(turned_box().zones, read.zones, strict=True):
        assert zone.boundaries == other.boundaries
    read.check()


def lattice(*counts: int) -> np.ndarray:
    k, j, i = np.meshgrid(*(np.arange(n + 1.0) for n in reversed(counts)), indexing="ij")
    return np.stack([i, j, k], axis=-1)


#: Block 2 lies beyond i-max of block 1: its k, reversed, is the j of block 1, its j the k.
MAP = """\
# ===== Neutral Map File =====
# Block#   IDIM   JDIM   KDIM
2
1 3 4 5
2 2 5 4

# Type            B1  F1    S1 E1   S2 E2   B2 F2   S1 E1   S2 E2  Swap
'ONE-TO-ONE'       1   4     1  4    1  5    2  3    1  5    4  1  TRUE
'viscous_solid'    1   3     1  4    1  5
"farfield_riem"    1   5     5  1    1  3
slot               2   2     1  2    1  3   ! primary axis i, secondary j
"""


def two_blocks() -> Grid:
    right = lattice(1, 4, 3)
    turned = np.stack([2 + right[..., 0], 3 - right[..., 2], right[..., 1]], axis=-1)
    return Grid([GridZone("first", lattice(2, 3, 4)), GridZone("second", turned)])


def test_a_neutral_map_file_by_hand_is_read_by_the_published_numbers_of_faces(
    tmp_path: Path,
) -> None:
    (tmp_path / "grid.nmf").write_text(MAP)
    grid = two_blocks()
    read_neutral_map(grid, tmp_path / "grid.nmf")
    first, second = grid.zones
    assert first.boundaries == [
        (Patch("i-min", ((0, 3), (0, 4))), "viscous_solid"),
        (Patch("j-min", ((0, 2), (0, 4))), "farfield_riem"),
    ]
    assert second.boundaries == [(Patch("k-max", ((0, 1), (0, 2))), "slot")]
    assert grid.connections == [
        Connection(
            "first",
            Patch("i-max", ((0, 3), (0, 4))),
            "second",
            Patch("i-min", ((0, 4), (0, 3))),
            (1, -3, 2),
        )
    ]
    grid.name_open_patches(lambda zone, patch: "open")
    grid.check()
    write_neutral_map(grid, tmp_path / "again.nmf")
    again = two_blocks()
    read_neutral_map(again, tmp_path / "again.nmf")
    assert again.connections == grid.connections


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2\n1 3", "3\n1 3", "the number of blocks is 2; the file has 3"),
        ("2 2 5 4", "2 2 5 5", "line 5: 2 2 5 5; second has 2 x 5 x 4 vertices"),
        ("1   4     1  4", "1   7     1  4", "line 8: there is no face 7 of block 1"),
        ("1   4     1  4", "9   4     1  4", "no face 4 of block 9"),
        ("1   3     1  4", "1   3     1  6", "line 9: the range .* leaves the zone"),
        ("1   3     1  4", "1   3     1  x", "line 9: .* are not whole numbers"),
        ("1  5    4  1  TRUE", "1  5", "line 8: .* words are too few for 'ONE-TO-ONE'"),
        ("1   3     1  4    1  5", "1   3", "line 9: 3 words are too few for 'viscous_solid'"),
    ],
)
def test_a_mistake_in_a_neutral_map_file_has_its_line(tmp_path: Path, old, new, words) -> None:
    assert old in MAP
    (tmp_path / "grid.nmf").write_text(MAP.replace(old, new))
    with pytest.raises(GridError, match=words):
        read_neutral_map(two_blocks(), tmp_path / "grid.nmf")
