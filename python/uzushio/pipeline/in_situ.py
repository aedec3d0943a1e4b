"""Pipeline inside a solver's steps, on the solver's ranks and memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio._base.files import PIPELINE, write_summary
from uzushio._base.parallel.sync import collective
from uzushio._base.store.array import State, StoredState
from uzushio.errors import CaseError, OutputError, PipelineError
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.stream import Stream
from uzushio.solvers.contract import FIELDS, Field, Solver
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI


class InSituPipeline:
    """Pipeline of `publish: {engine: inproc, pipeline: FILE}`; collective except `close`.

    The results are in the folder `pipeline` of the run. A restarted run continues them from its
    checkpoint.
    """

    def __init__(
        self,
        file: Path,
        solver: Solver,
        fields: Mapping[str, Field],
        comm: MPI.Comm,
        folder: Path,
        warn: Callable[[str], None],
        seen: tuple[int, float] | None = None,
        states: Mapping[str, StoredState] | None = None,
    ) -> None:
        """Read the file, and check its names against the solver's fields.

        Args:
            file: the pipeline's file.
            solver: the running solver.
            fields: published fields.
            comm: the solver's ranks.
            folder: folder of the run.
            warn: prints a message to the user.
            seen: what `seen` returned at the checkpoint of the restart; None if it is not known.
            states: what `states` returned there.

        Raises:
            CaseError: the file names fields or attributes that the solver does not have.
            OutputError: the results of the run before a restart cannot be continued.
        """
        self._solver, self._comm, self._warn = solver, comm, warn
        self._folder = folder / PIPELINE
        loaded = load(file)
        self._sources = loaded.file.model_dump(mode="json", include={"sources"})
        self._pipeline = Pipeline(
            loaded, comm, self._folder, warn, in_situ=True, sections=solver.sections
        )
        try:
            self._pipeline.prepare(Stream.of_solver(solver.meshes(), fields, solver.attributes()))
        except PipelineError as error:
            raise CaseError(error, error.path) from error
        if began := solver.step_index:
            same = {  # with other sources, fields of a name are others
                name: state
                for name, state in (states or {}).items()
                if {"sources": state.attributes.get("sources")} == self._sources
            }
            self._pipeline.resume(began, seen or (began, solver.time), same)
        self.stopped: str | None = None  #: failure of an action with `on_error: stop`, a sentence
        self._closed = False

    def fields(self) -> set[str]:
        """Return the names of the fields that the pipeline reads."""
        return self._pipeline.fields()

    @property
    def seen(self) -> tuple[int, float] | None:
        """Number and time of the last step that the pipeline received; for checkpoints."""
        return self._pipeline.counts.seen

    def states(self) -> dict[str, State]:
        """Return the states of the actions, by name; for checkpoints."""
        states = self._pipeline.states()
        return {
            name: replace(state, attributes={**state.attributes, **self._sources})
            for name, state in states.items()
        }

    def is_due(self) -> bool:
        """Whether an action may run at the solver's current step; records the step if not."""
        index, now = self._solver.step_index, self._solver.time
        if self._pipeline.is_due(index, now):
            return True
        self._pipeline.skip(index, now)
        return False

    def step(self, step: Step) -> None:
        """Run the actions inside a step."""
        try:
            self._pipeline.step(step)
        except PipelineError as error:
            if not self._pipeline.stopped:
                raise
            self.stopped = str(error)
        if self.stopped is not None:
            gc.collect()  # frames of the traceback refer to the step, which is released now

    def finish(self) -> None:
        """Finish the actions, and write the summary."""
        if self._closed:
            return
        if self.stopped is None:
            try:
                self._pipeline.finish()
            except PipelineError as error:
                self.stopped = str(error)
        self.close()
        self._summarise()

    def _summarise(self) -> None:
        """Write the summary; if it cannot be written, the run continues."""
        ranks = self._comm.gather(self._seconds())
        try:
            with collective(self._comm):
                if ranks is not None:
                    slowest = {
                        stage: max(seconds.get(stage, 0.0) for seconds in ranks)
                        for seconds in ranks
                        for stage in seconds
                    }
                    summary = {**self._pipeline.summary(), "seconds": slowest, "ranks": len(ranks)}
                    write_summary(self._folder, summary)
        except OutputError as error:
            self._warn(f"The pipeline has no summary: {error}")

    def close(self) -> None:
        """Close all files, also after failures."""
        if not self._closed:
            self._closed = True
            self._pipeline.close()

    def _seconds(self) -> dict[str, float]:
        """Return the seconds of the solver's fields, and of the sections of the pipeline."""
        fields = self._solver.sections.seconds().get(FIELDS, 0.0)
        return {FIELDS: fields, **self._pipeline.seconds()}

    def summary(self) -> Mapping[str, Any]:
        """Folder of the results, counts and times."""
        counts = self._pipeline.counts
        return {
            "folder": str(self._folder),
            "steps_used": counts.used,
            "pictures": self._pipeline.pictures,
            "failures": self._pipeline.failures,
            "seconds": self._seconds(),
        }

    def report(self) -> str:
        """Return one sentence on steps, pictures, failures and times."""
        counts, pipeline = self._pipeline.counts, self._pipeline
        fields = self._seconds().get(FIELDS, 0.0)
        failed = f", {pipeline.failures} failures" if pipeline.failures else ""
        return (
            f"The pipeline used {counts.used} of {counts.steps} steps and drew "
            f"{pipeline.pictures} pictures in {pipeline.busy:.3g} s, and {fields:.3g} s went into "
            f"the fields{failed}: {self._folder}."
        )
