"""Names and units of users in results: apart from the results' own, and as xarray leaves them."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray
from pipeline_case import Flow, grab, stretched

from uzushio import staging
from uzushio._base.store.names import stored_names
from uzushio._base.store.schema import unit_attributes
from uzushio.errors import OutputError, PipelineError, StagingError
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.stream import Stream

LINES = (stretched(4), stretched(5), stretched(6))
#: Fields with the names of variables of the stores, of coordinates and of paths.
NAMES = ["time", "step", "x", "y", "z", "component", "zarr.json", "a/b", "..", "100%", "distance"]


def formula(number: int) -> Any:
    return lambda x, y, z, n: x + 10 * y + 100 * z + 1000 * number + n


def flow(names: list[str], **more: Any) -> Flow:
    return Flow({"m": LINES}, {n: ("m", formula(k)) for k, n in enumerate(names)}, **more)


def test_fields_of_any_name_are_written_beside_the_variables_of_the_results(tmp_path: Path) -> None:
    text = f"""\
actions:
- {{extract: {{fields: {json.dumps(NAMES)}, to: [e.zarr, e.vtkhdf]}}}}
- {{statistics: {{fields: {json.dumps(NAMES)}}}, name: s}}
- {{count: {{fields: {json.dumps(NAMES)}}}}}
- probe:
    fields: {json.dumps(NAMES)}
    points: {{p: [0, 0, 0]}}
    lines: {{l: {{from: [0, 0, 0], to: [1, 0, 0], points: 2}}}}
"""
    messages: list[str] = []
    pipeline = flow(NAMES).inside(text, tmp_path, 2, messages)
    assert pipeline.failures == 0, messages
    stored = stored_names(NAMES)
    assert [stored[name] for name in ("time", "x", "a/b", "..", "component")] == [
        *("time_field", "x_field", "a%2Fb", "%2E%2E", "component")
    ]
    out = tmp_path / "out"
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    with (
        xarray.open_zarr(out / "e.zarr") as extract,
        xarray.open_zarr(out / "s.zarr") as statistics,
        h5py.File(out / "e.vtkhdf") as file,
    ):
        np.testing.assert_array_equal(extract.time, [0.0, 0.1])
        np.testing.assert_array_equal(extract.step, [0, 1])
        for axis, line in zip("zyx", LINES, strict=True):
            np.testing.assert_array_equal(extract[axis], line)
        for number, name in enumerate(NAMES):
            expected = [formula(number)(x, y, z, n) for n in range(2)]
            np.testing.assert_array_equal(extract[stored[name]], expected)
            np.testing.assert_array_equal(file["VTKHDF/PointData"][stored[name]], expected)
            mean = statistics[f"mean_{name.replace('/', '%2F')}"]
            assert mean.shape == x.shape
    line = json.loads((out / "count.jsonl").read_text().splitlines()[1])
    assert (line["step"], line["time"]) == (1, 0.1) and line["time_field"]["points"] == x.size
    with (out / "probe-l.csv").open() as table:
        columns = next(csv.reader(table))
    assert len(set(columns)) == len(columns) == 2 + 4 + len(NAMES)


def test_fields_with_one_name_in_a_store_are_refused_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="has a name of 300 bytes, and the maximum in a store is"):
        stored_names(["u" * 300])
    (tmp_path / "p.yaml").write_text('actions:\n- {extract: {fields: [a/b, "a%2Fb"]}}\n')
    stream = flow(["a/b", "a%2Fb"])
    streams: list[Stream] = []
    with staging.open("made", stream.comm, {"engine": "inproc"}) as writer:
        writer.on_step(lambda step: streams.append(Stream.of_step(step)))
        stream.write(writer, 1)
    pipeline = Pipeline(
        load(tmp_path / "p.yaml"), stream.comm, tmp_path / "out", print, in_situ=True
    )
    with pytest.raises(PipelineError, match="the fields 'a/b' and 'a%2Fb' are both called 'a%2Fb'"):
        pipeline.prepare(streams[0])


@pytest.mark.parametrize("unit", ["m/s", "seconds", "days", "hours", "s", "1/s"])
def test_units_are_written_so_that_xarray_leaves_the_numbers(tmp_path: Path, unit: str) -> None:
    attributes = {"length_unit": "h", "time_unit": unit}
    text = f"""\
sources: {{age: {{kind: magnitude, of: u, unit: {unit}}}}}
actions:
- {{extract: {{fields: [age], at: {{z: 0}}, to: e.zarr}}}}
- {{statistics: {{fields: [age]}}, name: s}}
"""
    flow(["u"], attributes=attributes).inside(text, tmp_path, 2)
    expected = unit_attributes(unit)["units"]
    assert expected == {"seconds": "s", "days": "d", "hours": "h"}.get(unit, unit)
    for name, variable in (("e", "age"), ("s", "mean_age")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stored = xarray.open_zarr(tmp_path / f"out/{name}.zarr")
        with stored:
            assert stored[variable].dtype == stored.time.dtype == np.float64
            assert stored[variable].attrs["units"] == stored.time.attrs["units"] == expected
            assert [stored[axis].attrs["units"] for axis in "xyz"] == ["h", "h", "h"]


@pytest.mark.parametrize(
    ("series", "axis", "curves"),
    [
        ("{fields: [a], reduce: integral}", ("integral(a)", "K m^3"), [""]),
        ("{fields: [a], at: {z: 0}, reduce: integral}", ("integral(a)", "K m^2"), [""]),
        ("{fields: [a], at: {y: 0, z: 0}, reduce: integral}", ("integral(a)", "K m"), [""]),
        ("{fields: [a], at: {x: 0, y: 0, z: 0}, reduce: integral}", ("integral(a)", "K"), [""]),
        ("{fields: [a], reduce: [mean, integral]}", ("", ""), ["K", "K m^3"]),
        ("{fields: [a], reduce: [mean, rms]}", ("a", "K"), ["", ""]),
    ],
)
def test_an_integral_has_the_unit_of_its_length_area_or_volume(
    tmp_path: Path, series: str, axis: tuple[str, str], curves: list[str]
) -> None:
    stream = flow(["u"], attributes={"length_unit": "m"})
    source = "sources: {a: {kind: magnitude, of: u, unit: K}}"
    text = f"{source}\nactions:\n- {{plot: {{series: {series}}}, name: p}}\n"
    pipeline = stream.inside(text, tmp_path, 1)
    plot: Any = pipeline._scheduled[0].action
    chart = plot._subject.chart(plot._table.values)
    assert (chart.y.name, chart.y.unit) == axis
    assert [curve.unit for curve in chart.curves] == curves


def test_moments_beyond_the_largest_number_are_infinite_without_a_warning(tmp_path: Path) -> None:
    huge = Flow({"m": LINES}, {"u": ("m", lambda x, y, z, n: (-1.0) ** n * 1e308 + 0 * x)})
    text = """\
actions:
- {statistics: {fields: [u]}, name: s}
- {plot: {series: {fields: [u], reduce: [rms, std]}}, name: p}
- {count: {fields: [u]}, when: std(u) >= 0}
"""
    messages: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = huge.inside(text, tmp_path, 2, messages)
    assert pipeline.failures == 0, messages
    with xarray.open_zarr(tmp_path / "out/s.zarr") as stored:
        assert np.isinf(stored.variance_u).all() and (stored.max_u == 1e308).all()


@pytest.mark.parametrize(
    "name", ["if", "\N{MICRO SIGN}", "e\N{COMBINING ACUTE ACCENT}", "1e5", "-"]
)
def test_any_name_of_a_field_may_be_in_backticks(name: str, tmp_path: Path) -> None:
    (values,) = grab(flow([name]), f"  double: 2 * `{name}`", "double", folder=tmp_path)
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    np.testing.assert_allclose(values, 2 * formula(0)(x, y, z, 0), rtol=1e-15)


def test_a_name_with_a_slash_is_in_backticks_in_expressions(tmp_path: Path) -> None:
    stream = flow(["core/pressure", "u"], attributes={"monitor/CFL": 0.5})
    sources = "  double: 2 * `core/pressure` + u / `monitor/CFL`"
    (values,) = grab(stream, sources, "double", folder=tmp_path)
    z, y, x = np.meshgrid(*LINES, indexing="ij")
    expected = 2 * formula(0)(x, y, z, 0) + formula(1)(x, y, z, 0) / 0.5
    np.testing.assert_allclose(values, expected, rtol=1e-15)
    when = "max(`core/pressure`) > 0 and `monitor/CFL` < 1"
    text = f"actions:\n- {{count: {{fields: [u]}}, when: '{when}'}}\n"
    assert stream.inside(text, tmp_path / "when").counts.used == 1


@pytest.mark.parametrize(
    "text",
    [
        "sources: {half: core/pressure * 0.5}\nactions:\n- {count: {fields: [half]}}\n",
        "actions:\n- {count: {fields: [u]}, when: max(core/pressure) > 1}\n",
    ],
)
def test_a_name_that_is_read_as_a_division_is_explained(tmp_path: Path, text: str) -> None:
    with pytest.raises(StagingError, match=r"'core/pressure' is one name, but .* in backticks: `"):
        flow(["core/pressure", "u"]).inside(text, tmp_path)
