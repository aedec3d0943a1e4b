"""A pipeline at work: from a step to all that the file wants of it."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio.errors import OtherRankError, PipelineError, StagingError, UzushioError
from uzushio.parallel import memory
from uzushio.parallel.agreement import Agreement
from uzushio.parallel.collective import collective, system_sentence
from uzushio.parallel.timings import Timings
from uzushio.pipeline.action_table import action_class
from uzushio.pipeline.context import Context, Setup
from uzushio.pipeline.drawing import Drawing
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.job import Counts, Job, trace_of
from uzushio.pipeline.lines import cut_after
from uzushio.pipeline.model import ActionItem, Loaded
from uzushio.pipeline.need import Need
from uzushio.pipeline.reductions import Reduced
from uzushio.pipeline.stream import Stream
from uzushio.pipeline.trigger import Clock
from uzushio.pipeline.values import Layout, Pool, StepValues, plan
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI

#: Layouts of needs that are remembered; there are few sets of actions that run together.
_LAYOUTS = 64
#: Files that get lines step by step.
_GROWING = (".csv", ".jsonl", ".json", ".txt")
_NUMBERS = re.compile(r"\d+")


#: What a user can do about too little memory for a pipeline.
_ADVICE = (
    "Use more nodes or fewer ranks a node, smaller pictures (size, samples) or regions in the "
    "pipeline, or raise the limit."
)


class Pipeline:
    """All methods but `close`, `wants` and `summary` are collective."""

    def __init__(
        self,
        loaded: Loaded,
        comm: MPI.Comm,
        folder: Path,
        say: Callable[[str], None],
        *,
        inside: bool = False,
    ) -> None:
        """Make the actions.

        Args:
            loaded: the file.
            comm: the ranks that work together.
            folder: for the results; made if it is not there.
            say: tells the user a sentence; called on rank 0 alone.
            inside: whether the ranks are the solver's, inside its step.

        Raises:
            PipelineError: two actions have the same name, or write to one file. OutputError: no
                folder.
        """
        self._comm, self._inside = comm, inside
        self._agreement = Agreement(comm)
        self._file, self._loaded = loaded.file, loaded
        self.timings, self.counts = Timings(), Counts()
        self._say = say if comm.rank == 0 else lambda text: None
        with collective(comm):
            if comm.rank == 0:
                folder.mkdir(parents=True, exist_ok=True)
        base = loaded.path.resolve().parent
        self._setup = Setup(comm, folder, base, inside, self._say, loaded.file.views, self.timings)
        self._jobs = [
            self._job(number, kind, item)
            for number, (kind, item) in enumerate(
                zip(loaded.kinds, loaded.file.actions, strict=True)
            )
        ]
        names = [job.action.name for job in self._jobs]
        for job in self._jobs:
            if names.count(job.action.name) > 1:
                raise PipelineError(
                    f"{job.where}: two actions are called '{job.action.name}'; give each a 'name'."
                )
        self._check_files()
        self._graph: Graph | None = None
        self._known: object = None
        self._pool = Pool()
        self.stopped = False  #: an action failed that the file wants to stop for
        self.busy = 0.0  #: seconds at steps at which something was due
        self._layouts: dict[object, Layout] = {}

    def _job(self, number: int, kind: str, item: ActionItem) -> Job:
        kinds = self._loaded.kinds
        plain = kind if kinds.count(kind) == 1 else f"{kind}{number}"
        settings = getattr(item, kind)
        name = item.name or action_class(kind).default_name(settings) or plain
        action = action_class(kind)(settings, name, self._setup)
        stops = (item.on_error or self._file.on_error) == "stop"
        return Job(action, Clock(item), self._loaded.where(number), stops, item.wait_limit)

    def _check_files(self) -> None:
        """Raise `PipelineError` if two actions write to one file."""
        writers: dict[str, Job] = {}
        for job in self._jobs:
            for file in map(os.path.normpath, job.action.files()):
                if writers.setdefault(file, job) is not job:
                    raise PipelineError(
                        f"{job.where}: the actions {writers[file].action.name} and "
                        f"{job.action.name} both write {file}; give each a file of its own."
                    )

    def prepare(self, stream: Stream) -> None:
        """Check all names against what a stream has, and learn what the actions look at.

        Raises:
            PipelineError: one line for each mistake, with its place in the file.
        """
        try:
            graph = Graph(stream, self._file.sources)
        except PipelineError as error:
            key = ("sources", str(error).removeprefix("sources.").partition(":")[0].split(" ")[0])
            raise PipelineError(f"{self._loaded.document.where(key)}: {error}.") from error
        mistakes = []
        for job in self._jobs:
            try:
                job.needs = job.action.prepare(graph.stream)
                for need in job.needs:
                    grid = graph.stream.grid_of(need.fields[0])
                    for name in need.fields:
                        graph.on_grid(name, grid)
                text = job.clock.settings.when
                job.condition = None if text is None else Reduced(text, graph)
                job.ready = True
            except PipelineError as error:
                mistakes.append(f"{job.where}: {job.action.name}: {error}.")
        mistakes += self._wrong_views(graph.stream)
        if mistakes:
            raise PipelineError("\n".join(mistakes))
        self._graph = graph
        self._layouts.clear()

    def _wrong_views(self, stream: Stream) -> list[str]:
        """Mistakes in views that no action shows: somebody will want to."""
        shown = {one.view for one in self._setup.shared.values() if isinstance(one, Drawing)}
        mistakes = []
        for name, view in self._file.views.items():
            try:
                for field in view.fields() if view not in shown else ():
                    stream.scalar(field)
            except PipelineError as error:
                where = self._loaded.document.where(("views", name))
                mistakes.append(f"{where}: views.{name}: {error}.")
        return mistakes

    def forget(self, step: int) -> None:
        """Take lines of steps after this one out of the actions' files: they are made anew.

        Raises:
            OutputError: on all ranks, a file cannot be written.
        """
        with collective(self._comm):
            for job in self._jobs if self._comm.rank == 0 else ():
                for name in job.action.files():
                    if Path(name).suffix in _GROWING:
                        cut_after(self._setup.folder / name, step)

    def fields(self) -> set[str]:
        """The stream's own fields that are looked at, once it is prepared."""
        assert self._graph is not None
        graph, names = self._graph, set[str]()
        for job in self._jobs:
            for need in (*job.needs, *(job.condition.needs if job.condition else ())):
                grid = graph.stream.grid_of(need.fields[0])
                names |= {graph.on_grid(name, grid) for name in need.fields}
                names |= {name for name in (grid.coordinate_field,) if name is not None}
        for name in reversed(graph.nodes):
            if name in names:
                names |= set(graph.nodes[name].of)
        return names - graph.nodes.keys()

    def wants(self, index: int, time: float) -> bool:
        """Whether anything may run at a step: else nobody needs to have its values."""
        return any(job.clock.due(index, time) for job in self._jobs)

    def skip(self, index: int, time: float) -> None:
        """A step was there at which nothing is due."""
        self._saw(index, time)

    def _saw(self, index: int, time: float) -> None:
        counts = self.counts
        counts.steps += 1
        counts.first = index if counts.first is None else counts.first
        counts.last, counts.time = index, time
        for job in self._jobs:
            job.clock.saw(index, time)

    def step(self, step: Step, release: Callable[[], object] | None = None) -> bool:
        """Do at a step what is due.

        Args:
            step: the step.
            release: in a reader, gives the step back to the writer; called as soon as all values
                were read.

        Returns:
            Whether anything ran.

        Raises:
            PipelineError: names in the file that the stream does not have; or an action failed
                that the file wants to stop for.
            StagingError: the step cannot be read.
        """
        began = time.perf_counter()
        due = [job for job in self._jobs if job.clock.due(step.index, step.time)]
        self.look(step)
        self._saw(step.index, step.time)
        if not due:
            return False
        graph = self._graph
        assert graph is not None
        graph.at(step.index, step.time, step.attributes)
        conditions = [need for job in due if job.condition for need in job.condition.needs]
        needs = list(dict.fromkeys([*conditions, *(need for job in due for need in job.needs)]))
        layout = self._layout(graph, needs, step)
        failures = self.failures
        values = StepValues(graph, layout, step, self._comm, self._inside, self._pool, self.timings)
        context = Context(step.index, step.time, step.attributes, graph.stream, self._setup, values)
        try:
            if conditions:
                values.load(conditions)
            fired = [job for job in due if self._fires(job, context)]
            values.load([need for job in fired for need in job.needs])
            if release is not None:
                release()
            for job in fired:
                self._run(job, context)
        finally:
            values.drop()
            if self.failures > failures:
                gc.collect()  # tracebacks go around in circles, and keep the step's memory
            self.busy += time.perf_counter() - began
        self.counts.bytes_read += values.bytes_read
        self.counts.used += bool(fired)
        return bool(fired)

    def look(self, step: Step) -> None:
        """See whether the stream has what it had, and prepare for it if not.

        Raises:
            PipelineError: names in the file that the stream does not have.
        """
        digest = hashlib.sha256()
        for mesh in step.meshes.values():
            digest.update(repr((mesh.name, mesh.kind, mesh.vertices, mesh.origin)).encode())
            for line in mesh.coordinates or ():
                digest.update(line.tobytes())
        known = digest.digest(), tuple(step.fields.values()), step.attributes.get("periodic")
        if known != self._known:
            self.prepare(Stream.of_step(step))
            self._known = known

    def _layout(self, graph: Graph, needs: list[Need], step: Step) -> Layout:
        """The layout of these needs, made anew only where the stream's blocks changed."""
        blocks: object = None
        if self._inside:
            blocks = tuple((b.id, b.rank, b.mesh, b.vertices.pair) for b in step.blocks)
        key = (tuple(needs), blocks)
        if key not in self._layouts:
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            with self.timings.stage("plan"):
                layout = plan(graph, needs, step, self._comm, self._inside)
            needed = layout.bytes_needed(graph, step, self._comm.rank, self._inside)
            pictures = sum(
                one.bytes_needed for one in self._setup.shared.values() if isinstance(one, Drawing)
            )
            memory.require(
                self._comm,
                max(0, needed - self._pool.bytes) + pictures,
                "a step of this pipeline",
                _ADVICE,
            )
            self._layouts[key] = layout
        return self._layouts[key]

    def _fires(self, job: Job, context: Context) -> bool:
        """Whether the action's condition is true."""
        if job.condition is None:
            return True
        try:
            with self.timings.stage("triggers"):
                return bool(job.condition(context))
        except UzushioError as error:
            self._failed(job, context.index, error)
            return False

    def _run(self, job: Job, context: Context) -> None:
        """Run an action; whatever it raises is its own failure."""
        began = time.perf_counter()
        job.runs += 1
        try:
            what = f"the action {job.action.name} at step {context.index}"
            with self._agreement.on(what, job.limit):
                job.action.run(context)
        except StagingError:
            raise
        except Exception as error:
            self._failed(job, context.index, error)
        finally:
            job.seconds += time.perf_counter() - began

    def _failed(self, job: Job, step: int, error: Exception) -> None:
        """Count a failure, and say it if it is not the one that was said before."""
        expected = isinstance(error, UzushioError)
        text = str(error) if expected else f"{type(error).__name__}: {error}"
        mine = ("", "") if isinstance(error, OtherRankError) else (text, trace_of(error))
        every: list[tuple[str, str]] = self._comm.allgather(mine)
        text = next((found for found, _ in every if found), text)
        trace = next((found for _, found in every if found), "")
        # Names of files and numbers of steps differ each time.
        again = _NUMBERS.sub("", text) == _NUMBERS.sub("", job.error or "")
        job.failures, job.error = job.failures + 1, text
        if job.stops:
            self.stopped = True
            if trace:
                self._say(trace)
            raise PipelineError(
                f"{job.where}: the action {job.action.name} failed at step {step}, and "
                f"the pipeline is to stop then: {text.rstrip('.')}."
            ) from error
        if not again:
            told = (
                f"The action {job.action.name} failed at step {step}, and the others go on: {text}"
            )
            self._say("\n".join(filter(None, (told, trace))))

    def finish(self) -> None:
        """Let the actions write what only the end makes whole; all of them, whatever fails.

        Raises:
            PipelineError: an action failed that the file wants to stop for.
        """
        stop: PipelineError | None = None
        for job in self._jobs if self._graph is not None else ():
            try:
                with self._agreement.on(f"the end of the action {job.action.name}", job.limit):
                    job.action.finish()
            except Exception as error:
                try:
                    self._failed(job, self.counts.last or 0, error)
                except PipelineError as failure:
                    stop = stop or failure
        if stop is not None:
            raise stop

    def close(self) -> None:
        """Finish all files, whatever happened; the last call."""
        for job in (job for job in self._jobs if job.ready):
            try:
                job.action.close()
            except Exception as error:
                job.failures += 1
                told = system_sentence(error) if isinstance(error, OSError) else str(error)
                job.error = f"{type(error).__name__}: {told}"
                self._say(f"The action {job.action.name} could not finish its files: {told}")

    def summary(self) -> dict[str, Any]:
        """Plain JSON values: counters, timings in seconds, and each action's own (of this rank)."""
        counts = self.counts
        return {
            "pipeline": str(self._loaded.path),
            "title": self._file.title,
            "steps": counts.steps,
            "steps_used": counts.used,
            "first_step": counts.first,
            "last_step": counts.last,
            "bytes_read": counts.bytes_read,
            "bytes_kept": self._pool.bytes,
            "seconds": dict(self.timings),
            "actions": {
                job.action.name: {
                    "runs": job.runs,
                    "failures": job.failures,
                    "error": job.error,
                    "seconds": job.seconds,
                    **(job.action.summary() if job.ready else {}),
                }
                for job in self._jobs
            },
        }

    @property
    def pictures(self) -> int:
        """Drawn, on rank 0."""
        drawings = {id(found): found for found in self._setup.shared.values()}.values()
        return sum(found.pictures for found in drawings if isinstance(found, Drawing))

    @property
    def failures(self) -> int:
        """Of all actions."""
        return sum(job.failures for job in self._jobs)
