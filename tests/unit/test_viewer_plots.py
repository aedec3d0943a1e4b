"""Plots of the live view: the numbers of the steps that come, of stored steps, and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from pydantic import TypeAdapter
from viewer_driver import Driver, run_viewer

from uzushio import staging
from uzushio._job.run_attributes import monitor_attributes
from uzushio.pipeline.actions.plot import PlotSettings
from uzushio.pipeline.sources import SourceSettings
from uzushio.solvers.contract import Reading
from uzushio.staging.writer import Writer
from uzushio.viewer.plot_state import PlotRequest, PlotState
from uzushio.viewer.plots_message import plots_message

SHAPE = (5, 6, 8)
SERIES = {"series": {"fields": ["u"], "reduce": ["mean", "max"]}}
PROFILE = {"profile": {"fields": ["u", "v"], "along": "x"}}


def u_of(step: int) -> np.ndarray:
    return np.linspace(0, 1, SHAPE[2]) * np.ones(SHAPE) + step**2


def cfl_of(step: int) -> float:
    return 0.3 + 0.1 / (1 + step)


def opened(**settings: Any) -> Writer:
    writer = staging.open("flow", None, settings)
    z, y, x = SHAPE
    writer.uniform_mesh("box", (z - 1, y - 1, x - 1), spacing=(0.5, 0.5, 0.5))
    writer.field("u", "box", "vertex", unit="m/s")
    writer.field("v", "box", "vertex", unit="m/s")
    writer.block(0, "box", ((0, 0, 0), SHAPE), "vertex")
    writer.attribute("time_unit", "s")
    writer.attribute("length_unit", "m")
    return writer


def publish(writer: Writer, step: int) -> None:
    for name, value in monitor_attributes({"CFL": Reading(cfl_of(step), "1")}).items():
        writer.attribute(name, value)
    with writer.step(step, 0.5 * step):
        writer.put("u", u_of(step), 0)
        writer.put("v", 2 * u_of(step), 0)


def requested(
    plots: Mapping[str, Mapping[str, Any]], sources: Mapping[str, Any] | None = None
) -> PlotRequest:
    known = TypeAdapter(dict[str, SourceSettings]).validate_python(dict(sources or {}))
    return PlotRequest(
        known, {name: PlotSettings.model_validate(settings) for name, settings in plots.items()}
    )


def on_stream(folder: Path, work: Callable[[Driver, Writer], None]) -> None:
    contact = folder / "flow.contact"
    writer = opened(engine="tcp", contact=str(contact))

    def work_and_close(page: Driver) -> None:
        try:
            work(page, writer)
        finally:
            writer.close()

    run_viewer(str(contact), MPI.COMM_SELF, work_and_close)


def of_step(page: Driver, name: str, step: int) -> PlotState:
    page.until(lambda: name in page.plots and page.plots[name].step == step, f"{name} at {step}")
    return page.plots[name]


def test_figures_series_and_profiles_have_the_numbers_of_the_steps(tmp_path: Path) -> None:
    def work(page: Driver, writer: Writer) -> None:
        page.exchange.want_plots(requested({"s": SERIES, "p": PROFILE}))
        for step in range(4):
            publish(writer, step)
            of_step(page, "p", step)
        steps = np.arange(4)
        figure = of_step(page, "CFL", 3)
        assert figure.kind == "monitor" and figure.chart is not None
        assert (figure.chart.x.name, figure.chart.x.unit) == ("time", "s")
        (curve,) = figure.chart.curves
        np.testing.assert_array_equal(curve.x, 0.5 * steps)
        np.testing.assert_array_equal(curve.y, [cfl_of(step) for step in steps])
        series = of_step(page, "s", 3).chart
        assert series is not None
        assert [curve.name for curve in series.curves] == ["mean(u)", "max(u)"]
        np.testing.assert_allclose(series.curves[0].y, 0.5 + steps**2, rtol=1e-14)
        np.testing.assert_array_equal(series.curves[1].y, 1.0 + steps**2)
        profile = page.plots["p"]
        assert profile.chart is not None and profile.time == 1.5
        assert profile.chart.y.unit == "m/s" and profile.chart.x.unit == "m"
        for curve, factor in zip(profile.chart.curves, (1, 2), strict=True):
            np.testing.assert_allclose(curve.x, 0.5 * np.arange(8))
            np.testing.assert_allclose(curve.y, factor * u_of(3)[0, 0], rtol=1e-14)
        earlier = profile.at(1)  # as on a page that is paused
        assert (earlier.step, earlier.time) == (1, 0.5) and earlier.chart is not None
        np.testing.assert_allclose(earlier.chart.curves[0].y, u_of(1)[0, 0], rtol=1e-14)
        assert profile.at(7).chart is None and "step 7" in profile.at(7).text
        assert profile.at(3) is profile.at(None) is profile
        assert page.plots["s"].at(1) is page.plots["s"]

    on_stream(tmp_path, work)


def test_a_plot_that_is_added_later_begins_there_and_the_others_go_on(tmp_path: Path) -> None:
    def work(page: Driver, writer: Writer) -> None:
        page.exchange.want_plots(requested({"s": SERIES}))
        for step in (0, 1):
            publish(writer, step)
            of_step(page, "s", step)
        spectrum = {"spectrum": {"fields": ["twice"], "along": "x"}}
        page.exchange.want_plots(requested({"s": SERIES, "v": {"series": {"fields": ["v"]}}}))
        page.until(lambda: "v" in page.plots, "the plot")
        assert page.plots["v"].text == "The next step brings the curves."  # v was not kept
        publish(writer, 2)
        charts = {name: of_step(page, name, 2).chart for name in ("s", "v")}
        assert [len(charts[name].curves[0].x) for name in ("s", "v")] == [3, 1]  # type: ignore[union-attr]
        page.exchange.want_plots(requested({"k": spectrum}, {"twice": "2 * u"}))
        of_step(page, "k", 2)  # u was kept
        publish(writer, 3)
        power = of_step(page, "k", 3).chart
        assert power is not None and power.x.log and power.y.log
        modes = np.abs(np.fft.rfft(2 * u_of(3)[0, 0], norm="forward")[1:]) ** 2
        modes[:-1] *= 2
        step = 2 * np.pi / (8 * 0.5)
        np.testing.assert_allclose(power.curves[0].y, modes / step, rtol=1e-10)
        assert "s" not in page.plots

    on_stream(tmp_path, work)


def test_a_plot_that_cannot_be_made_says_why_and_the_others_are_made(tmp_path: Path) -> None:
    def work(page: Driver, writer: Writer) -> None:
        wrong = {"profile": {"fields": ["q"], "along": "x"}}
        page.exchange.want_plots(requested({"s": SERIES, "wrong": wrong}))
        publish(writer, 0)
        of_step(page, "s", 0)
        assert "'q'" in page.plots["wrong"].text and page.plots["wrong"].chart is None
        page.exchange.want_plots(
            requested({"s": SERIES, "wrong": wrong}, {"q": "2 * missing", "unused": "u +"})
        )
        page.until(lambda: "'missing'" in page.plots["wrong"].text, "an error")
        publish(writer, 1)
        of_step(page, "s", 1)

    on_stream(tmp_path, work)


def test_all_stored_steps_are_plotted(tmp_path: Path) -> None:
    folder = tmp_path / "flow.zarr"
    with opened(engine="file", file={"folder": str(folder)}) as writer:
        for step in range(5):
            publish(writer, step)

    def work(page: Driver) -> None:
        page.exchange.want_plots(requested({"s": SERIES}))
        for name in ("CFL", "s"):
            chart = of_step(page, name, 4).chart
            assert chart is not None
            np.testing.assert_array_equal(chart.curves[0].x, 0.5 * np.arange(5))
        assert page.plots["s"].chart is not None
        np.testing.assert_array_equal(
            page.plots["s"].chart.curves[1].y, [u_of(step).max() for step in range(5)]
        )

    run_viewer(str(folder), MPI.COMM_SELF, work)


def test_the_message_has_units_with_exponents_and_null_for_nan() -> None:
    from uzushio.pipeline.chart import Chart, ChartAxis, Curve

    curve = Curve("u", np.array([1.0, 2.0]), np.array([np.nan, 0.1]), "m/s^2")
    chart = Chart(ChartAxis("$k_x$", "1"), ChartAxis(""), (curve,))
    (plot,) = plots_message([PlotState("a", "series", "A", 3, 0.5, chart)]).plots
    assert plot.x is not None and (plot.x.name, plot.x.unit) == ("k_x", "")
    assert (plot.curves[0].unit, plot.curves[0].y) == ("m/s²", [None, 0.1])
