"""Message with the plots, for a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uzushio.pipeline.chart import ChartAxis
from uzushio.render.typeface import typeset
from uzushio.viewer import messages
from uzushio.viewer.plot_state import PlotState


def plots_message(plots: Sequence[PlotState]) -> messages.PlotsMessage:
    """Return the message with all plots."""
    return messages.PlotsMessage(plots=[_plot(one) for one in plots])


def _plot(state: PlotState) -> messages.Plot:
    chart = state.chart
    curves = [] if chart is None else chart.curves
    return messages.Plot(
        name=state.name,
        kind=state.kind,
        title=state.title,
        step=state.step,
        time=state.time,
        x=None if chart is None else _axis(chart.x),
        y=None if chart is None else _axis(chart.y),
        curves=[
            messages.PlotCurve(
                name=_plain(one.name), unit=_unit(one.unit), x=_numbers(one.x), y=_numbers(one.y)
            )
            for one in curves
        ],
        text=state.text,
    )


def _axis(axis: ChartAxis) -> messages.PlotAxis:
    return messages.PlotAxis(name=_plain(axis.name), unit=_unit(axis.unit), log=axis.log)


def _plain(text: str) -> str:
    """Return a name without the marks of matplotlib around symbols."""
    return text.replace("$", "")


def _unit(unit: str) -> str:
    """Return a unit with superscript exponents; empty for 1."""
    return "" if unit == "1" else typeset(unit)


def _numbers(values: np.ndarray) -> list[float | None]:
    """Return numbers as of JSON, which has no NaN."""
    found: list[float | None] = values.tolist()
    if not np.isfinite(values).all():
        found = [one if one is not None and np.isfinite(one) else None for one in found]
    return found
