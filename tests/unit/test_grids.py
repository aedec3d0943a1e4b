"""Grids: volumes, generators, connections found by matching, and checks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from uzushio.errors import GridError
from uzushio.grids import (
    Connection,
    Grid,
    GridZone,
    Patch,
    box_grid,
    cell_volumes,
    find_connections,
    grid_quality,
    jet_grid,
    write_cgns,
)
from uzushio.grids.box import reoriented
from uzushio.grids.patch import rectangles

TRANSFORMS = [
    (a * p[0], b * p[1], c * p[2])
    for p in itertools.permutations((1, 2, 3))
    for a, b, c in itertools.product((1, -1), repeat=3)
]


def lattice(*counts: int, origin: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    """Vertices (k, j, i, 3) of unit cubes."""
    k, j, i = np.meshgrid(*(np.arange(n + 1.0) for n in reversed(counts)), indexing="ij")
    return np.stack([i, j, k], axis=-1) + np.array(origin, dtype=float)


def volume(grid: Grid) -> float:
    return sum(float(np.abs(cell_volumes(zone.vertices)).sum()) for zone in grid.zones)


def closed(grid: Grid, name: str = "wall") -> Grid:
    grid.name_open_patches(lambda zone, patch: name)
    return grid


def test_volume_of_a_trilinear_cell_is_the_integral_of_its_jacobian() -> None:
    x = lattice(1, 1, 1) + 0.2 * np.random.default_rng(1).random((2, 2, 2, 3))
    points = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3)  # Gauss: exact for the Jacobian's degree
    integral = 0.0
    for place in itertools.product(points, repeat=3):
        jacobian = np.zeros((3, 3))
        for k, j, i in itertools.product((0, 1), repeat=3):
            for axis in range(3):
                factors = [(1 - s, s)[n] for s, n in zip(place, (i, j, k), strict=True)]
                factors[axis] = (-1, 1)[(i, j, k)[axis]]
                jacobian[:, axis] += np.prod(factors) * x[k, j, i]
        integral += np.linalg.det(jacobian) / 8
    assert cell_volumes(x)[0, 0, 0] == pytest.approx(integral, rel=1e-14)
    assert cell_volumes(x[::-1])[0, 0, 0] == pytest.approx(-integral, rel=1e-14)


@pytest.mark.parametrize("mapping", ["none", "wavy", "warped"])
@pytest.mark.parametrize("orientations", ["same", "rotated", "any"])
def test_zones_of_a_box_fill_it_exactly_in_any_orientation(mapping, orientations) -> None:
    grid = box_grid(
        (9, 8, 7),
        (1.0, 2.0, np.pi),
        origin=(-1, 0, 5),
        stretching=(1.5, 0, 1),
        zones=(3, 2, 2),
        periodic="xz",
        mapping=mapping,
        orientations=orientations,
    )
    assert volume(grid) == pytest.approx(2 * np.pi, rel=1e-14)
    # 12 zones with 20 connections inside; 4 across the period along x, 6 along z.
    assert len(grid.connections) == 20 + 4 + 6
    areas = grid_quality(grid).areas
    assert set(areas) == {"y-min", "y-max"}
    assert areas["y-min"] == pytest.approx(np.pi, rel=1e-12)
    left = sum(zone.left_handed for zone in grid_quality(grid).zones)
    assert left == (6 if orientations == "any" else 0)


def test_volume_of_a_jet_grid_is_that_of_its_prism_and_converges_in_second_order() -> None:
    errors = []
    for n in (4, 8, 16):
        grid = jet_grid(
            length=2.0,
            far=3.0,
            core_cells=n,
            inner_cells=4,
            outer_cells=6,
            axial_cells=8,
            lip_spacing=0.05,
            exit_spacing=0.1,
        )
        sides = 4 * n
        prism = 2.0 * sides / 2 * 3.0**2 * np.sin(2 * np.pi / sides)
        assert volume(grid) == pytest.approx(prism, rel=1e-13)
        errors.append(abs(volume(grid) / (np.pi * 3.0**2 * 2.0) - 1))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders == pytest.approx([2, 2], abs=0.05)


def test_jet_with_a_thick_nozzle_and_a_side_that_grows_has_the_volume_of_the_frustum() -> None:
    sizes = {"core_cells": 6, "inner_cells": 4, "outer_cells": 8, "axial_cells": 12}
    spacing = {"lip_spacing": 0.05, "exit_spacing": 0.2, "nozzle_cells": 4}
    grid = jet_grid(
        length=6.0, far=2.0, far_end=4.0, nozzle=1.0, wall=0.1, sections=3, **sizes, **spacing
    )
    polygon = 12 * np.sin(2 * np.pi / 24)  # area of 24 sides, of radius 1
    frustum = polygon * 6.0 / 3 * (2.0**2 + 2.0 * 4.0 + 4.0**2)
    assert volume(grid) == pytest.approx(
        frustum + polygon * 1.0 * (2.0**2 - 0.6**2 + 0.5**2), rel=1e-13
    )
    quality = grid_quality(grid)
    assert quality.areas["inflow"] == pytest.approx(polygon * 0.25, rel=1e-12)
    assert quality.areas["coflow"] == pytest.approx(polygon * (4 - 0.36), rel=1e-12)
    assert quality.areas["outflow"] == pytest.approx(polygon * 16, rel=1e-12)
    around = 48 * np.sin(np.pi / 24)  # perimeter of 24 sides
    assert quality.areas["nozzle"] == pytest.approx(
        around * (0.5 + 0.6) + polygon * (0.36 - 0.25), rel=1e-12
    )
    assert not any(zone.left_handed for zone in quality.zones)
    lip = grid.zone("jet_1_inner_north").vertices[:, :, 0]
    widths = np.linalg.norm(lip[:, -1] - lip[:, -2], axis=-1)
    assert widths == pytest.approx(np.full(7, 0.05), rel=1e-9)


def test_a_wall_without_thickness_separates_both_sides_of_a_nozzle() -> None:
    grid = jet_grid(nozzle=1.0, core_cells=4, inner_cells=4, outer_cells=8, axial_cells=8)
    named = {(z.name, p.face) for z in grid.zones for p, name in z.boundaries if name == "nozzle"}
    assert named == {
        (f"nozzle_{ring}_{sector}", face)
        for sector in ("east", "north", "west", "south")
        for ring, face in (("inner", "j-max"), ("outer", "j-min"))
    }


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_matching_finds_every_orientation(transform) -> None:
    right = reoriented(lattice(2, 3, 4, origin=(5, 0, 0)), transform)
    grid = Grid([GridZone("left", lattice(5, 3, 4)), GridZone("right", right)])
    (connection,) = find_connections(grid)
    assert (connection.zone, connection.patch) == ("left", Patch("i-max", ((0, 3), (0, 4))))
    assert connection.donor == "right" and connection.transform == transform
    closed(grid).check()


def test_matching_finds_parts_of_faces_and_keeps_what_is_named() -> None:
    below = GridZone("below", lattice(6, 2, 4))
    zones = [
        GridZone("one", lattice(2, 3, 4, origin=(0, 2, 0))),
        GridZone("two", lattice(3, 3, 3, origin=(3, 2, 1))),
    ]
    below.boundaries.append((Patch("j-max", ((3, 4), (1, 4))), "slot"))
    grid = Grid([below, *zones])
    find_connections(grid)
    connections = {(c.donor, c.patch.range, c.donor_patch.range) for c in grid.connections}
    assert connections == {
        ("one", ((0, 2), (0, 4)), ((0, 2), (0, 4))),
        ("two", ((4, 6), (1, 4)), ((1, 3), (0, 3))),
    }
    closed(grid).check()
    rest = {p.range for p, name in below.boundaries if name == "wall" and p.face == "j-max"}
    assert rest == {((2, 6), (0, 1)), ((2, 3), (1, 4))}


def test_matching_allows_differences_relative_to_the_spacing() -> None:
    for noise, count in ((1e-6, 1), (1e-3, 0)):
        x = lattice(2, 2, 2) * 1e-3
        other = lattice(2, 2, 2, origin=(2, 0, 0)) * 1e-3
        other += noise * 1e-3 * np.random.default_rng(0).uniform(-1, 1, other.shape)
        grid = Grid([GridZone("a", x), GridZone("b", other)])
        assert len(find_connections(grid)) == count


def test_matching_connects_a_zone_to_itself_and_across_periods() -> None:
    angle = np.linspace(0, 2 * np.pi, 13)
    angle[-1] = 0.0  # the first and the last plane coincide
    r, z = np.array([1.0, 1.5, 2.0]), np.array([0.0, 0.5, 1.0])
    k, j, i = np.meshgrid(z, angle, r, indexing="ij")
    ring = GridZone("ring", np.stack([i * np.cos(j), i * np.sin(j), k], axis=-1))
    grid = Grid([ring])
    (connection,) = find_connections(grid)
    assert (connection.zone, connection.donor) == ("ring", "ring")
    assert {connection.patch.face, connection.donor_patch.face} == {"j-min", "j-max"}
    (connection,) = find_connections(grid, (0.0, 0.0, 1.0))
    assert (connection.patch.face, connection.donor_patch.face) == ("k-min", "k-max")
    assert connection.translation == (0, 0, 1)
    closed(grid).check()


def test_sides_at_an_axis_are_not_connected() -> None:
    x = lattice(2, 2, 2)
    x[:, :, 0, :2] = 0.0  # the face i-min is a line
    grid = Grid([GridZone("wedge", x)])
    assert find_connections(grid) == []


def test_matching_names_zones_that_overlap() -> None:
    grid = Grid([GridZone(name, lattice(1, 1, 1)) for name in "abc"])
    with pytest.raises(GridError, match=r"zones overlap: zone 'a', face i-min, range j 0:1, k 0:1"):
        find_connections(grid)


def test_parts_are_zones_that_no_connection_joins() -> None:
    grid = two()
    grid.zones.append(GridZone("far", lattice(1, 1, 1, origin=(99, 0, 0))))
    assert grid.parts() == [{"far"}, {"left", "right"}]


def test_rectangles_cover_a_mask_once() -> None:
    mask = np.random.default_rng(3).random((12, 9)) > 0.4
    counts = np.zeros(mask.shape, dtype=int)
    for (a, b), (c, d) in rectangles(mask):
        counts[c:d, a:b] += 1
    np.testing.assert_array_equal(counts, mask)


def two() -> Grid:
    """Two zones of unit cubes that meet at x = 4, with walls around."""
    grid = Grid([GridZone("left", lattice(4, 3, 2)), GridZone("right", lattice(4, 3, 2))])
    grid.zones[1].vertices[..., 0] += 4
    find_connections(grid)
    return closed(grid)


def test_a_mistake_has_one_message_with_zone_and_cells() -> None:
    def message(change) -> str:
        grid = two()
        change(grid)
        with pytest.raises(GridError) as error:
            grid.check()
        return str(error.value)

    def invert(grid: Grid) -> None:
        grid.zones[1].vertices[1, 1, 2, 0] = 10.5

    assert message(invert).startswith(
        "zone 'right', cell (2, 0, 0): its volume is -0.125; the zone is right-handed. 4 cells"
    )

    def invert_left_handed(grid: Grid) -> None:
        grid.zones[0].vertices = grid.zones[0].vertices[::-1].copy()
        grid.zones[0].vertices[0, 0, 0, 0] = 5.0

    assert message(invert_left_handed).startswith("zone 'left', cell (0, 0, 0): its volume is 0.")
    assert "left-handed, where volumes are negative" in message(invert_left_handed)

    def lose(grid: Grid) -> None:
        grid.zones[0].vertices[2, 1, 3, 1] = np.nan

    assert message(lose) == "zone 'left', vertex (3, 1, 2): it is not finite."

    def part(grid: Grid) -> None:
        grid.zones[1].vertices[2, 0, 0, 2] = 2.25

    assert message(part).startswith(
        "zone 'left', face i-max, range j 0:3, k 0:2: its vertex [4:5, 0:1, 2:3] at (4.0"
    )

    def unname(grid: Grid) -> None:
        grid.zones[0].boundaries = [b for b in grid.zones[0].boundaries if b[0].face != "k-max"]

    assert message(unname) == (
        "zone 'left', face k-max, range i 0:4, j 0:3: no boundary condition or connection covers "
        "it."
    )

    def overlap(grid: Grid) -> None:
        grid.zones[0].boundaries.append((Patch("i-max", ((1, 2), (0, 2))), "jet"))

    assert message(overlap) == (
        "zone 'left', face i-max, range j 1:2, k 0:2: two boundary conditions or connections cover "
        "it."
    )

    def turn(grid: Grid) -> None:
        grid.connections[0] = replace(grid.connections[0], transform=(1, -2, 3))

    assert "does not meet that of zone 'right'" in message(turn)

    def rename(grid: Grid) -> None:
        grid.zones[1].name = "left"

    assert message(rename) == "two zones have the name 'left'."

    def misplace(grid: Grid) -> None:
        patch = grid.connections[0].patch
        grid.connections[0] = Connection("left", patch, "middle", patch)

    assert message(misplace) == "there is no zone 'middle'; there are: left, right."
    with pytest.raises(GridError, match="no zones"):
        Grid([]).check()


def test_a_generator_refuses_what_cannot_be() -> None:
    for make, words in (
        (lambda: box_grid((4, 4, 4), mapping="wavy", amplitude=0.4), "inverted"),
        (lambda: box_grid((2, 2, 2), zones=(3, 1, 1)), "2 x 2 x 2 cells cannot be divided"),
        (lambda: box_grid((2, 2, 2), (1, -1, 1)), "lengths of a box are positive"),
        (lambda: box_grid((2, 2, 2), periodic="w"), "no axis 'w'"),
        (lambda: jet_grid(far=0.4), "inside of the nozzle"),
        (lambda: jet_grid(wall=0.1), "needs a length"),
        (lambda: jet_grid(core=1.2), "0 and 1"),
        (lambda: jet_grid(lip_spacing=0.4), "the inner ring: 12 cells"),
        (lambda: jet_grid(sections=97), "cannot be divided into 97 sections"),
    ):
        with pytest.raises(GridError, match=words):
            make()


def test_quality_of_a_sheared_and_stretched_zone_is_that_of_its_mapping() -> None:
    x = lattice(4, 3, 2)
    x[..., 0] = 2.0 ** x[..., 0] + x[..., 1]  # ratio 2; 45 degrees where cells are cubes
    grid = Grid([GridZone("sheared", x)])
    quality = grid_quality(grid).zones[0]
    assert quality.max_stretching == pytest.approx(2.0, rel=1e-14)
    assert quality.max_skewness == pytest.approx(45.0, abs=1e-9)
    assert quality.min_volume == pytest.approx(1.0, rel=1e-14)
    assert quality.min_volume_cell[0] == 0 and quality.volume == pytest.approx(15 * 3 * 2)
    right = GridZone("right", lattice(2, 3, 2))
    right.vertices[..., 0] = 16 + x[:, :, 4:5, 1] + 3 * right.vertices[..., 0]
    grid = Grid([grid.zones[0], right])
    find_connections(grid)
    assert grid_quality(grid).max_jump == pytest.approx(8 / 3, rel=1e-14)
    assert grid_quality(grid).max_jump_place == "zone 'sheared', face i-max, range j 0:3, k 0:2"


def test_the_command_makes_checks_converts_and_draws(uzushio: Run, tmp_path: Path) -> None:
    options = ["--cells", "8x6x4", "--zones", "2x1x1", "--lengths", "2 pi,1,1"]
    more = ["--mapping", "wavy", "--orientations", "any", "--periodic", "x"]
    done = uzushio("grid", "box", *options, *more, "--out", "wavy.cgns", "--picture", "wavy.png")
    assert done.returncode == 0, done.stderr
    assert "2 zones (1 left-handed), 192 cells, 2 connections, volume 6.28319." in done.stdout
    assert (tmp_path / "wavy.png").stat().st_size > 10_000
    done = uzushio("grid", "convert", "wavy.cgns", "--out", "wavy.p3d", "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    done = uzushio("grid", "check", "wavy.p3d", "--json")
    assert '"left_handed": true' in done.stdout
    done = uzushio("grid", "o-h", "--axial-cells", "4", "--sections", "8", "--out", "jet.cgns")
    assert done.returncode != 0 and not (tmp_path / "jet.cgns").exists()
    assert done.stderr == "uzushio: error: 4 cells cannot be divided into 8 sections.\n"
    for words, message in (
        (["box", "--cells", "8x6", "--out", "a.cgns"], "--cells 8x6: give three numbers"),
        (["box", "--cells", "2x2x2", "--lengths", "1,x,1", "--out", "a.cgns"], "--lengths 1,x,1"),
        (["box", "--cells", "2x2x2", "--out", "a.stl"], "suffix of a grid"),
        (["check", "none.cgns"], "none.cgns: No such file"),
    ):
        done = uzushio("grid", *words)
        assert done.returncode != 0 and message in done.stderr, done.stderr


def test_the_command_draws_an_inverted_cell(uzushio: Run, tmp_path: Path) -> None:
    grid = two()
    grid.zones[1].vertices[1, 1, 2, 0] = 10.5
    write_cgns(grid, tmp_path / "bad.cgns")
    done = uzushio("grid", "check", "bad.cgns", "--picture", "bad.png")
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith(
        "uzushio: error: bad.cgns: zone 'right', cell (2, 0, 0): its volume is -0.125; "
    )
    assert done.stderr.endswith("inverted or flat. bad.png shows it.\n")
    assert (tmp_path / "bad.png").stat().st_size > 10_000
