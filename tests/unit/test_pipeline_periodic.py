"""Periodic axes: derivatives and pictures across the end of the period, sums over one period."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from PIL import Image
from pipeline_case import Flow, Grab, Lines, grab, stretched

from uzushio import staging
from uzushio.domain.box import Box
from uzushio.errors import PipelineError, StagingError
from uzushio.pipeline.interpolation import Interpolation
from uzushio.pipeline.model import load
from uzushio.pipeline.periodic_wrap import PeriodicWrap
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.quadrature import weights
from uzushio.pipeline.selection import SelectionSettings, nearest
from uzushio.pipeline.stencils import interpolation
from uzushio.pipeline.stream import Grid
from uzushio.staging import Mesh

PERIODIC = {"periodic": "x y"}
VELOCITY = """\
  omega: {kind: vorticity, of: [u, v, w]}
  q: {kind: q_criterion, of: [u, v, w]}
  chain: {kind: gradient, of: q, axis: y}
"""
PICTURE = """\
sources:
  steep: {kind: gradient, of: u, axis: x}
views:
  all:
    size: [160, 120]
    camera: {azimuth: 35, elevation: 30}
    layers:
    - {kind: isosurface, field: u, values: [0.3], color: {field: v, limits: [-1, 1]}}
    - {kind: slice, field: v, normal: z, at: -0.9}
    - {kind: volume, field: u, opacity: [[-1, 0], [1, 0.3]]}
actions:
- {picture: {view: all, file: p.png}}
- {grab: {fields: [u, v], ghosts: 1, cells: true}}
- {plot: {series: {fields: [u], reduce: [mean, rms, integral]}}, name: s}
"""


def turning(n: int, length: float = 2.0 * np.pi) -> np.ndarray:
    return length * np.arange(n) / n


def lines(nx: int = 12, ny: int = 10, nz: int = 9) -> Lines:
    return stretched(nz, -1.0, 1.0), turning(ny), turning(nx)


def flow(grid: Lines, **more) -> Flow:
    return Flow(
        {"m": grid},
        {
            "u": ("m", lambda x, y, z, n: np.sin(x + y) * (1.0 - z * z)),
            "v": ("m", lambda x, y, z, n: np.cos(x) * np.sin(2 * y) + z),
            "w": ("m", lambda x, y, z, n: np.sin(2 * x) * np.cos(y) * z),
        },
        **more,
    )


@pytest.mark.parametrize("n", [3, 16, 32])
def test_the_derivative_of_a_sine_has_the_error_of_the_scheme_across_the_period_too(
    tmp_path: Path, n: int
) -> None:
    """Central differences of second order turn cos(x) into cos(x) sin(h) / h, everywhere."""
    grid = lines(n, n)
    made = Flow(
        {"m": grid}, {"f": ("m", lambda x, y, z, n: np.sin(x) + np.cos(y))}, attributes=PERIODIC
    )
    (g,) = grab(made, "  g: {kind: gradient, of: f}", "g", folder=tmp_path)
    factor = np.sinc(2.0 / n)
    _, y, x = np.meshgrid(*grid, indexing="ij")
    np.testing.assert_allclose(g[..., 0], factor * np.cos(x), atol=1e-12)
    np.testing.assert_allclose(g[..., 1], -factor * np.sin(y), atol=1e-12)
    np.testing.assert_allclose(g[..., 2], 0.0, atol=1e-12)


def test_a_flow_that_is_moved_along_has_its_vortices_moved(tmp_path: Path) -> None:
    grid = lines()
    h = grid[2][1], grid[1][1]
    moved = Flow(
        {"m": grid},
        {
            name: ("m", lambda x, y, z, n, f=formula: f(x - 5 * h[0], y - 3 * h[1], z, n))
            for name, (_, formula) in flow(grid).fields.items()
        },
        attributes=PERIODIC,
    )
    here = grab(flow(grid, attributes=PERIODIC), VELOCITY, "omega", "q", "chain", folder=tmp_path)
    there = grab(moved, VELOCITY, "omega", "q", "chain", folder=tmp_path)
    for field, other in zip(here, there, strict=True):
        np.testing.assert_allclose(np.roll(field, (3, 5), (1, 2)), other, atol=1e-11)


def test_a_staggered_field_is_interpolated_across_the_end_of_the_period(tmp_path: Path) -> None:
    grid = lines(24, 24)
    half = 0.5 * grid[2][1]
    made = Flow(
        {"m": grid, "faces": (grid[0], grid[1], grid[2] + half)},
        {
            "u": ("m", lambda x, y, z, n: 0 * x),
            "s": ("faces", lambda x, y, z, n: np.sin(x)),
        },
        attributes=PERIODIC,
    )
    (values,) = grab(made, "  sum: u + s", "sum", folder=tmp_path)
    # Cubic interpolation halfway: sin(x) (9 cos(h / 2) - cos(3 h / 2)) / 8.
    factor = (9 * np.cos(half) - np.cos(3 * half)) / 8
    _, _, x = np.meshgrid(*grid, indexing="ij")
    np.testing.assert_allclose(values, factor * np.sin(x), atol=1e-12)
    table = interpolation(grid[2] + half, grid[2], periods_points=(24, 24), period_length=2 * np.pi)
    assert table.first.min() == -2 and table.reach(0, 25) == (-2, 28)


@pytest.mark.parametrize("elements", [False, True])
def test_the_picture_is_that_of_a_mesh_that_has_the_first_points_again_at_its_ends(
    tmp_path: Path, elements: bool
) -> None:
    z, y, x = lines()
    closed = (z, np.append(y, 2 * np.pi), np.append(x, 2 * np.pi))
    made_flow = flow((z, y, x), attributes=PERIODIC, elements=elements)
    made_flow.inside(PICTURE, tmp_path / "one")
    mean = np.loadtxt(tmp_path / "one/out/s.csv", delimiter=",", skiprows=1)
    flow(closed).inside(PICTURE, tmp_path / "other")
    flow((z, y, x)).inside(PICTURE, tmp_path / "open")
    picture, expected, without = (
        np.asarray(Image.open(tmp_path / folder / "out/p.png")).astype(int)
        for folder in ("one", "other", "open")
    )
    assert np.abs(picture - expected).max() <= 1
    assert np.abs(picture - without).max() > 50  # which ends a cell before
    # Sums take each point once: the means of the sine and of its square are 0 and 1/2.
    height = weights(SelectionSettings().on(Grid(Mesh.rectilinear("m", (z, z[:1], z[:1])))))[0]
    square = height @ (1 - z * z) ** 2 / height.sum()
    np.testing.assert_allclose(mean[2:4], [0.0, np.sqrt(0.5 * square)], atol=1e-12)


def test_stored_steps_give_what_the_solver_s_own_memory_does(tmp_path: Path) -> None:
    text = (
        "sources:\n"
        + VELOCITY
        + PICTURE.replace("sources:\n", "")
        + "- {grab: {fields: [omega, q]}, name: b}\n"
    )
    made = flow(lines(), attributes=PERIODIC)
    Grab.values.clear()
    made.inside(text, tmp_path / "in")
    inside = dict(Grab.values)
    Grab.values.clear()
    store = tmp_path / "steps.zarr"
    with staging.open(
        "made", MPI.COMM_SELF, {"engine": "file", "file": {"folder": str(store)}}
    ) as writer:
        made.write(writer, 1)
    (tmp_path / "p.yaml").write_text(text)
    pipeline = Pipeline(load(tmp_path / "p.yaml"), MPI.COMM_SELF, tmp_path / "out", print)
    with staging.attach(store, MPI.COMM_SELF) as reader:
        for step in reader:
            pipeline.step(step, reader.release)
    pipeline.close()
    assert Grab.values.keys() == inside.keys()
    for name, values in inside.items():
        np.testing.assert_array_equal(Grab.values[name], values)
    assert (tmp_path / "out/p.png").read_bytes() == (tmp_path / "in/out/p.png").read_bytes()


def test_inside_only_layers_at_the_ends_of_the_period_are_copied_and_nothing_is_read(
    tmp_path: Path,
) -> None:
    made = flow(lines(40, 40, 20), attributes=PERIODIC)
    pipeline = made.inside(PICTURE, tmp_path)
    assert pipeline.counts.bytes_read == 0
    whole = made.arrays["u"].nbytes
    assert 0 < pipeline.summary()["bytes_kept"] < 2 * whole


def test_points_of_a_mesh_with_values_at_elements_repeat_at_its_ends(tmp_path: Path) -> None:
    """Elements fill the period, and the vertex at its end is the first one again."""
    x = turning(12)
    closed = np.append(x, 2 * np.pi)
    z = np.linspace(0.0, 1.0, 5)
    text = "sources: {gp: {kind: gradient, of: p, axis: x}, gc: {kind: gradient, of: c, axis: x}}\n"
    text += "actions:\n- {grab: {fields: [gp, gc]}}\n"
    text += "- {plot: {spectrum: {fields: [p], along: x}}, name: s}\n"
    (tmp_path / "p.yaml").write_text(text)
    pipeline = Pipeline(
        load(tmp_path / "p.yaml"), MPI.COMM_SELF, tmp_path / "out", print, in_situ=True
    )
    with staging.open("made", MPI.COMM_SELF, {"engine": "inproc"}) as writer:
        writer.on_step(pipeline.step)
        writer.rectilinear_mesh("m", [z, z, closed])
        writer.attribute("periodic", "x")
        writer.field("p", "m", "vertex")
        writer.field("c", "m", "element")
        writer.block(0, "m", Box((0, 0, 0), (4, 4, 12)), "element")
        with writer.step(0, 0.0):
            writer.put("p", np.broadcast_to(np.sin(closed), (5, 5, 13)).copy(), 0)
            writer.put("c", np.broadcast_to(np.cos(x + x[1] / 2), (4, 4, 12)).copy(), 0)
    pipeline.finish()
    pipeline.close()
    assert pipeline.failures == 0, pipeline.summary()
    factor = np.sinc(2.0 / 12)
    np.testing.assert_allclose(Grab.values["gp", 0][2, 2], factor * np.cos(closed), atol=1e-12)
    np.testing.assert_allclose(
        Grab.values["gc", 0][2, 2], -factor * np.sin(x + x[1] / 2), atol=1e-12
    )
    rows = np.loadtxt(tmp_path / "out/s.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(rows[:, 2], np.arange(7.0), atol=1e-12)  # wave numbers 0 to 6
    np.testing.assert_allclose(rows[:, 3], [0, 0.5, 0, 0, 0, 0, 0], atol=1e-12)


def test_positions_are_periodic() -> None:
    closed = np.linspace(0.0, 1.0, 11)
    point = np.zeros(1)
    grid = Grid(Mesh.rectilinear("m", (point, point, closed[:-1])), periodic="x")
    again = Grid(Mesh.rectilinear("m", (point, point, closed)), periodic="x", repeats=True)
    for each in (grid, again):
        assert each.period_points(2) == 10 and each.period_length(2) == pytest.approx(1.0)
        assert [nearest(each, "x", at) for at in (0.04, 0.96, 1.31, -0.1)] == [0, 0, 3, 9]
        assert weights(SelectionSettings().on(each))[2].sum() == pytest.approx(1.0)
        at_seam = Interpolation(each, np.array([[2.95, 0, 0]]), ["a"])
        assert set(at_seam.points[0, :, 2]) == {9, 0}
        np.testing.assert_allclose(
            each.lines(Box((0, 0, -2), (1, 1, 14)))[2], np.arange(-2, 12) / 10, atol=1e-15
        )


def test_an_attribute_without_axes_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        (PipelineError, StagingError), match="periodic is 'yes', and must name axes"
    ):
        flow(lines(), attributes={"periodic": "yes"}).inside(PICTURE, tmp_path)


@given(data=st.data())
def test_a_box_across_the_ends_is_assembled_from_pieces_of_the_grid(
    data: st.DataObject,
) -> None:
    count = tuple(data.draw(st.integers(2, 7)) for _ in range(3))
    first = tuple(data.draw(st.integers(-3, 3)) for _ in range(3))
    repeats = data.draw(st.booleans())
    axes = data.draw(st.sampled_from(["", "x", "y z", "x y z"]))
    coordinates = tuple(np.linspace(0.0, 1.0, n) for n in count)
    mesh = Mesh.rectilinear("m", coordinates, (first[0], first[1], first[2]))
    grid = Grid(mesh, "vertex", axes, repeats)
    starts, counts, indices = [], [], []
    for axis in range(3):
        low, high = grid.points.start[axis], grid.points.stop[axis]
        period = grid.period_points(axis)
        reach = 2 * period
        start = data.draw(st.integers(low - reach, high - 1 + reach))
        stop = data.draw(st.integers(start + 1, high + reach))
        index = np.arange(start, stop) - low
        inside = (index >= 0) & (index < count[axis])
        starts.append(start)
        counts.append(stop - start)
        indices.append(np.where(inside, index, index % (period or 1)))
    whole = np.random.default_rng(0).random(count)
    for axis in range(3):
        if grid.period_points(axis) and repeats:
            ends = np.moveaxis(whole, axis, 0)
            ends[-1] = ends[0]
    out = np.full(counts, np.nan)
    wrap = PeriodicWrap.of(grid, Box(tuple(starts), tuple(counts)))
    for piece, places in wrap.pieces:
        out[places] = whole[piece.slices(grid.points.start)]
    wrap.fill(out)
    np.testing.assert_array_equal(out, whole[np.ix_(*indices)])


@pytest.mark.parametrize(
    ("z", "layers"),
    [
        (np.zeros(1), "{kind: slice, field: u, normal: z}"),
        (
            stretched(6, -1.0, 1.0),
            "{kind: mesh, mesh: m, color: {field: u}}, {kind: slice, field: v, normal: z}",
        ),
    ],
    ids=["flat", "by VTK"],
)
def test_flat_meshes_and_vtk_draw_the_cells_at_the_end_of_the_period(
    tmp_path: Path, z: np.ndarray, layers: str
) -> None:
    _, y, x = lines()
    text = f"views: {{a: {{size: [120, 90], layers: [{layers}]}}}}\n"
    text += "actions: [{picture: {view: a, file: p.png}}]\n"
    closed = (z, np.append(y, 2 * np.pi), np.append(x, 2 * np.pi))
    flow((z, y, x), attributes=PERIODIC).inside(text, tmp_path / "one")
    flow(closed).inside(text, tmp_path / "other")
    mesh_picture, other = (
        np.asarray(Image.open(tmp_path / name / "out/p.png")).astype(int)
        for name in ("one", "other")
    )
    assert np.ptp(mesh_picture) > 100 and np.abs(mesh_picture - other).max() <= 1
