"""Plots of the live view: requests of the pages, and curves of the drawing side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

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
        name: name of the plot; of the solver's figure for `monitor`.
        kind: whether it is a figure of the solver, or kind of the plot in a pipeline file.
        title: above it.
        step: newest step; None before the first.
        time: time of this step.
        chart: curves; None before the first step and after an error.
        text: why there are no curves, or not those of the newest step; empty if there is nothing
            to say.
        of_steps: time and chart of each kept step; empty for plots over the steps.
    """

    name: str
    kind: PlotKind
    title: str
    step: int | None = None
    time: float | None = None
    chart: Chart | None = None
    text: str = ""
    of_steps: Mapping[int, tuple[float, Chart]] = field(default_factory=dict, repr=False)

    def at(self, step: int | None) -> Self:
        """Return the plot of a step, if it is of one step; of the newest for None."""
        if step is None or step == self.step or not self.of_steps:
            return self
        if step not in self.of_steps:
            text = f"There are no curves of step {step}: this plot was made of other steps."
            return replace(self, step=None, time=None, chart=None, text=text)
        time, chart = self.of_steps[step]
        return replace(self, step=step, time=time, chart=chart, text="")
