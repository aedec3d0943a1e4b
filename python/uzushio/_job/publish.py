"""Publishing of a run's fields through staging, configured by the case's section `publish`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.config.names import unknown
from uzushio._base.config.user_function import load_function
from uzushio._base.parallel import memory
from uzushio._base.parallel.sync import TimedCollective, collective
from uzushio._job import run_folder
from uzushio._job.run_attributes import PaceMeter, monitor_attributes
from uzushio.case.model import Case, Publish
from uzushio.errors import CaseError, OtherRankError, StagingError, WaitStopped
from uzushio.solvers.contract import (
    FIELDS,
    Field,
    Mesh,
    Solver,
    State,
    StoredState,
)

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.in_situ import InSituPipeline
    from uzushio.staging.writer import Command, Writer


class Publisher:
    """Writer of a solver's fields to one stream. All methods are collective.

    The stream has the meshes and blocks of the solver. A field on several meshes is published as
    one field on each mesh (`Field.parts`). After an error of staging the run continues
    without the stream, unless `queue.on_timeout` or `on_error` is `fail`.
    """

    def __init__(
        self,
        case: Case,
        solver: Solver,
        comm: MPI.Comm,
        folder: Path,
        warn: Callable[[str], None],
        stop: Callable[[], bool],
        notes: Mapping[str, Any] | None = None,
        actions: Mapping[str, StoredState] | None = None,
    ) -> None:
        """Open the stream, if the case has one.

        Args:
            case: case of the run.
            solver: solver whose fields are published.
            comm: the solver's ranks.
            folder: folder of the run. By default the contact file is NAME.contact there, and stored
                steps are in published/NAME.zarr.
            warn: prints a warning.
            stop: returns whether the run has received a stop signal, which ends the writer's waits
                for readers.
            notes: what `state` returned first at the checkpoint of a restart.
            actions: what it returned second, by name.

        Raises:
            CaseError: the case names a field that the solver does not have.
            StagingError: the stream cannot be opened.
        """
        self._solver, self._comm, self._warn, self._stop = solver, comm, warn, stop
        self._writer: Writer | None = None
        self._meshes = solver.meshes()
        self._fields: dict[str, Field] = {}
        self._blocks: dict[str, list[int]] = {}  # ids of this rank's blocks, by mesh
        self._coordinates: dict[str, list[np.ndarray]] = {}  # of curvilinear meshes, by mesh
        self._result: dict[str, Any] | None = None
        self._seconds, self._fatal = 0.0, False
        self._pace = PaceMeter(case.time, solver.step_index, solver.time)
        self.every = 1 if case.publish is None else case.publish.every
        self._pipeline: InSituPipeline | None = None
        self._function: Callable[[Any], object] | None = None
        if case.publish is not None:
            self._fields = chosen(case.publish, solver.fields())
            self._load_in_situ(case.publish, folder, notes or {}, actions or {})
            self._open(case, case.publish, folder)

    def _load_in_situ(
        self,
        section: Publish,
        folder: Path,
        notes: Mapping[str, Any],
        actions: Mapping[str, StoredState],
    ) -> None:
        """Load the function and the pipeline that the engine inproc calls in each step.

        If the section has neither a function nor a list of fields, only the fields that the
        pipeline reads are published.
        """
        if section.python is not None:
            agreement, file = TimedCollective(self._comm), section.python
            with agreement.block(f"loading {file}"):
                try:
                    function = load_function(file, "on_step")
                except ValueError as error:
                    raise CaseError(f"publish.python: {error}.") from error
                self._function = _collectively(function, agreement, f"on_step of {file}")
        if section.pipeline is not None:
            from uzushio.pipeline.in_situ import InSituPipeline

            seen = (int(notes["step"]), float(notes["time"])) if notes else None
            self._pipeline = InSituPipeline(
                section.pipeline,
                self._solver,
                self._fields,
                self._comm,
                folder,
                self._warn,
                seen,
                actions,
            )
            if self._function is None and section.fields is None:
                needed = self._pipeline.fields()
                self._fields = {
                    name: field
                    for name, field in self._fields.items()
                    if not needed.isdisjoint(part.name for part in field.parts)
                }

    def _open(self, case: Case, section: Publish, folder: Path) -> None:
        from uzushio import staging

        options, name = section.options(), section.name or case.solver
        self._fatal = options.fails_on_timeout or options.on_error == "fail"
        options.on_error = "fail"  # errors are raised here, which `_fail` reports
        published = folder / run_folder.PUBLISHED
        with collective(self._comm):
            if self._comm.rank == 0:
                published.mkdir(exist_ok=True)
        if not options.contact.name:
            options.contact = folder / f"{name}.contact"
        if not options.folder.name:  # steps before a restart are kept
            part = f"-{self._solver.step_index:08d}" if self._solver.step_index else ""
            options.folder = published / f"{name}{part}.zarr"
        steps = 1 if options.engine in ("inproc", "file") else options.depth
        memory.require(self._comm, steps * self._step_bytes(), "the queue of published steps")
        self._result = {"stream": name, "engine": options.engine, "failed": None}
        self._writer = writer = staging.open(name, self._comm, options)
        if self._function is not None:
            writer.on_step(self._function)
        if self._pipeline is not None:
            writer.on_step(self._pipeline.step)
        writer.attribute("title", case.title)
        writer.attribute("solver", case.solver)
        self._describe(writer)

    def _used_meshes(self) -> dict[str, Mesh]:
        used = {mesh for field in self._fields.values() for mesh in field.meshes}
        return {name: mesh for name, mesh in self._meshes.items() if name in used}

    def _step_bytes(self) -> int:
        """Return the bytes of this rank's values in a step."""
        values = sum(
            math.prod(field.shape(box))
            for field in self._fields.values()
            for box in field.boxes(self._meshes)
        )
        for mesh in self._used_meshes().values():
            if mesh.coordinates is None:
                values += sum(3 * mesh.box("vertex", block).size for block in mesh.blocks)
        return 8 * values

    def _describe(self, writer: Writer) -> None:
        """Describe meshes and fields, and this rank's blocks (collective)."""
        meshes = self._used_meshes()
        mine = sum(len(mesh.blocks) for mesh in meshes.values())
        counts = self._comm.allgather(mine)
        following = sum(counts[: self._comm.rank])  # id of the next block
        for name, mesh in meshes.items():
            writer.mesh(mesh)
            self._blocks[name] = [following + number for number in range(len(mesh.blocks))]
            following += len(mesh.blocks)
            for id, block in zip(self._blocks[name], mesh.blocks, strict=True):
                if block.size > 0:
                    writer.block(id, name, block, mesh.blocks_of)
            if mesh.coordinates is None:
                self._coordinates[name] = self._vertices(name, mesh)
        for field in self._fields.values():
            for p in field.parts:
                writer.field(p.name, p.mesh, p.association, p.dtype, p.components, **p.attributes)

    def _vertices(self, name: str, mesh: Mesh) -> list[np.ndarray]:
        """Return the coordinates of the vertices of this rank's blocks."""
        vertices = []
        for number, block in enumerate(mesh.blocks):
            vertices.append(np.empty((*mesh.box("vertex", block).count, 3)))
            self._solver.write_coordinates(name, number, vertices[-1])
        return vertices

    def is_due(self) -> bool:
        """Return whether the solver's present step is published."""
        return self._writer is not None and self._solver.step_index % self.every == 0

    def take_commands(self) -> list[Command]:
        """Return the commands of readers since the last call (rank 0)."""
        return [] if self._writer is None else self._writer.take_commands()

    def reply(self, command: Command, text: str) -> None:
        """Reply to a command (rank 0)."""
        if self._writer is not None:
            self._writer.reply(command, text)

    @property
    def stopped(self) -> str | None:
        """Message of a failed action with `on_error: stop`, which ends the run; otherwise None."""
        return None if self._pipeline is None else self._pipeline.stopped

    @property
    def failed(self) -> bool:
        """Whether publishing, or an action of the pipeline inside the run, has failed."""
        published = self.summary() or {}
        inside = published.get("pipeline", {})
        return bool(published.get("failed") or inside.get("failures") or self.stopped)

    def publish_step(self) -> bool:
        """Publish the current fields; return whether the run continues."""
        if self._writer is None:
            return True
        began = time.monotonic()
        pipeline = self._pipeline
        if pipeline is None or self._function is not None or pipeline.is_due():
            try:
                self._publish(self._writer)
            except StagingError as error:
                if self._fatal:
                    raise
                self._fail(error)
        self._seconds += time.monotonic() - began
        return self.stopped is None

    def _publish(self, writer: Writer) -> None:
        solver = self._solver
        for name, value in {**solver.attributes(), **self._run_attributes(writer)}.items():
            writer.attribute(name, value)
        writer.begin_step(solver.step_index, solver.time)
        buffers: dict[str, list[np.ndarray]] = {}
        with collective(self._comm):
            for name, arrays in self._coordinates.items():
                for id, array in zip(self._blocks[name], arrays, strict=True):
                    if array.size > 0:
                        writer.put(self._meshes[name].coordinate_field or "", array, id)
            for name, field in self._fields.items():
                buffers[name] = [
                    writer.buffer(part.name, id) if block.size > 0 else np.empty(part.shape(block))
                    for part in field.parts
                    for id, block in zip(
                        self._blocks[part.mesh], self._meshes[part.mesh].blocks, strict=True
                    )
                ]
        with solver.sections.section(FIELDS):
            for name, out in buffers.items():
                solver.write_field(name, out)
        with suppress(WaitStopped):  # raised on all ranks; their vote ends the run
            writer.end_step(self._stop)

    def _run_attributes(self, writer: Writer) -> dict[str, int | float | str]:
        """Return the solver's figures and, on rank 0, the pace of the run (collective)."""
        solver = self._solver
        attributes = monitor_attributes(solver.monitor())
        if self._comm.rank == 0:
            waited = writer.counters().seconds_waited
            attributes |= self._pace.add(solver.step_index, solver.time, waited).attributes()
        return attributes

    def _fail(self, error: StagingError) -> None:
        """End the stream after an error; the run continues."""
        assert self._result is not None
        self._store_counters()
        self._writer = None
        if self._pipeline is not None:
            self._pipeline.finish()
        self._result["failed"] = str(error)
        self._warn(f"Nothing more is published, and the run continues: {error}")

    def _store_counters(self) -> None:
        """Store the counters of the published steps."""
        assert self._result is not None and self._writer is not None
        counters = asdict(self._writer.counters())
        counted = ("published", "delivered", "dropped", "seconds_waited", "peak_bytes")
        self._result |= {name: counters[name] for name in counted}

    def close(self) -> None:
        """Deliver the remaining steps to readers, and end the stream."""
        if self._writer is None:
            return
        writer = self._writer
        if self._pipeline is not None:
            self._pipeline.finish()
        try:
            with suppress(WaitStopped):  # active readers have received their steps
                writer.close(self._stop)
        except StagingError as error:
            self._fail(error)
            return
        self._store_counters()
        self._writer = None

    def abandon(self) -> None:
        """End the stream without delivering the queued steps; readers get `PeerGone`."""
        self._writer = None
        if self._pipeline is not None:
            self._pipeline.close()

    def state(self) -> tuple[Mapping[str, Any] | None, Mapping[str, State]]:
        """Return what a checkpoint holds of the pipeline; None and {} before its first step.

        Returns:
            Notes of the last step that it received, and the states of its actions.
        """
        if self._pipeline is None or self._pipeline.seen is None:
            return None, {}
        step, time = self._pipeline.seen
        return {"step": step, "time": time}, self._pipeline.states()

    def summary(self) -> Mapping[str, Any] | None:
        """Return the counters of the stream for `summary.json`; those of rank 0."""
        if self._result is None:
            return None
        pipeline = {} if self._pipeline is None else {"pipeline": self._pipeline.summary()}
        return {**self._result, "seconds": self._seconds, **pipeline}

    def report(self) -> str | None:
        """Return a sentence with the counters; None without a stream or before its end."""
        result = self._result
        if result is None or "published" not in result:
            return None
        if self._pipeline is not None:
            return self._pipeline.report()
        return (
            f"Published {result['published']} steps as {result['stream']} ({result['engine']}): "
            f"{result['delivered']} delivered, {result['dropped']} dropped; the solver waited "
            f"{result['seconds_waited']:.3g} s for readers."
        )


def chosen(section: Publish, known: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields to publish; raises `CaseError` if the solver does not have all of them."""
    for name in section.fields or ():
        if name not in known:
            raise CaseError(f"publish.fields: '{name}' {unknown(name, list(known))}.")
    return {name: field for name, field in known.items() if name in (section.fields or known)}


def _collectively(
    function: Callable[[Any], object], agreement: TimedCollective, what: str
) -> Callable[[Any], object]:
    """Return a function that calls `function` and then waits for the other ranks, with a limit."""

    def checked(step: Any) -> None:
        with suppress(OtherRankError), agreement.block(f"{what} at step {step.index}"):
            function(step)  # staging raises an error of one rank on all ranks

    return checked
