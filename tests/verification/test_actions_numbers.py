"""Actions plot, probe and statistics compared with exact values."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from made_stream import Made

from uzushio.errors import OutputError, PipelineError
from uzushio.pipeline.quadrature import weights
from uzushio.pipeline.selection import SelectionSettings
from uzushio.pipeline.stream import Grid
from uzushio.pipeline.table import Table
from uzushio.staging import Mesh

STRETCHED = 1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, 33))  # 0 to 2, dense at both ends
PERIODIC = 2.0 * np.pi * np.arange(24) / 24
STEPS = [(0, 0.0), (10, 0.5), (20, 1.0)]


def channel(**fields: Any) -> Made:
    """Walls along z, periodic along x and y, cut into eight."""
    return Made(
        (STRETCHED, PERIODIC, 2.0 * PERIODIC),
        fields,
        cuts=(2, 2, 2),
        periodic="xy",
        start=(1, 0, 5),
    )


def rows(path: Path) -> Any:
    """A table as NumPy reads it; names may hold anything but commas."""
    names = path.read_text().splitlines()[0].split(",")
    table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    assert table.shape[1] == len(names)
    return dict(zip(names, table.T, strict=True))


def series(made: Made, folder: Path, *measures: str) -> Any:
    action = made.action("plot", folder, series={"fields": ["f"], "reduce": list(measures)})
    made.run(action, STEPS)
    return rows(folder / "it.csv")


def test_an_integral_over_a_stretched_mesh_is_exact_for_linear_fields(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: (1.0 + t) * z)
    columns = series(made, tmp_path, "integral", "mean", "min", "max")
    volume = 2.0 * (2.0 * np.pi) * (4.0 * np.pi)
    np.testing.assert_allclose(columns["integral(f)"], volume * (1.0 + columns["time"]), rtol=1e-13)
    np.testing.assert_allclose(columns["mean(f)"], 1.0 + columns["time"], rtol=1e-13)
    np.testing.assert_array_equal(columns["min(f)"], 0.0)
    np.testing.assert_allclose(columns["max(f)"], 2.0 * (1.0 + columns["time"]), rtol=1e-15)
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")


def test_elements_count_with_their_widths_and_vertices_with_half_of_those_around() -> None:
    faces = [np.array([0.0, 0.1, 0.4, 1.0]) for _ in range(3)]
    elements = Grid(Mesh.rectilinear("m", faces), "element")
    vertices = Grid(Mesh.rectilinear("m", [0.5 * (line[1:] + line[:-1]) for line in faces]))
    np.testing.assert_allclose(
        weights(SelectionSettings().on(elements))[1], [0.1, 0.3, 0.6], rtol=1e-15
    )
    np.testing.assert_allclose(
        weights(SelectionSettings().on(vertices))[1], [0.1, 0.325, 0.225], rtol=1e-15
    )
    part = SelectionSettings(within={"y": (0.2, 1.0)}).on(elements)
    np.testing.assert_allclose(weights(part)[1], [0.3, 0.6], rtol=1e-15)


def test_means_over_a_period_are_exact_and_large_offsets_cost_no_digits(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: 1e8 + np.sin(3.0 * y) * np.cos(2.0 * x))
    columns = series(made, tmp_path, "std", "mean")
    np.testing.assert_allclose(columns["std(f)"], 0.5, rtol=1e-7)
    np.testing.assert_allclose(columns["mean(f)"], 1e8, rtol=1e-15)


def test_a_nan_makes_nan_of_each_number(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: np.where((z == 0.0) & (t > 0.6), np.nan, z))
    columns = series(made, tmp_path, "mean", "rms", "std", "min", "max")
    for name, column in columns.items():
        if "(" in name:
            assert np.isnan(column[2]), name
            assert np.isfinite(column[:2]).all(), name


@pytest.mark.parametrize(
    ("along", "line"), [("z", STRETCHED), ("y", PERIODIC), ("x", 2 * PERIODIC)]
)
def test_a_profile_is_a_function_of_its_axis(tmp_path: Path, along: str, line: Any) -> None:
    fluctuation = {
        "z": lambda z, y, x: np.sin(y) * np.cos(x),
        "y": lambda z, y, x: np.sin(x) + 0 * z,
    }
    other = fluctuation.get(along, lambda z, y, x: np.sin(y) + 0 * z)

    def f(t: float, z: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        return {"z": z, "y": y, "x": x}[along] ** 2 + (1.0 + t) * other(z, y, x)

    made = channel(f=f)
    for measure in ("mean", "std"):
        action = made.action(
            "plot", tmp_path, measure, profile={"fields": ["f"], "along": along, "reduce": measure}
        )
        made.run(action, STEPS)
    mean, std = rows(tmp_path / "mean.csv"), rows(tmp_path / "std.csv")
    last = mean["step"] == 20
    assert last.sum() == len(line)
    np.testing.assert_array_equal(mean[along][last], line)
    np.testing.assert_allclose(mean["f"][last], line**2, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(std["std(f)"][last], 2.0 * (0.5 if along == "z" else 0.5**0.5))


@pytest.mark.parametrize(("along", "count"), [("x", 24), ("y", 23)])
def test_a_spectrum_sums_up_to_the_mean_square(tmp_path: Path, along: str, count: int) -> None:
    lines = (STRETCHED, 2 * np.pi * np.arange(count) / count, 4 * np.pi * np.arange(24) / 24)
    noise = np.random.default_rng(5).standard_normal((33, count, 24))
    made = Made(lines, {"f": lambda t, z, y, x: noise}, cuts=(1, 3, 2), periodic="xy")
    heights = [0.3, 1.0]
    action = made.action(
        "plot", tmp_path, spectrum={"fields": ["f"], "along": along, "at": {"z": heights}}
    )
    made.run(action, STEPS[:1])
    columns = rows(tmp_path / "it.csv")
    step = columns["k"][1]
    assert step == pytest.approx(2 * np.pi / (count * (lines[2] if along == "x" else lines[1])[1]))
    for height in heights:
        plane = int(np.abs(STRETCHED - height).argmin())
        spectrum = columns[f"f at z = {STRETCHED[plane]:.4g}"]
        assert spectrum.sum() * step == pytest.approx((noise[plane] ** 2).mean(), rel=1e-12)


def test_a_wave_is_in_the_spectrum_at_its_wave_number_with_half_its_square(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: 3.0 * np.cos(1.5 * x + y))
    action = made.action("plot", tmp_path, spectrum={"fields": ["f"], "along": "x"})
    made.run(action, STEPS[:1])
    columns = rows(tmp_path / "it.csv")
    place = int(columns["f"].argmax())
    assert columns["k"][place] == pytest.approx(1.5)
    assert columns["f"][place] * columns["k"][1] == pytest.approx(4.5, rel=1e-12)
    assert np.delete(columns["f"], place).max() < 1e-25


def test_a_plot_is_repeated_from_the_first_repeated_step(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: z + t)
    settings: Any = {"series": {"fields": ["f"], "reduce": "max"}}
    made.run(made.action("plot", tmp_path, **settings), STEPS)
    made.run(made.action("plot", tmp_path, **settings), [(10, 5.0), (30, 6.0)])
    columns = rows(tmp_path / "it.csv")
    np.testing.assert_array_equal(columns["step"], [0, 10, 30])
    np.testing.assert_array_equal(columns["max(f)"], [2.0, 7.0, 8.0])
    with pytest.raises(OutputError, match="has other columns than step, time, min"):
        made.run(made.action("plot", tmp_path, series={"fields": ["f"], "reduce": "min"}), STEPS)


def test_a_row_that_does_not_fit_on_the_disk_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    """A limit of file sizes simulates a full disk."""
    table = Table(tmp_path / "a.csv", ["f"])
    table.add(0, 0.0, [[0.5]])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (table.path.stat().st_size + 3, before[1]))
        with pytest.raises(OSError, match="File too large") as raised:
            table.add(1, 0.5, [[1.5]])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert raised.value.filename == str(table.path)
    assert table.path.read_text() == "step,time,f\n0,0,0.5\n"
    table.add(2, 1.0, [[2.5]])
    assert table.path.read_text() == "step,time,f\n0,0,0.5\n2,1,2.5\n"


def test_a_reference_curve_is_read_by_column_names(tmp_path: Path) -> None:
    (tmp_path / "dns.csv").write_text("# from a table\nz,mean u\n0.5,1\n1.5,1\n")
    made = channel(f=lambda t, z, y, x: z)
    action = made.action(
        "plot",
        tmp_path,
        profile={"fields": ["f"], "along": "z"},
        compare=[{"file": "dns.csv", "x": "z", "y": "mean u"}],
    )
    np.testing.assert_array_equal(action._curves[0][0], [0.5, 1.5])  # type: ignore[attr-defined]
    made.run(action, STEPS[:1])


def test_probes_are_exact_for_linear_fields_and_periodic(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: 1.0 + 2.0 * z + t, g=lambda t, z, y, x: np.cos(y) + 0.0 * z)
    seam = 0.5 * (PERIODIC[-1] + 2.0 * np.pi)
    points = {"a": (1.3, 2.2, 0.77), "top": (0.0, 0.0, 2.0), "seam": (-0.1, seam, 0.0)}
    line = {"from": (0.0, 0.0, 0.0), "to": (0.0, 0.0, 2.0), "points": 11}
    action = made.action("probe", tmp_path, fields=["f", "g"], points=points, lines={"up": line})
    made.run(action, STEPS)
    columns = rows(tmp_path / "it.csv")
    for name, (_, _, z) in points.items():
        np.testing.assert_allclose(
            columns[f"f at {name}"], 1.0 + 2.0 * z + columns["time"], rtol=1e-14
        )
    between = 0.5 * (np.cos(PERIODIC[-1]) + 1.0)
    np.testing.assert_allclose(columns["g at seam"], between, rtol=1e-14)
    up = rows(tmp_path / "it-up.csv")
    np.testing.assert_allclose(up["f"], 1.0 + 2.0 * up["z"] + up["time"], rtol=1e-13)
    np.testing.assert_allclose(up["distance"], up["z"], atol=1e-14)
    assert {"it.png", "it-up.png"} <= {path.name for path in tmp_path.iterdir()}


def test_a_nan_next_to_a_probe_has_no_effect_at_a_point(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: np.where(z > STRETCHED[3], np.nan, z))
    here, beyond = STRETCHED[3], 0.5 * (STRETCHED[3] + STRETCHED[4])
    action = made.action("probe", tmp_path, fields=["f"], points=[(0, 0, here), (0, 0, beyond)])
    made.run(action, STEPS[:1])
    columns = rows(tmp_path / "it.csv")
    assert columns["f at p0"] == here
    assert np.isnan(columns["f at p1"])


def test_statistics_are_numpys_at_each_point_also_far_from_0(tmp_path: Path) -> None:
    made = channel(
        u=lambda t, z, y, x: 1e8 + np.sin(7.0 * t + x) * z, w=lambda t, z, y, x: np.cos(5.0 * t + y)
    )
    times = [(n, 0.13 * n) for n in range(25)]
    action = made.action(
        "statistics",
        tmp_path,
        fields=["u", "w"],
        covariances=[("u", "w")],
        stride={"x": 2},
        within={"z": (0.2, 1.8)},
        write_every=10,
    )
    made.run(action, times[:15], close=False)
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        assert stored.attrs["samples"] == 10
    made.run(action, times[15:])
    inside = (STRETCHED >= 0.2) & (STRETCHED <= 1.8)
    u, w = (
        np.array([made.values(name, time) for _, time in times])[:, inside, :, ::2] for name in "uw"
    )
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        assert stored.attrs["samples"] == 25
        np.testing.assert_array_equal(stored.z, STRETCHED[inside])
        np.testing.assert_allclose(stored.mean_u, u.mean(axis=0), rtol=1e-15)
        np.testing.assert_allclose(stored.variance_u, (u - 1e8).var(axis=0), atol=1e-7)
        np.testing.assert_allclose(stored.variance_w, w.var(axis=0), rtol=1e-12)
        product = ((u - u.mean(axis=0)) * (w - w.mean(axis=0))).mean(axis=0)
        np.testing.assert_allclose(stored.covariance_u_w, product, atol=1e-7)
        np.testing.assert_array_equal(stored.max_u, u.max(axis=0))
        np.testing.assert_array_equal(stored.min_w, w.min(axis=0))


def test_statistics_are_integrals_over_time_for_steps_of_any_length(tmp_path: Path) -> None:
    """u = t and w = t² on (0, 1], with steps from 1e-3 to 4e-3."""
    made = channel(u=lambda t, z, y, x: t + 0.0 * x, w=lambda t, z, y, x: t * t + 0.0 * x)
    action = made.action("statistics", tmp_path, fields=["u", "w"], covariances=[("u", "w")])
    lengths = np.linspace(1.0, 4.0, 400)
    ends = np.cumsum(lengths) / lengths.sum()
    made.run(action, [(n, float(time)) for n, time in enumerate(ends)])
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        for name, exact in (
            ("mean_u", 1 / 2),
            ("mean_w", 1 / 3),
            ("variance_u", 1 / 12),
            ("variance_w", 4 / 45),
            ("covariance_u_w", 1 / 12),
        ):
            np.testing.assert_allclose(stored[name], exact, rtol=1e-2, err_msg=name)
    assert abs(ends.mean() / 0.5 - 1.0) > 0.15


def test_statistics_refuse_a_time_that_goes_back(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: z)
    action = made.action("statistics", tmp_path, fields=["f"])
    with pytest.raises(PipelineError, match=r"time goes back by 0.5 to 0.5 \(step 11\)"):
        made.run(action, [(10, 1.0), (11, 0.5)])


def test_statistics_may_have_other_cuts_at_each_step_but_not_other_points(tmp_path: Path) -> None:
    made = channel(f=lambda t, z, y, x: (1.0 + t) * z)
    action = made.action("statistics", tmp_path, fields=["f"])
    for step, cuts in zip(STEPS, [(2, 2, 2), (1, 2, 2), (3, 1, 4)], strict=True):
        made.cuts = cuts
        made.run(action, [step], close=False)
    action.finish()
    with xarray.open_zarr(tmp_path / "it.zarr") as stored:
        np.testing.assert_allclose(
            stored["mean_f"].transpose("z", "y", "x"),
            np.broadcast_to(1.5 * STRETCHED[:, None, None], (33, 24, 24)),
            rtol=1e-14,
        )
    fewer = made.tiles()[1:]
    made.tiles = lambda: fewer  # type: ignore[method-assign]
    with pytest.raises(PipelineError, match="blocks of the stream changed after 3 samples"):
        made.run(action, [(30, 1.5)])


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("plot", {"series": {"fields": ["g"]}}, "the field 'g' is not known .*f"),
    (
        "plot",
        {"profile": {"fields": ["f"], "along": "z", "at": {"z": 1}}},
        "needs at least two points",
    ),
    ("plot", {"spectrum": {"fields": ["f"], "along": "z"}}, "equidistant points"),
    ("plot", {"spectrum": {"fields": ["f"], "along": "x", "at": {"x": 1}}}, "is transformed"),
    ("plot", {"spectrum": {"fields": ["f"], "along": "x", "at": {"z": 3}}}, "z = 3 lies outside"),
    ("plot", {"series": {"fields": ["v"]}}, r"has 3 components; choose one of them \(v.x"),
    (
        "plot",
        {"series": {"fields": ["f"]}, "compare": [{"file": "no.csv", "x": "a", "y": "b"}]},
        "no.csv cannot be read",
    ),
    ("probe", {"fields": ["f"], "points": {"p": (0, 0, -1)}}, r"p at \(0, 0, -1\) lies outside"),
    ("statistics", {"fields": ["f"], "covariances": [("f", "g")]}, "'g' is not among the fields"),
    ("extract", {"fields": ["f"], "at": {"z": 2.5}}, "z = 2.5 lies outside box, whose points"),
    ("extract", {"fields": ["f"], "within": {"z": (3, 4)}}, "no points have z from 3 to 4"),
    ("extract", {"fields": ["f"], "at_index": {"z": 40}}, "indices 0 to 32 on box, not 40"),
    ("extract", {"fields": ["nothing"]}, "the field 'nothing' is not known"),
    ("python", {"file": "no.py"}, "there is no file .*no.py"),
]


@pytest.mark.parametrize(("kind", "settings", "sentence"), BAD)
def test_impossible_settings_are_reported_before_the_first_step(
    tmp_path: Path, kind: str, settings: dict[str, Any], sentence: str
) -> None:
    made = channel(f=lambda t, z, y, x: z, v=lambda t, z, y, x: np.stack([x, y, z], axis=-1))
    with pytest.raises(PipelineError, match=sentence) as raised:
        made.action(kind, tmp_path, **settings)
    assert not str(raised.value).endswith(".")


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        ("plot", {}, "needs exactly one of 'profile', 'spectrum' and 'series'"),
        ("probe", {"fields": ["f"]}, "needs 'points' or 'lines'"),
        ("extract", {"fields": ["f"], "to": "f.vtk"}, "must end in .zarr, .vtkhdf or .hdf"),
        ("extract", {"fields": ["f"], "at": {"q": 1}}, "'x', 'y' or 'z'"),
        ("extract", {"fields": ["f"], "at": {"z": 1}, "within": {"z": (0, 1)}}, "keep one"),
        ("extract", {"fields": ["f"], "stride": 0}, "greater than 0"),
    ],
)
def test_settings_impossible_for_any_stream_are_errors_of_the_file(
    tmp_path: Path, kind: str, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        channel(f=lambda t, z, y, x: z).action(kind, tmp_path, **settings)
