"""Plots of the steps of a stream: the solver's figures, and the plots of a pipeline file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.error_text import capitalised
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import TimedCollective
from uzushio._job.run_attributes import monitor_readings
from uzushio.errors import PipelineError, UzushioError
from uzushio.pipeline.actions.plot import PlotSettings
from uzushio.pipeline.chart import Chart, ChartAxis, Curve
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.curves.subject import PlotSubject
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.need import Need
from uzushio.pipeline.sources import used_sources
from uzushio.pipeline.step_plan import StepPlan, plan_step
from uzushio.pipeline.values import BufferPool, StepValues
from uzushio.viewer.held_steps import HeldStep
from uzushio.viewer.plot_record import ChartRecord, PlotRecord
from uzushio.viewer.plot_state import PlotRequest, PlotState

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.stream import Stream
    from uzushio.staging.step import Step

#: Maximum number of the solver's figures that are plotted.
MAX_FIGURES = 12
#: Timeout of the other ranks after a plot, seconds; then the job ends.
_WAIT_LIMIT = 120.0
_NEXT = "The next step brings the curves."


@dataclass
class _Plot:
    """Plot with its plan for the present stream, and at the root its numbers."""

    settings: PlotSettings
    subject: PlotSubject
    needs: Sequence[Need] = ()
    text: str = _NEXT
    record: PlotRecord | None = None
    last: np.ndarray | None = None  # rows of the newest step, (rows, 2 + columns)
    charts: ChartRecord = field(default_factory=ChartRecord)  # of one step each

    def add(self, index: int, time: float, rows: np.ndarray) -> None:
        """Add the rows of a step (root)."""
        self.text = ""
        self.last = np.column_stack([np.tile([index, time], (len(rows), 1)), rows])
        if self.subject.of_one_step:
            self.charts.add(index, time, self.subject.chart(self.last))
        else:
            if self.record is None or self.record.columns != tuple(self.subject.columns):
                self.record = PlotRecord(self.subject.columns)
            self.record.add(index, time, rows[0])

    def state(self, name: str) -> PlotState:
        """Return the curves (root)."""
        title = self.settings.title or name
        if self.last is None or not self.needs:
            return PlotState(name, self.settings.kind, title, text=self.text)
        chart = self.subject.chart(self.last if self.record is None else self.record.rows)
        step, time = self.last[0, :2]
        charts = self.charts.charts
        kind = self.settings.kind
        return PlotState(name, kind, title, int(step), float(time), chart, self.text, charts)


@dataclass
class _Figures:
    """The solver's figures over the steps (root)."""

    record: PlotRecord | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    time_unit: str = ""

    def add(self, step: Step) -> None:
        """Add those of a step; another set of figures begins a new record."""
        readings = dict(list(monitor_readings(step.attributes).items())[:MAX_FIGURES])
        if not readings:
            return
        if self.record is None or self.record.columns != tuple(readings):
            self.record = PlotRecord(list(readings))
        self.units = {name: reading.unit for name, reading in readings.items()}
        self.time_unit = str(step.attributes.get("time_unit", ""))
        self.record.add(step.index, step.time, [reading.value for reading in readings.values()])

    def states(self) -> list[PlotState]:
        """Return one plot for each figure."""
        if self.record is None:
            return []
        rows, time = self.record.rows, ChartAxis("time", self.time_unit)
        step, moment = int(rows[-1, 0]), float(rows[-1, 1])
        return [
            PlotState(
                name,
                "monitor",
                name,
                step,
                moment,
                Chart(
                    time,
                    ChartAxis(name, self.units[name]),
                    (Curve(name, rows[:, 1], rows[:, 2 + number]),),
                ),
            )
            for number, name in enumerate(self.record.columns)
        ]


class LivePlots:
    """Plots of a stream's steps, in bounded memory; all methods but `states` are collective.

    A plot begins with the step at which it is added.

    Args:
        comm: ranks that read the steps.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm, self._timed = comm, TimedCollective(comm)
        self._setup = Setup(comm, Path(), Path(), False, lambda text: None)
        self._pool, self._sections = BufferPool(), SectionMonitor()
        self._sources = PlotRequest().sources
        self._plots: dict[str, _Plot] = {}
        self._figures = _Figures()
        self._stream: Stream | None = None
        self._graph: Graph | None = None
        self._plan: StepPlan | None = None
        self.changed = False  #: whether `states` has changed since it was called

    def change(self, request: PlotRequest) -> None:
        """Add and remove plots; those with unchanged settings keep their numbers."""
        sources_changed = request.sources != self._sources
        before, self._sources = self._plots, request.sources
        self._plots = {
            name: before[name]
            if not sources_changed and name in before and before[name].settings == settings
            else _Plot(settings, settings.subject())
            for name, settings in request.plots.items()
        }
        self._graph, self.changed = None, True

    def update_stream(self, stream: Stream) -> None:
        """Use the content of a stream, for which the plots are planned again."""
        self._stream, self._graph = stream, None

    def add(self, held: HeldStep, readable: bool = True) -> None:
        """Add the values of a step.

        Args:
            held: the step; values that it holds are not read again, and it does not keep others.
            readable: whether further values can be read, as the step is not released.

        Raises:
            StagingError: on all ranks, the step cannot be read.
        """
        step, self.changed = held.step, True
        if self._comm.rank == 0:
            self._figures.add(step)
        if not self._plots:
            return
        if self._graph is None:
            self._prepare(step)
        graph, plan = self._graph, self._plan
        needs = [need for plot in self._plots.values() for need in plot.needs]
        if graph is None or plan is None or not needs:
            return
        if not readable and self._comm.allreduce(len(held.missing(plan))):
            return
        graph.at(step.index, step.time, step.attributes)
        values = StepValues(
            graph, plan, step, self._comm, False, self._pool, self._sections, dict(held.values)
        )
        values.load(needs)
        context = Context(step.index, step.time, step.attributes, graph.stream, self._setup, values)
        for name, plot in self._plots.items():
            if plot.needs:
                self._compute(name, plot, context)

    def _prepare(self, step: Step) -> None:
        """Plan the plots for the present stream."""
        assert self._stream is not None
        usable = set[str]()
        for plot in self._plots.values():
            plot.needs, plot.text = (), _NEXT
            used = used_sources(self._sources, [plot.settings.model_dump_json()])
            try:
                graph = Graph(self._stream, used)
                needs = plot.subject.prepare(graph.stream)
                graph.inputs(needs)  # an error if one cannot be computed
            except PipelineError as error:
                plot.text = capitalised(error)
                continue
            plot.needs = needs
            usable |= used.keys()
        sources = {name: source for name, source in self._sources.items() if name in usable}
        self._graph = graph = Graph(self._stream, sources)
        every = [need for plot in self._plots.values() for need in plot.needs]
        self._plan = plan_step(graph, every, step, self._comm, False)

    def _compute(self, name: str, plot: _Plot, context: Context) -> None:
        try:
            with self._timed.block(f"the plot {name}", _WAIT_LIMIT):
                rows = plot.subject.rows(context)
        except Exception as error:
            expected = isinstance(error, UzushioError)
            plot.text = capitalised(error) if expected else f"{type(error).__name__}: {error}"
            return
        if self._comm.rank == 0:
            plot.add(context.index, context.time, rows)

    def states(self) -> tuple[PlotState, ...]:
        """Return all plots (root)."""
        self.changed = False
        plots = [plot.state(name) for name, plot in self._plots.items()]
        return (*self._figures.states(), *plots)
