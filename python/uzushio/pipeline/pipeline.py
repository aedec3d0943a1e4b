"""Execution of a pipeline: triggers, values and actions of each step."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.error_text import system_sentence
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import TimedCollective, collective
from uzushio._base.store.array import State, StoredState
from uzushio.errors import OtherRankError, PipelineError, StagingError, UzushioError
from uzushio.pipeline.action_table import action_class
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.drawing import Drawing
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.model import ActionItem, PipelineDefinition
from uzushio.pipeline.reductions import ReductionExpression
from uzushio.pipeline.scheduled_action import ScheduledAction, StepCounts, check_distinct, trace_of
from uzushio.pipeline.step_plan import PlanCache
from uzushio.pipeline.stream import Stream, content_key
from uzushio.pipeline.trigger import Trigger
from uzushio.pipeline.values import BufferPool, StepValues
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI

_NUMBERS = re.compile(r"\d+")
#: Section of steps with due actions, and beginning of the name of an action's section.
SECTION, ACTION = "pipeline", "action "


class Pipeline:
    """Pipeline of a file; all methods except `close`, `is_due` and `summary` are collective."""

    def __init__(
        self,
        loaded: PipelineDefinition,
        comm: MPI.Comm,
        folder: Path,
        say: Callable[[str], None],
        *,
        in_situ: bool = False,
        sections: SectionMonitor | None = None,
    ) -> None:
        """Make the actions.

        Args:
            loaded: validated file.
            comm: ranks of the pipeline.
            folder: folder of results; created if missing.
            say: prints a sentence; called only on rank 0.
            in_situ: whether the pipeline runs on the solver's ranks, inside its step.
            sections: monitor of the job's sections; None: a new one.

        Raises:
            PipelineError: two actions have the same name or write to the same file.
            OutputError: the folder cannot be created.
        """
        self._comm, self._in_situ = comm, in_situ
        self._timed_collective = TimedCollective(comm)
        self._file, self._loaded = loaded.file, loaded
        self.sections = SectionMonitor() if sections is None else sections
        self.counts = StepCounts()
        self._say = say if comm.rank == 0 else lambda text: None
        with collective(comm):
            if comm.rank == 0:
                folder.mkdir(parents=True, exist_ok=True)
        base = loaded.path.resolve().parent
        self._setup = Setup(
            comm, folder, base, in_situ, self._say, loaded.file.views, self.sections
        )
        self._scheduled = [
            self._schedule(number, kind, item)
            for number, (kind, item) in enumerate(
                zip(loaded.kinds, loaded.file.actions, strict=True)
            )
        ]
        check_distinct(self._scheduled)
        self._graph: Graph | None = None
        self._known: object = None
        self._pool = BufferPool()
        self._plans = PlanCache(comm, in_situ)
        self.stopped = False  #: whether an action failed that ends the run

    def _schedule(self, number: int, kind: str, item: ActionItem) -> ScheduledAction:
        kinds = self._loaded.kinds
        plain = kind if kinds.count(kind) == 1 else f"{kind}{number}"
        settings = getattr(item, kind)
        name = item.name or action_class(kind).default_name(settings) or plain
        action = action_class(kind)(settings, name, self._setup)
        stops = (item.on_error or self._file.on_error) == "stop"
        return ScheduledAction(
            action, Trigger(item), self._loaded.where(number), stops, item.wait_limit
        )

    def prepare(self, stream: Stream) -> None:
        """Check all names against a stream, and collect the needs of the actions.

        Raises:
            PipelineError: one line for each mistake, with file and line.
        """
        try:
            graph = Graph(stream, self._file.sources)
        except PipelineError as error:
            where = self._loaded.document.where(error.path)
            raise PipelineError(f"{where}: {error}.", error.path) from error
        mistakes = []
        for scheduled in self._scheduled:
            try:
                scheduled.needs = scheduled.action.prepare(graph.stream)
                graph.inputs(scheduled.needs)  # an error if one cannot be computed
                text = scheduled.trigger.settings.when
                scheduled.condition = None if text is None else ReductionExpression(text, graph)
                scheduled.ready = True
            except PipelineError as error:
                mistakes.append(f"{scheduled.where}: {scheduled.action.name}: {error}.")
        mistakes += self._unused_view_mistakes(graph.stream)
        if mistakes:
            raise PipelineError("\n".join(mistakes))
        self._graph = graph
        self._plans.clear()

    def _unused_view_mistakes(self, stream: Stream) -> list[str]:
        """Return the mistakes in views that no action draws."""
        shown = {
            drawing.view for drawing in self._setup.shared.values() if isinstance(drawing, Drawing)
        }
        mistakes = []
        for name, view in self._file.views.items():
            try:
                for field in view.fields() if view not in shown else ():
                    stream.scalar(field)
            except PipelineError as error:
                where = self._loaded.document.where(("views", name))
                mistakes.append(f"{where}: views.{name}: {error}.")
        return mistakes

    def resume(self, step: int, seen: tuple[int, float], states: Mapping[str, StoredState]) -> None:
        """Continue the results of an earlier run from a checkpoint; after `prepare`.

        Args:
            step: step of the checkpoint; results of later steps are removed.
            seen: number and time of the last step before it that the pipeline received.
            states: states of actions at the checkpoint, by name.

        Raises:
            CheckpointError: on all ranks, a state cannot be read.
            OutputError: on all ranks, a file cannot be written.
        """
        for scheduled in self._scheduled:
            if (state := states.get(scheduled.action.name)) is not None:
                scheduled.action.restore(state)
        with collective(self._comm):
            for scheduled in self._scheduled if self._comm.rank == 0 else ():
                scheduled.action.truncate(step)
        for scheduled in self._scheduled:
            scheduled.trigger.record_step(*seen)
        self.counts.seen = seen

    def states(self) -> dict[str, State]:
        """Return the states of the actions that have one, by name; for checkpoints."""
        states = {
            scheduled.action.name: scheduled.action.state()
            for scheduled in self._scheduled
            if scheduled.ready
        }
        return {name: state for name, state in states.items() if state is not None}

    def fields(self) -> set[str]:
        """Return the stream's own fields that the actions read; valid after `prepare`."""
        assert self._graph is not None
        needs = [need for scheduled in self._scheduled for need in scheduled.needs]
        for scheduled in self._scheduled:
            needs += scheduled.condition.needs if scheduled.condition else ()
        return self._graph.inputs(needs) - self._graph.nodes.keys()

    def is_due(self, index: int, time: float) -> bool:
        """Whether an action may run at a step; otherwise its values are not needed."""
        return any(scheduled.trigger.due(index, time) for scheduled in self._scheduled)

    def skip(self, index: int, time: float) -> None:
        """Record a step at which no action is due."""
        self._record_step(index, time)

    def _record_step(self, index: int, time: float) -> None:
        if notice := self.counts.add(index, time):
            self._say(notice)
        for scheduled in self._scheduled:
            scheduled.trigger.record_step(index, time)

    def step(self, step: Step, release: Callable[[], object] | None = None) -> bool:
        """Run the due actions at a step.

        Args:
            step: the step.
            release: in a reader, releases the step; called as soon as all values are read.

        Returns:
            Whether an action ran.

        Raises:
            PipelineError: the stream lacks names of the file, or an action with `on_error: stop`
                failed.
            StagingError: the step cannot be read.
        """
        due = [
            scheduled
            for scheduled in self._scheduled
            if scheduled.trigger.due(step.index, step.time)
        ]
        self.update_stream(step)
        self._record_step(step.index, step.time)
        if not due:
            return False
        with self.sections.section(SECTION):
            return self._run_due(step, due, release)

    def _run_due(
        self, step: Step, due: Sequence[ScheduledAction], release: Callable[[], object] | None
    ) -> bool:
        """Run actions at a step; return whether one ran."""
        graph = self._graph
        assert graph is not None
        graph.at(step.index, step.time, step.attributes)
        conditions = [
            need for scheduled in due if scheduled.condition for need in scheduled.condition.needs
        ]
        needs = list(
            dict.fromkeys([*conditions, *(need for scheduled in due for need in scheduled.needs)])
        )
        with self.sections.section("plan"):
            step_plan = self._plans.plan(graph, needs, step, self._bytes_needed)
        failures = self.failures
        values = StepValues(
            graph, step_plan, step, self._comm, self._in_situ, self._pool, self.sections
        )
        context = Context(step.index, step.time, step.attributes, graph.stream, self._setup, values)
        try:
            if conditions:
                values.load(conditions)
            fired = [scheduled for scheduled in due if self._condition_holds(scheduled, context)]
            values.load([need for scheduled in fired for need in scheduled.needs])
            if release is not None:
                release()
            for scheduled in fired:
                self._run(scheduled, context)
        finally:
            values.release()
            if self.failures > failures:
                gc.collect()  # tracebacks form reference cycles that keep the step's memory
        self.counts.bytes_read += values.bytes_read
        self.counts.used += bool(fired)
        return bool(fired)

    def update_stream(self, step: Step) -> None:
        """Prepare again if the meshes or fields of the stream changed.

        Raises:
            PipelineError: the stream lacks names of the file.
        """
        known = content_key(step)
        if known != self._known:
            self.prepare(Stream.of_step(step))
            self._known = known

    def _bytes_needed(self, values: int) -> int:
        """Return the bytes to allocate for a plan's values and all pictures."""
        drawings = (
            drawing for drawing in self._setup.shared.values() if isinstance(drawing, Drawing)
        )
        return max(0, values - self._pool.bytes) + sum(drawing.bytes_needed for drawing in drawings)

    def _condition_holds(self, scheduled: ScheduledAction, context: Context) -> bool:
        """Whether the action's condition on values is true."""
        if scheduled.condition is None:
            return True
        try:
            with self.sections.section("triggers"):
                return bool(scheduled.condition(context))
        except UzushioError as error:
            self._failed(scheduled, context.index, error)
            return False

    def _run(self, scheduled: ScheduledAction, context: Context) -> None:
        """Run an action, and record its failure."""
        scheduled.runs += 1
        name = scheduled.action.name
        with self.sections.section(ACTION + name):
            try:
                what = f"the action {name} at step {context.index}"
                with self._timed_collective.block(what, scheduled.limit):
                    scheduled.action.run(context)
            except StagingError:
                raise
            except Exception as error:
                self._failed(scheduled, context.index, error)

    def _failed(self, scheduled: ScheduledAction, step: int, error: Exception) -> None:
        """Count a failure, and print it unless it repeats the previous one."""
        expected = isinstance(error, UzushioError)
        text = str(error) if expected else f"{type(error).__name__}: {error}"
        mine = ("", "") if isinstance(error, OtherRankError) else (text, trace_of(error))
        every: list[tuple[str, str]] = self._comm.allgather(mine)
        text = next((error_text for error_text, _ in every if error_text), text)
        trace = next((error_trace for _, error_trace in every if error_trace), "")
        # Numbers of steps, also in names of files, differ each time.
        again = _NUMBERS.sub("", text) == _NUMBERS.sub("", scheduled.error or "")
        scheduled.failures, scheduled.error = scheduled.failures + 1, text
        if scheduled.stops:
            self.stopped = True
            if trace:
                self._say(trace)
            raise PipelineError(
                f"{scheduled.where}: the action {scheduled.action.name} failed at step {step}, and "
                f"its on_error is stop: {text.rstrip('.')}."
            ) from error
        if not again:
            sentence = (
                f"The action {scheduled.action.name} failed at step {step}, and the others "
                f"continue: {text}"
            )
            self._say("\n".join(filter(None, (sentence, trace))))

    def finish(self) -> None:
        """Finish all actions, also after failures.

        Raises:
            PipelineError: an action with `on_error: stop` failed.
        """
        stop: PipelineError | None = None
        with self.sections.section(SECTION):
            for scheduled in self._scheduled if self._graph is not None else ():
                try:
                    self._finish(scheduled)
                except PipelineError as failure:
                    stop = stop or failure
        if stop is not None:
            raise stop

    def _finish(self, scheduled: ScheduledAction) -> None:
        """Finish an action, and record its failure."""
        name = scheduled.action.name
        try:
            with self._timed_collective.block(f"the end of the action {name}", scheduled.limit):
                scheduled.action.finish()
        except Exception as error:
            self._failed(scheduled, self.counts.last or 0, error)

    def close(self) -> None:
        """Close all files, also after failures; the last call."""
        for scheduled in (scheduled for scheduled in self._scheduled if scheduled.ready):
            try:
                scheduled.action.close()
            except Exception as error:
                scheduled.failures += 1
                sentence = system_sentence(error) if isinstance(error, OSError) else str(error)
                scheduled.error = f"{type(error).__name__}: {sentence}"
                self._say(
                    f"The action {scheduled.action.name} could not finish its files: {sentence}"
                )

    @property
    def busy(self) -> float:
        """Seconds at steps with due actions, and at the end."""
        return self.sections.seconds().get(SECTION, 0.0)

    def seconds(self) -> dict[str, float]:
        """Return the seconds of the sections of steps by name, without the actions as a whole."""
        seconds = self.sections.seconds(inside=SECTION)
        return {name: spent for name, spent in seconds.items() if not name.startswith(ACTION)}

    def summary(self) -> dict[str, Any]:
        """Return plain JSON values: counters, times in seconds, and summaries of the actions."""
        counts, spent = self.counts, self.sections.seconds(inside=SECTION)
        return {
            "pipeline": str(self._loaded.path),
            "title": self._file.title,
            "steps": counts.steps,
            "steps_used": counts.used,
            "first_step": counts.first,
            "last_step": counts.last,
            "bytes_read": counts.bytes_read,
            "bytes_kept": self._pool.bytes,
            "seconds": self.seconds(),
            "actions": {
                scheduled.action.name: scheduled.summary(
                    spent.get(ACTION + scheduled.action.name, 0.0)
                )
                for scheduled in self._scheduled
            },
        }

    @property
    def pictures(self) -> int:
        """Number of drawn pictures, on rank 0."""
        drawings = {id(shared): shared for shared in self._setup.shared.values()}.values()
        return sum(drawing.pictures for drawing in drawings if isinstance(drawing, Drawing))

    @property
    def failures(self) -> int:
        """Number of failures of all actions."""
        return sum(scheduled.failures for scheduled in self._scheduled)
