"""Plots on the page: their values, axes, words and keys, plots of the document, lazy loading."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import wait
from live_pages import LIMIT, Live, violations
from playwright.sync_api import Browser, Page, expect

from uzushio import staging
from uzushio.pipeline.chart import Chart, ChartAxis, Curve
from uzushio.viewer.plot_state import PlotState

TIMES = np.linspace(0.0, 1.0, 11)
CFL = 0.3 + 0.1 * np.sin(7 * TIMES)
K = np.arange(1.0, 20.0)


def reported(steps: int = 11) -> tuple[PlotState, ...]:
    """Return a figure of the solver, and a spectrum of two fields."""
    times, last = TIMES[:steps], float(TIMES[steps - 1])
    figure = Chart(ChartAxis("time", "s"), ChartAxis("CFL"), (Curve("CFL", times, CFL[:steps]),))
    spectrum = Chart(
        ChartAxis("$k_x$", "m^-1", log=True),
        ChartAxis("power spectrum per unit of $k$", "m^3/s^2", log=True),
        (Curve("u", K, K**-1.6), Curve("v", K, np.where(K > 15, np.nan, K**-2.0))),
    )
    return (
        PlotState("CFL", "monitor", "CFL", steps - 1, last, figure),
        PlotState("k", "spectrum", "Energy", steps - 1, last, spectrum),
        PlotState("p", "profile", "Profile", text="Unknown field 'q'."),
    )


def curves_of(page: Page, key: str) -> list[dict[str, Any]]:
    """Return the curves that Plotly has drawn."""
    curves: list[dict[str, Any]] = page.evaluate(
        """(key) => (document.querySelector(`[data-plot="${key}"] .curves`)?.data ?? [])
            .map(({ x, y, name }) => ({ x, y, name }))""",
        key,
    )
    return curves


def opened(live: Live, **options: Any) -> Page:
    """Open a page with its plots."""
    page = live.open(**options)
    live.exchange.report_plots(reported(5))
    page.get_by_role("button", name="Plots").click()
    page.locator(".js-plotly-plot").nth(1).wait_for()
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plots_have_the_reported_values_axes_with_units_and_words(live: Live, scheme: str) -> None:
    page = live.open(color_scheme=scheme)
    loaded = "performance.getEntriesByType('resource').map((one) => one.name)"
    assert not any("plotly" in name for name in page.evaluate(loaded))
    page.close()
    page = opened(live, color_scheme=scheme)
    live.exchange.report_plots(reported())
    live.until(lambda: [len(curve["x"]) for curve in curves_of(page, "monitor:CFL")] == [11], page)
    (curve,) = curves_of(page, "monitor:CFL")
    assert (curve["x"], curve["y"]) == (TIMES.tolist(), CFL.tolist())
    u, v = curves_of(page, "spectrum:k")
    assert (u["name"], u["x"], u["y"]) == ("u", K.tolist(), (K**-1.6).tolist())
    assert v["y"][:15] == (K[:15] ** -2.0).tolist() and v["y"][15:] == [None] * 4
    drawn = page.locator('[data-plot="spectrum:k"] .curves')
    for text in ("kx [m⁻¹]", "power spectrum per", "unit of k [m³/s²]", "u", "v"):
        expect(drawn.get_by_text(text, exact=True).first).to_be_visible(timeout=LIMIT)
    words = drawn.get_attribute("aria-label") or ""
    assert "over k_x [m⁻¹] from 1 to 19" in words and "axes are logarithmic" in words
    assert f"u: from {K[-1] ** -1.6:.4g} to 1, last {K[-1] ** -1.6:.4g}" in words
    expect(page.locator('[data-plot="profile:p"]')).to_contain_text("Unknown field 'q'.")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    origin = page.evaluate("location.origin")
    assert all(name.startswith(origin) for name in page.evaluate(loaded))
    assert live.refused_styles <= 1  # of the maps that Plotly contains


def test_the_axes_follow_values_that_begin_without_any_or_without_a_difference(live: Live) -> None:
    page = live.open()
    page.get_by_role("button", name="Plots").click()
    ranges = """() => {
        const found = document.querySelector('[data-plot="monitor:CFL"] .curves')?._fullLayout;
        return found?.yaxis && [...found.xaxis.range, ...found.yaxis.range];
    }"""

    def shown(values: Any) -> list[float]:
        curve = Curve("CFL", TIMES[: len(values)], np.array(values, float))
        chart = Chart(ChartAxis("time", "s"), ChartAxis("CFL"), (curve,))
        live.exchange.report_plots(
            (PlotState("CFL", "monitor", "CFL", len(values), float(len(values)), chart),)
        )
        expected = [None if np.isnan(value) else value for value in values]
        live.until(
            lambda: [curve["y"] for curve in curves_of(page, "monitor:CFL")] == [expected], page
        )
        axis_ranges: list[float] = page.evaluate(ranges)
        return axis_ranges

    def holds(axis_ranges: list[float], values: list[float]) -> bool:
        left, right, low, high = axis_ranges
        inside = left <= 0.0 and right >= TIMES[len(values) - 1]
        return inside and low <= min(values) and high >= max(values) and high - low < 100.0

    shown([np.nan, np.nan])
    assert holds(shown([70.0, 70.0, 70.0]), [70.0] * 3)
    assert holds(shown([70.0, 71.0, 75.0, 60.0]), [70.0, 71.0, 75.0, 60.0])
    assert holds(shown([5.0, 5.0]), [5.0, 5.0])


def test_keys_step_through_the_values_of_a_plot(live: Live) -> None:
    page = opened(live)
    curves = page.locator('[data-plot="monitor:CFL"] .curves')
    said = page.locator("#announcement")
    curves.focus()
    for keys, place in (("Home", 0), ("ArrowRight", 1), ("End", 4), ("ArrowLeft", 3)):
        page.keyboard.press(keys)
        expect(said).to_have_text(f"time {TIMES[place]:.4g} s: CFL {CFL[place]:.4g}.")
        expect(curves.locator(".hoverlayer .legend, .hoverlayer text").first).to_be_visible()
    live.exchange.report_plots(reported(8))
    live.until(lambda: len(curves_of(page, "monitor:CFL")[0]["x"]) == 8, page)
    page.keyboard.press("ArrowRight")  # the place stays
    expect(said).to_have_text(f"time {TIMES[4]:.4g} s: CFL {CFL[4]:.4g}.")
    page.keyboard.press("Escape")
    expect(curves.locator(".hoverlayer text")).to_have_count(0)
    spectrum = page.locator('[data-plot="spectrum:k"] .curves')
    spectrum.focus()
    page.keyboard.press("End")
    expect(said).to_have_text(f"k_x 19 m⁻¹: u {19**-1.6:.4g} m³/s², v none.")


def test_a_profile_is_that_of_the_step_on_the_picture(live: Live) -> None:
    page = live.open()
    charts = {
        step: (0.1 * step, Chart(ChartAxis("z"), ChartAxis("u"), (Curve("u", K, step * K),)))
        for step in (11, 12)
    }
    live.drawing.advance(11, 12)
    newest = PlotState("p", "profile", "Profile", 12, 1.2, charts[12][1], of_steps=charts)
    live.exchange.report_plots((newest,))
    page.get_by_role("button", name="Plots").click()
    caption = page.locator('[data-plot="profile:p"]')
    for press, step in ((None, 12), ("Step before", 11), ("Step before", 10), ("Go live", 12)):
        if press:
            page.get_by_role("button", name=press).click()
        if step == 10:
            expect(caption).to_contain_text("There are no curves of step 10", timeout=LIMIT)
            continue
        expect(caption).to_contain_text(f"t = {0.1 * step:.4g} s", timeout=LIMIT)
        wanted = [(step * K).tolist()]
        live.until(
            lambda: [curve["y"] for curve in curves_of(page, "profile:p")] == wanted,  # noqa: B023
            page,
        )


def test_a_plot_is_added_and_removed_as_a_change_of_the_document(live: Live) -> None:
    page = opened(live)
    page.locator("#plot-form > summary").focus()
    page.keyboard.press("Enter")
    page.locator("#plot-kind").select_option("profile")
    page.locator("#plot-fields").fill("u, p")
    page.locator("#plot-along").select_option("z")
    page.locator("#plot-reduce").select_option("rms")
    assert violations(page) == []
    page.locator("#plot-add").click()
    live.until(lambda: live.drawing.plots[-1].plots, page)
    ((name, settings),) = live.drawing.plots[-1].plots.items()
    assert name == "profile-u-p" and settings.profile is not None
    assert settings.profile.fields == ["u", "p"] and settings.profile.along == "z"
    assert settings.profile.reduce == "rms"
    live.exchange.report_plots((PlotState(name, "profile", "A profile"),))
    page.get_by_role("button", name="Remove the plot A profile").click()
    live.until(lambda: not live.drawing.plots[-1].plots, page)


def test_a_closed_section_receives_nothing_and_the_curves_have_the_focus(live: Live) -> None:
    page = opened(live)
    page.locator("#plots-button").focus()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('.plot')?.dataset.plot"))
    assert {"monitor:CFL", "spectrum:k"} <= reached
    page.get_by_role("button", name="Plots").click()
    expect(page.locator("#plots")).to_be_hidden()
    assert page.locator(".js-plotly-plot").count() == 0
    live.until(lambda: not any(client.plots for client in live.gateway._session.clients), page)


CASE = """\
solver: channel
grid: {nx: 16, ny: 12, nz: 14, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 6, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: run, figures: false}
publish: {engine: file, every: 2}
"""


def test_the_plots_of_a_run_have_the_numbers_of_its_solver(
    browser: Browser, start_uzushio: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "case.yaml").write_text(CASE)
    run = wait(start_uzushio("run", "case.yaml", "--ranks", 1), 200)
    assert run.returncode == 0, run.stderr
    folder = tmp_path / "run/published/channel.zarr"
    with staging.attach(folder) as reader:
        steps = [(step.time, step.attributes, float(step.read("u").max())) for step in reader]
    assert len(steps) == 3
    viewer = start_uzushio("view", folder)
    assert viewer.stdout is not None
    address = next(
        match.group() for line in viewer.stdout if (match := re.search(r"http://\S+#\S+", line))
    )
    page = browser.new_page()
    page.set_default_timeout(LIMIT)
    page.goto(address)
    expect(page.locator("#notice")).to_be_hidden(timeout=3 * LIMIT)
    page.locator("#plots-button").click()
    page.locator("#plot-form > summary").click()
    page.locator("#plot-fields").fill("u")
    page.locator("#plot-reduce").select_option("max")
    page.locator("#plot-add").click()
    wanted = {
        "monitor:CFL": [attributes["monitor/CFL"] for _, attributes, _ in steps],
        "monitor:bulk velocity": [attributes["bulk_velocity"] for _, attributes, _ in steps],
        "series:series-u": [highest for _, _, highest in steps],
    }
    for key, values in wanted.items():
        curves: list[dict[str, Any]] = []
        end = time.monotonic() + LIMIT / 1000
        while not curves or len(curves[0]["x"]) < 3:
            assert time.monotonic() < end, (key, curves)
            page.wait_for_timeout(100)
            curves = curves_of(page, key)
        assert (curves[0]["x"], curves[0]["y"]) == ([step[0] for step in steps], values)
    page.close()
    viewer.terminate()
    assert viewer.wait(30) == 0
