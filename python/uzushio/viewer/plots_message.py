"""Message with the plots, from the gateway to a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from uzushio.pipeline.chart import ChartAxis
from uzushio.render.typeface import typeset
from uzushio.viewer.messages import Message
from uzushio.viewer.plot_state import PlotKind, PlotState


class PlotAxis(Message):
    """Axis of a plot, with its unit, which may be empty."""

    name: str
    unit: str
    log: bool


class PlotCurve(Message):
    """Curve of a plot; null where there is no value."""

    name: str
    unit: str
    x: list[float | None]
    y: list[float | None]


class Plot(Message):
    """Plot of the steps so far.

    Attributes:
        name: name of the plot in the document; of the solver's figure for the kind `monitor`.
        kind: kind of the plot.
        title: above it.
        step: newest step, or that on the picture for a profile or spectrum; null before the first.
        time: time of this step.
        x, y: axes; null without curves.
        curves: may be empty.
        text: sentence for the user; may be empty.
    """

    name: str
    kind: PlotKind
    title: str
    step: int | None
    time: float | None
    x: PlotAxis | None
    y: PlotAxis | None
    curves: list[PlotCurve]
    text: str


class PlotsMessage(Message):
    """All plots, for a page that shows them."""

    type: Literal["plots"] = "plots"
    plots: list[Plot]


def plots_message(plots: Sequence[PlotState], step: int | None = None) -> PlotsMessage:
    """Return the message with all plots; profiles and spectra are of a step, or of the newest."""
    return PlotsMessage(plots=[_plot(plot.at(step)) for plot in plots])


def _plot(state: PlotState) -> Plot:
    chart = state.chart
    curves = [] if chart is None else chart.curves
    return Plot(
        name=state.name,
        kind=state.kind,
        title=state.title,
        step=state.step,
        time=state.time,
        x=None if chart is None else _axis(chart.x),
        y=None if chart is None else _axis(chart.y),
        curves=[
            PlotCurve(
                name=_plain(curve.name),
                unit=_unit(curve.unit),
                x=_numbers(curve.x),
                y=_numbers(curve.y),
            )
            for curve in curves
        ],
        text=state.text,
    )


def _axis(axis: ChartAxis) -> PlotAxis:
    return PlotAxis(name=_plain(axis.name), unit=_unit(axis.unit), log=axis.log)


def _plain(text: str) -> str:
    """Return a name without the marks of matplotlib around symbols."""
    return text.replace("$", "")


def _unit(unit: str) -> str:
    """Return a unit with superscript exponents; empty for 1."""
    return "" if unit == "1" else typeset(unit)


def _numbers(values: np.ndarray) -> list[float | None]:
    """Return numbers as of JSON, which has no NaN."""
    numbers: list[float | None] = values.tolist()
    if not np.isfinite(values).all():
        numbers = [
            number if number is not None and np.isfinite(number) else None for number in numbers
        ]
    return numbers
