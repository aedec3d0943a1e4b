"""Pictures of views of kept steps, drawn by the pipeline's own parts on all ranks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.config.yaml_file import KeyPath
from uzushio._base.error_text import capitalised
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import TimedCollective, collective, maximum
from uzushio.errors import PipelineError, RenderError, StagingError, UzushioError
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.drawing import Drawing
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.need import Need
from uzushio.pipeline.sources import SourceSettings, used_sources
from uzushio.pipeline.step_plan import StepPlan, plan_step
from uzushio.pipeline.stream import Stream, content_key
from uzushio.pipeline.values import BufferPool, StepValues
from uzushio.render.background import plain
from uzushio.render.limits import Range
from uzushio.render.picture import Picture
from uzushio.render.view import View
from uzushio.viewer.budget import Budget
from uzushio.viewer.held_steps import HeldStep

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.step import Step

#: Timeout of the other ranks after a picture, seconds; then the job ends.
_WAIT_LIMIT = 120.0


class MissingFieldError(PipelineError):
    """A kept step lacks a field that the view needs, or a part of it."""


class _FreshMemory(BufferPool):
    """New memory for each array: pictures refer to the arrays of several steps."""

    def take(self, key: object, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an uninitialised array."""
        del key
        return np.empty(shape, dtype)


@dataclass(frozen=True)
class RefusedLayer:
    """Layer that is left out of a picture, with the reason and the control that caused it."""

    number: int
    message: str
    path: KeyPath


@dataclass
class _ViewState:
    """View with its plan for the present stream, and its values of one step.

    Attributes:
        planned: layers, font and sources for which it was planned.
        layers: indices of the layers that are drawn.
        refused: the others.
    """

    drawing: Drawing
    graph: Graph
    planned: tuple[object, object, Mapping[str, SourceSettings]] | None = None
    layers: Sequence[int] = ()
    refused: tuple[RefusedLayer, ...] = ()
    needs: Sequence[Need] = ()
    plan: StepPlan | None = None
    shown: tuple[HeldStep, Context] | None = None
    #: At the root: the last picture, for probes at the pointer.
    picture: Picture | None = field(default=None, repr=False)


class Scene:
    """Views of one stream; all methods are collective.

    A view is planned when its layers, its sources or the stream change, and its values are taken
    from a kept step once. Another camera, size or title only draws.

    Args:
        comm: ranks that draw; each holds its share of every mesh.
        base: folder at which relative paths in views start.
        budget: time budget of the picture in progress.
    """

    def __init__(self, comm: MPI.Comm, base: Path, budget: Budget | None = None) -> None:
        self._comm, self.budget = comm, budget or Budget()
        self.sections = SectionMonitor()
        self._setup = Setup(
            *(comm, base, base, False, lambda text: None),
            sections=self.sections,
            check=self.budget.check,
        )
        self._timed = TimedCollective(comm)
        self._views: dict[str, _ViewState] = {}
        self._stream: Stream | None = None
        self._known: object = None
        #: Ranges of components and derived fields that were drawn, by name, with their sources.
        self._ranges: dict[str, tuple[Mapping[str, SourceSettings], Range]] = {}

    @property
    def stream(self) -> Stream | None:
        """Content of the newest step; None before the first."""
        return self._stream

    def update_stream(self, step: Step, new_writer: bool = False) -> bool:
        """Use the content of a step; return whether it is of another stream than the step before.

        That is, whether its content differs, or its writer is a new one. The views are then planned
        again, because their fields may be on other meshes.
        """
        known = content_key(step)
        if known == self._known and not new_writer:
            return False
        self._known, self._stream = known, Stream.of_step(step)
        self._ranges.clear()
        self.keep_views(())
        return True

    def keep_views(self, names: Collection[str]) -> None:
        """Discard all other views."""
        for name in [name for name in self._views if name not in names]:
            self._close(self._views.pop(name))

    def _close(self, state: _ViewState) -> None:
        state.drawing.close_renderers()
        state.drawing.close()

    def prepare(self, name: str, view: View, sources: Mapping[str, SourceSettings]) -> None:
        """Plan a view, if it has other layers or sources than before; only those it uses count.

        A layer that cannot be drawn is left out; `refused` returns the reasons.

        Raises:
            PipelineError: on all ranks, no layer can be drawn of this stream; `path` is the control
                that caused it.
        """
        assert self._stream is not None
        if view.font is not None:
            view = view.model_copy(update={"font": self._setup.base / view.font.expanduser()})
        used = used_sources(sources, view.fields())
        planned = view.layers, view.font, used
        state = self._views.get(name)
        if state is not None and state.planned == planned:
            state.drawing.change(_with_layers(view, state.layers))
            return
        # The drawing keeps its renderers, the graph is new.
        before = state
        drawing = Drawing(view, self._setup, True) if before is None else before.drawing
        self._views[name] = state = _ViewState(drawing, Graph(self._stream, {}))
        self._plan(state, name, view, used)
        state.planned = planned
        if before is None or before.planned is None or before.planned[2] != used:
            return
        if list(before.needs) == list(state.needs):
            state.graph, state.plan, state.shown = before.graph, before.plan, before.shown

    def _plan(
        self, state: _ViewState, name: str, view: View, sources: Mapping[str, SourceSettings]
    ) -> None:
        """Plan a view with all its layers, or else with those that can be drawn together."""
        every = range(len(view.layers))
        try:
            self._plan_layers(state, name, view, every, sources)
            return
        except PipelineError as error:
            whole, layers = error, list[int]()
        refused = list[RefusedLayer]()
        for number in every:
            try:
                self._plan_layers(state, name, view, [*layers, number], sources)
                layers.append(number)
            except PipelineError as error:
                own = error.path[:1] == ("sources",) or error.path[2:]
                path = error.path if own else ("views", name, "layers", number)
                refused.append(RefusedLayer(number, str(error), path))
        if not layers:
            raise whole
        self._plan_layers(state, name, view, layers, sources)
        state.refused = tuple(refused)

    def _plan_layers(
        self,
        state: _ViewState,
        name: str,
        view: View,
        layers: Sequence[int],
        sources: Mapping[str, SourceSettings],
    ) -> None:
        """Plan some layers of a view; raises `PipelineError` on all ranks."""
        assert self._stream is not None
        part = _with_layers(view, layers)
        state.drawing.change(part)
        state.needs = ()  # a view that fails needs nothing
        try:
            graph = Graph(self._stream, used_sources(sources, part.fields()))
        except PipelineError as error:
            raise PipelineError(capitalised(error), error.path) from error
        try:
            needs = state.drawing.prepare(graph.stream) if layers else ()
            graph.inputs(needs)  # an error if one cannot be computed
        except (PipelineError, RenderError) as error:
            place = _field_path(view, layers, graph.stream)
            raise PipelineError(capitalised(error), ("views", name, *place)) from error
        state.graph, state.layers, state.needs = graph, layers, needs

    def refused(self, name: str) -> tuple[RefusedLayer, ...]:
        """Return the layers that are left out of a prepared view."""
        return self._views[name].refused

    def read(self, step: Step, held: HeldStep | None = None) -> HeldStep:
        """Copy the values that the views need from a step that is not released.

        Args:
            step: the step.
            held: a kept step of the same number, to add to.

        Raises:
            StagingError: on all ranks, the step cannot be read.
        """
        held = HeldStep(step) if held is None else held
        held.step = step
        sections = SectionMonitor()
        for state in self._views.values():
            try:
                if state.needs:
                    self._values(state, held, sections).read(state.needs)
            except StagingError:
                raise
            except UzushioError:
                continue  # the picture of this view states what is missing
        held.seconds += sections.seconds().get("read", 0.0)
        return held

    def draw(self, name: str, held: HeldStep) -> Picture | None:
        """Draw a prepared view of a kept step; return the picture on rank 0.

        Raises:
            MissingFieldError: on all ranks, the step was kept without a field of the view.
            UzushioError: on all ranks, the view cannot be drawn.
        """
        state = self._views[name]
        if not state.needs:
            return self._blank(state.drawing.view, held) if self._comm.rank == 0 else None
        shown, context = state.shown, self._context(state, held)
        try:
            with collective(self._comm):
                self.budget.check()
        except UzushioError:
            state.shown = shown  # the values may not be computed
            raise
        with self._timed.block(f"the picture of step {held.index}", _WAIT_LIMIT):
            picture = state.drawing.draw(context)
        state.picture = picture
        return picture

    @staticmethod
    def _blank(view: View, held: HeldStep) -> Picture:
        """Return the picture of a view without layers: its background."""
        width, height = view.size
        pixels = plain(view.background, width, height).copy()
        return Picture(pixels, held.index, held.step.time)

    @property
    def ranges(self) -> dict[str, Range]:
        """Ranges of components and derived fields that were drawn."""
        return {name: limits for name, (_, limits) in self._ranges.items()}

    def find_ranges(self, name: str) -> bool:
        """Find the ranges of a drawn view's computed fields that are new; return if there are."""
        state = self._views[name]
        if state.shown is None or state.planned is None or self._stream is None:
            return False
        context, sources = state.shown[1], state.planned[2]
        stored = {
            quantity.name
            for quantity in self._stream.quantities.values()
            if "." not in quantity.name
        }
        fields = [
            (number, field, used_sources(sources, [field]))
            for number, field in enumerate(state.drawing.shown.fields())
            if field not in stored
        ]
        fields = [entry for entry in fields if self._ranges.get(entry[1], ({},))[0] != entry[2]]
        ends = np.full((len(fields), 2), -np.inf)
        for row, (number, _, _) in enumerate(fields):
            for need in state.needs:
                for part in context.parts(need):
                    values = part.fields[need.fields[number]]
                    finite = values[np.isfinite(values)]
                    if finite.size:
                        own = -float(finite.min()), float(finite.max())
                        ends[row] = np.maximum(ends[row], own)
        self._comm.Allreduce(ends.copy(), ends, maximum())
        for (_, name, used), (low, high) in zip(fields, ends.tolist(), strict=True):
            if np.isfinite(low):
                self._ranges[name] = used, (-low, high)
        return bool(np.isfinite(ends).any())

    def parts(self, name: str) -> tuple[_ViewState, Context] | None:
        """Return a view's state with the step that its last picture shows."""
        state = self._views.get(name)
        if state is None or state.shown is None:
            return None
        return state, state.shown[1]

    def _context(self, state: _ViewState, held: HeldStep) -> Context:
        """Return the step's values for a view: those of its last picture, or newly computed."""
        if state.shown is not None and state.shown[0] is held:
            return state.shown[1]
        step, graph = held.step, state.graph
        graph.at(step.index, step.time, step.attributes)
        values = self._values(state, held, self.sections)
        assert state.plan is not None
        missing = held.missing(state.plan)
        if self._comm.allreduce(len(missing)):
            absent = sorted({name for names in self._comm.allgather(missing) for name in names})
            raise MissingFieldError(f"step {held.index} was kept without {', '.join(absent)}")
        values.load(state.needs, last=True)
        context = Context(step.index, step.time, step.attributes, graph.stream, self._setup, values)
        state.shown = held, context
        return context

    def _values(self, state: _ViewState, held: HeldStep, sections: SectionMonitor) -> StepValues:
        if state.plan is None:
            state.plan = plan_step(state.graph, state.needs, held.step, self._comm, False)
        return StepValues(
            state.graph,
            state.plan,
            held.step,
            self._comm,
            False,
            _FreshMemory(),
            sections,
            held.values,
            self.budget.check,
        )


def _with_layers(view: View, layers: Sequence[int]) -> View:
    """Return a view with some of its layers."""
    if len(layers) == len(view.layers):
        return view
    return view.model_copy(update={"layers": tuple(view.layers[number] for number in layers)})


def _field_path(view: View, layers: Sequence[int], stream: Stream) -> KeyPath:
    """Return the path of the first field of layers that the stream lacks; empty if it has all."""
    for number in layers:
        layer = view.layers[number]
        for key, name in (
            (("field",), getattr(layer, "field", None)),
            (("color", "field"), getattr(layer.color, "field", None)),
        ):
            try:
                for part in () if name is None else stream.parts(name):
                    stream.scalar(part)
            except PipelineError:
                return ("layers", number, *key)
    return ()
