"""A pipeline inside a solver's steps, on the solver's own ranks and memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio.errors import CaseError, OutputError, PipelineError
from uzushio.files import PIPELINE, write_summary
from uzushio.parallel.collective import collective
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.pipeline.stream import Stream
from uzushio.solver import FieldLayout, Solver
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI


class InsidePipeline:
    """What `publish: {engine: inproc, pipeline: FILE}` does; collective but for `close`.

    The results are in the folder pipeline of the run; after a restart in one with the number of the
    step that it went on from.
    """

    def __init__(
        self,
        file: Path,
        solver: Solver,
        fields: Mapping[str, FieldLayout],
        comm: MPI.Comm,
        folder: Path,
        warn: Callable[[str], None],
    ) -> None:
        """Read the file and check it against what the solver has.

        Args:
            file: of the pipeline.
            solver: whose fields are looked at.
            fields: those that are published.
            comm: its ranks.
            folder: of the run.
            warn: says what a user must know.

        Raises:
            CaseError: the file asks for what there is not.
        """
        self._solver, self._comm, self._warn = solver, comm, warn
        began = solver.step_index
        self._folder = folder / f"{PIPELINE}{f'-{began:08d}' if began else ''}"
        self._pipeline = Pipeline(load(file), comm, self._folder, warn, inside=True)
        try:
            self._pipeline.prepare(Stream.of_layouts(fields, solver.attributes()))
        except PipelineError as error:
            raise CaseError(str(error)) from error
        if began:  # perhaps not for the first time from this checkpoint
            self._pipeline.forget(began)
        self.stopped: str | None = None  #: an action that is to stop the run failed; a sentence
        self._began = 0.0
        self._closed = False

    def fields(self) -> set[str]:
        """Those that it takes."""
        return self._pipeline.fields()

    def wants(self) -> bool:
        """Whether it may look at the solver's present step; counts it as seen if not."""
        index, now = self._solver.step_index, self._solver.time
        if self._pipeline.wants(index, now):
            return True
        self._pipeline.skip(index, now)
        return False

    def begin(self) -> None:
        """The solver begins to write its fields for a step."""
        self._began = time.perf_counter()

    def step(self, step: Step) -> None:
        """Work on a step, inside of it."""
        self._pipeline.timings.add("fields", time.perf_counter() - self._began)
        try:
            self._pipeline.step(step)
        except PipelineError as error:
            if not self._pipeline.stopped:
                raise
            self.stopped = str(error)
        if self.stopped is not None:
            gc.collect()  # the error's frames look at the step, which goes back now

    def finish(self) -> None:
        """Write what only the end makes whole, and the summary."""
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
        """Write the summary; without space for it the run goes on."""
        ranks = self._comm.gather(dict(self._pipeline.timings))
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
        """Finish all files, whatever happened."""
        if not self._closed:
            self._closed = True
            self._pipeline.close()

    def summary(self) -> Mapping[str, Any]:
        """Where the results are, and what they took."""
        counts = self._pipeline.counts
        return {
            "folder": str(self._folder),
            "steps_used": counts.used,
            "pictures": self._pipeline.pictures,
            "failures": self._pipeline.failures,
            "seconds": dict(self._pipeline.timings),
        }

    def report(self) -> str:
        """What was made, in a sentence."""
        counts, pipeline = self._pipeline.counts, self._pipeline
        fields = pipeline.timings.get("fields", 0.0)
        failed = f", {pipeline.failures} failures" if pipeline.failures else ""
        return (
            f"The pipeline looked at {counts.used} of {counts.steps} steps and drew "
            f"{pipeline.pictures} pictures in {pipeline.busy:.3g} s, and {fields:.3g} s went into "
            f"the fields{failed}: {self._folder}."
        )
