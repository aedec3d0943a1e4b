"""Plots of the live view: what the pages request, and what the drawing side has of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from uzushio.pipeline.actions.plot import PlotSettings
from uzushio.pipeline.chart import Chart
from uzushio.pipeline.sources import SourceSettings

PlotKind = Literal["monitor", "series", "profile", "spectrum"]


@dataclass(frozen=True)
class PlotRequest:
    """Plots that the pages request, besides those of the solver's figures.

    Attributes:
        sources: section `sources` of the document, validated.
        plots: the plots of its section `actions`, by name.
    """

    sources: Mapping[str, SourceSettings] = field(default_factory=dict)
    plots: Mapping[str, PlotSettings] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PlotState:
    """Plot of the steps so far.

    Attributes:
        name: of the plot; of the solver's figure for `monitor`.
        kind: whether it is a figure of the solver, or kind of the plot in a pipeline file.
        title: above it.
        step: newest step; None before the first.
        time: of this step.
        chart: curves; None before the first step and after an error.
        text: why there are no curves, or not those of the newest step; empty if there is nothing
            to say.
    """

    name: str
    kind: PlotKind
    title: str
    step: int | None = None
    time: float | None = None
    chart: Chart | None = None
    text: str = ""
