"""Publish a run's fields through staging, as the case's section `publish` says."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.case.model import Case, Publish
from uzushio.config.names import unknown
from uzushio.domain.box import Box
from uzushio.errors import CaseError, OtherRankError, StagingError, WaitStopped
from uzushio.job import run_folder
from uzushio.parallel import memory
from uzushio.parallel.agreement import Agreement
from uzushio.parallel.collective import collective
from uzushio.solver import FieldLayout, Solver

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.in_situ import InSituPipeline
    from uzushio.staging.writer import Writer


class Publisher:
    """The stream of one run; collective throughout.

    Each rank has one block for each mesh of the solver. Values belong to the points of the case,
    which are the mesh's vertices. A fault of staging ends the stream, and not the run, unless
    `queue.on_timeout` is `fail`.
    """

    def __init__(
        self,
        case: Case,
        solver: Solver,
        comm: MPI.Comm,
        folder: Path,
        warn: Callable[[str], None],
        stop: Callable[[], bool],
    ) -> None:
        """Open the stream, if the case has one.

        Args:
            case: of the run.
            solver: whose fields are shown.
            comm: its ranks.
            folder: of the run. The contact file is NAME.contact there, and stored steps are
                published/NAME.zarr, unless the case says otherwise.
            warn: says what a user must know.
            stop: whether the run was asked to stop: then a step waits no more for readers.

        Raises:
            CaseError: the case names a field that the solver has not.
            StagingError: the stream cannot be opened.
        """
        self._solver, self._comm, self._warn, self._stop = solver, comm, warn, stop
        self._writer: Writer | None = None
        self._fields: dict[str, FieldLayout] = {}
        self._blocks: dict[str, int] = {}
        self._result: dict[str, Any] | None = None
        self._seconds, self._fatal = 0.0, False
        self._inside: InSituPipeline | None = None
        self._function: Callable[[Any], object] | None = None
        if case.publish is not None:
            self._fields = chosen(case.publish, solver.fields())
            self._look_inside(case.publish, folder)
            self._open(case, case.publish, folder)

    def _look_inside(self, section: Publish, folder: Path) -> None:
        """What engine inproc runs inside the steps; a pipeline alone says which fields it takes."""
        if section.python is not None:
            agreement, file = Agreement(self._comm), section.python
            with agreement.on(f"loading {file}"):
                self._function = _together(_function(file), agreement, f"on_step of {file}")
        if section.pipeline is not None:
            from uzushio.pipeline.in_situ import InSituPipeline

            self._inside = InSituPipeline(
                section.pipeline, self._solver, self._fields, self._comm, folder, self._warn
            )
            if self._function is None and section.fields is None:
                needed = self._inside.fields()
                self._fields = {n: f for n, f in self._fields.items() if n in needed}

    def _open(self, case: Case, section: Publish, folder: Path) -> None:
        from uzushio import staging

        options, name = section.options(), section.name or case.solver
        self._fatal = options.fails_on_timeout
        place = folder / run_folder.PUBLISHED
        with collective(self._comm):
            if self._comm.rank == 0:
                place.mkdir(exist_ok=True)
        if not options.contact.name:
            options.contact = folder / f"{name}.contact"
        if not options.folder.name:  # a run that goes on leaves the steps before as they are
            part = f"-{self._solver.step_index:08d}" if self._solver.step_index else ""
            options.folder = place / f"{name}{part}.zarr"
        kept = 1 if options.engine in ("inproc", "file") else options.depth
        step = sum(8 * math.prod(layout.extent) for layout in self._fields.values())
        memory.require(self._comm, kept * step, "the queue of published steps")
        self._result = {"stream": name, "engine": options.engine, "failed": None}
        self._writer = writer = staging.open(name, self._comm, options)
        if self._function is not None:
            writer.on_step(self._function)
        if self._inside is not None:
            writer.on_step(self._inside.step)
        writer.attribute("title", case.title)
        writer.attribute("solver", case.solver)
        for field, layout in self._fields.items():
            if layout.mesh not in self._blocks:
                self._describe(writer, layout)
            writer.field(
                field,
                layout.mesh,
                "vertex",
                unit=layout.unit,
                description=layout.description,
            )

    def _describe(self, writer: Writer, layout: FieldLayout) -> None:
        """A mesh, and this rank's part of it."""
        id = len(self._blocks) * self._comm.size + self._comm.rank
        self._blocks[layout.mesh] = id
        writer.rectilinear_mesh(layout.mesh, [layout.coordinates[axis] for axis in "zyx"])
        if min(layout.extent) > 0:
            writer.block(id, layout.mesh, Box(layout.start, layout.extent), "vertex")

    @property
    def stopped(self) -> str | None:
        """Why the run is to end: a sentence of an action that failed, with `on_error: stop`."""
        return None if self._inside is None else self._inside.stopped

    def __call__(self) -> bool:
        """Publish the solver's fields as they are now; whether the run is to go on."""
        if self._writer is None:
            return True
        began = time.monotonic()
        inside = self._inside
        if inside is None or self._function is not None or inside.is_due():
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
        if self._inside is not None:
            self._inside.begin()
        for name, value in solver.attributes().items():
            writer.attribute(name, value)
        writer.begin_step(solver.step_index, solver.time)
        buffers: dict[str, np.ndarray] = {}
        with collective(self._comm):
            for name, layout in self._fields.items():
                buffers[name] = (
                    writer.buffer(name, self._blocks[layout.mesh])
                    if min(layout.extent) > 0
                    else np.empty(layout.extent)
                )
        for name, out in buffers.items():
            solver.write_field(name, out)
        with suppress(WaitStopped):  # on all ranks, whose vote ends the run
            writer.end_step(self._stop)

    def _fail(self, error: StagingError) -> None:
        """Go on without the stream."""
        assert self._result is not None
        self._note()
        self._writer = None
        if self._inside is not None:
            self._inside.finish()
        self._result["failed"] = str(error)
        self._warn(f"Nothing more is published, and the run goes on: {error}")

    def _note(self) -> None:
        """Keep what is known of the steps so far."""
        assert self._result is not None and self._writer is not None
        counters = asdict(self._writer.counters())
        counted = ("published", "delivered", "dropped", "seconds_waited", "peak_bytes")
        self._result |= {name: counters[name] for name in counted}

    def close(self) -> None:
        """Give readers what is left, and end the stream."""
        if self._writer is None:
            return
        writer = self._writer
        if self._inside is not None:
            self._inside.finish()
        try:
            with suppress(WaitStopped):  # readers that move have had their steps
                writer.close(self._stop)
        except StagingError as error:
            self._fail(error)
            return
        self._note()
        self._writer = None

    def abandon(self) -> None:
        """Stop at once: readers see the writer gone."""
        self._writer = None
        if self._inside is not None:
            self._inside.close()

    def summary(self) -> Mapping[str, Any] | None:
        """What became of the steps, for `summary.json`; the counters are those of rank 0."""
        if self._result is None:
            return None
        inside = {} if self._inside is None else {"pipeline": self._inside.summary()}
        return {**self._result, "seconds": self._seconds, **inside}

    def report(self) -> str | None:
        """The same in a sentence."""
        result = self._result
        if result is None or "published" not in result:
            return None
        if self._inside is not None:
            return self._inside.report()
        return (
            f"Published {result['published']} steps as {result['stream']} ({result['engine']}): "
            f"{result['delivered']} delivered, {result['dropped']} dropped; the solver waited "
            f"{result['seconds_waited']:.3g} s for readers."
        )


def chosen(section: Publish, known: Mapping[str, FieldLayout]) -> dict[str, FieldLayout]:
    """The fields to publish; raises `CaseError` if the solver has not all of them."""
    for name in section.fields or ():
        if name not in known:
            raise CaseError(f"publish.fields: '{name}' {unknown(name, list(known))}.")
    return {name: layout for name, layout in known.items() if name in (section.fields or known)}


def _function(file: Path) -> Callable[[Any], object]:
    """The function `on_step` of a Python file; raises `CaseError`."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise CaseError(f"publish.python: {file} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CaseError(
            f"publish.python: {file} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, "on_step", None)
    if not callable(found):
        raise CaseError(f"publish.python: {file} needs a function on_step(step).")
    return found  # type: ignore[no-any-return]


def _together(
    function: Callable[[Any], object], agreement: Agreement, what: str
) -> Callable[[Any], object]:
    """The function, at whose end ranks wait for each other with a limit."""

    def look(step: Any) -> None:
        with suppress(OtherRankError), agreement.on(f"{what} at step {step.index}"):
            function(step)  # what it raises on one rank, staging raises on all

    return look
