"""`uzushio render`: applies a pipeline to the steps of a stream until its end or a signal."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import __version__
from uzushio._base.files import SUMMARY, write_summary
from uzushio._base.parallel.sync import collective, on_root
from uzushio._job import run_folder
from uzushio._job.job import Job
from uzushio._job.job_folder import JobFolder
from uzushio.errors import (
    OutputError,
    PeerSilent,
    PipelineError,
    StagingError,
)
from uzushio.pipeline.model import PipelineDefinition, load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.viewer.sources import contact_of

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._cli.render import RenderOptions
    from uzushio.staging.contact import Contact
    from uzushio.staging.reader import Reader

#: Mark of a folder of results: all files in it are the job's.
MARK = ".uzushio-render"
#: Maximum time between two votes of the ranks, seconds.
_VOTE_INTERVAL = 0.5


def render_stream(options: RenderOptions, contact: Contact, comm: MPI.Comm) -> int:
    """Apply the pipeline on the ranks of `comm` (collective).

    Returns:
        The exit status: 0 at the stream's end, 128 plus the signal when stopped, 1 when the writer
        failed or an action failed.
    """
    loaded = load(options.pipeline)
    contact = _stream_of(contact, comm)
    folder = JobFolder(options.out, MARK, "a reader job")
    job = Job(comm, folder, quiet=options.quiet)
    return _Rendering(options, contact, loaded, folder, job).execute()


def check_results(folder: JobFolder, options: RenderOptions) -> None:
    """Raise `OutputError` if a folder holds files that this job must not remove (rank 0)."""
    if folder.existing() and not options.overwrite:
        raise OutputError(
            f"{options.out} holds the results of another reader job; choose another "
            "folder with --out, or say --overwrite to remove them."
        )


def _stream_of(contact: Contact, comm: MPI.Comm) -> Contact:
    """Return the contact of a run whose folder is given (collective).

    Raises:
        StagingError: the run has published no steps.
    """
    mark = Path(os.path.expanduser(contact.contact)) / run_folder.MARK
    address = on_root(comm, lambda: contact_of(contact.contact) if mark.is_file() else "")
    return replace(contact, contact=address) if address else contact


class _Rendering:
    """Pipeline on the steps of a stream, from the first check of the folder to the summary."""

    def __init__(
        self,
        options: RenderOptions,
        contact: Contact,
        loaded: PipelineDefinition,
        folder: JobFolder,
        job: Job,
    ) -> None:
        self._contact = contact
        self._options, self._loaded, self._folder, self._job = options, loaded, folder, job
        self._comm = job.comm
        with collective(self._comm):
            if job.rank == 0:
                folder.check_free()
                check_results(self._folder, self._options)
        self._silent = job.vote.add(self._is_silent, rank=0)
        self._claimed = False
        self._began = self._said = self._heard = time.monotonic()
        self._dropped, self._waited = 0, 0.0

    def execute(self) -> int:
        """Attach, process the steps, and complete the results, also after an error."""
        options, job = self._options, self._job
        reader = self._contact.attach(self._comm)
        job.say(f"Attached to {self._contact.contact}; results go to {options.out}.")
        error: StagingError | PipelineError | None = None
        received = 0
        with job:
            pipeline = Pipeline(self._loaded, self._comm, options.out, job.warn)
            try:
                received = self._follow(reader, pipeline)
            except StagingError as failure:
                error = failure
            except PipelineError as failure:
                if not pipeline.stopped:
                    pipeline.close()
                    reader.detach()
                    raise
                error = failure
            except BaseException:
                pipeline.close()
                raise
            if not pipeline.stopped:
                try:
                    pipeline.finish()
                except PipelineError as failure:  # an action that is to stop all
                    error = error or failure
            pipeline.close()
            whole = self._summarise(pipeline, self._ending(error, received))
        if not isinstance(error, StagingError):
            reader.detach()
        if error is not None:
            raise type(error)(
                f"{str(error).rstrip('.')}. The results before are complete, in {options.out}."
            ) from error
        if received:
            return 128 + received
        return 1 if self._comm.allreduce(pipeline.failures) or not whole else 0

    def _follow(self, reader: Reader, pipeline: Pipeline) -> int:
        """Process steps until the end of the stream or a signal; return the signal, or 0."""
        self._began = self._heard = time.monotonic()
        while True:
            began = time.monotonic()
            step = reader.next(_VOTE_INTERVAL)
            self._waited += time.monotonic() - began
            if step is not None:
                self._dropped = reader.dropped
                if not self._claimed:  # results of an earlier job stay until the first step
                    pipeline.update_stream(step)
                    self._claim()
                pipeline.step(step, reader.release)
                reader.release()
                self._heard = time.monotonic()
            if received := self._job.take_vote():
                return received
            if reader.ended:
                return 0
            if self._silent.agreed:
                raise PeerSilent(
                    f"No step was received within {self._options.limit:g} s; the writer is slower "
                    "than --limit, or stopped."
                )
            self._progress(pipeline)

    def _is_silent(self) -> bool:
        return time.monotonic() - self._heard > self._options.limit

    def _claim(self) -> None:
        """Lock the folder, remove the results of an earlier job, and mark it (collective)."""
        with collective(self._comm):
            if self._job.rank == 0:
                check_results(self._folder, self._options)
                self._folder.lock()
                self._folder.clear()
                self._folder.write_mark({"uzushio": __version__})
        self._claimed = True

    def _progress(self, pipeline: Pipeline) -> None:
        now = time.monotonic()
        if now - self._said < self._options.progress:
            return
        self._said = now
        counts = pipeline.counts
        if counts.steps:
            self._job.say(f"{self._state(pipeline)}; waiting {100 * self._share():.0f} %")
        else:
            self._job.say("no step yet")

    def _state(self, pipeline: Pipeline) -> str:
        counts = pipeline.counts
        each = f" ({pipeline.busy / counts.used:.3g} s each)" if counts.used else ""
        return (
            f"step {counts.last}, t = {counts.time:.4g}: {counts.steps} steps seen, {counts.used} "
            f"used{each}, {pipeline.pictures} pictures, {self._dropped} dropped"
        )

    def _share(self) -> float:
        """Return the share of the time spent waiting for steps."""
        return self._waited / max(1e-9, time.monotonic() - self._began)

    def _ending(self, error: StagingError | PipelineError | None, received: int) -> str:
        if error is not None:
            return f"failed: {error}"
        if received:
            return f"stopped by {signal.Signals(received).name}"
        return "the stream ended"

    def _summarise(self, pipeline: Pipeline, ending: str) -> bool:
        """Write the summary; return False if that failed (collective)."""
        out, failure, earlier = self._options.out, "", False
        try:
            if not self._claimed:
                earlier = on_root(self._comm, lambda: bool(self._folder.existing()))
            if not self._claimed and not earlier:
                self._claim()
            if not earlier:
                self._write_summary(pipeline, ending)
        except OutputError as error:
            failure = str(error)
        state = self._state(pipeline) if pipeline.counts.steps else "no step was seen"
        self._job.say(f"{ending[0].upper()}{ending[1:]}: {state}.")
        if earlier:
            self._job.say(f"The results of an earlier job in {out} were kept.")
            return True
        if failure:
            self._job.warn(
                f"The job's summary could not be written: {failure} The results are in {out}, and "
                f"'uzushio report {out}' makes a page of them."
            )
            return False
        if pipeline.failures:
            failures = f"Actions failed {pipeline.failures} times"
            self._job.warn(f"{failures}; see {out / SUMMARY}.")
        self._job.say(f"Wrote {out / SUMMARY} and the files that it lists.")
        return True

    def _write_summary(self, pipeline: Pipeline, ending: str) -> None:
        """Write the summary, with the timings of the slowest rank in each stage (collective)."""
        summary: dict[str, Any] = pipeline.summary()
        ranks = self._comm.gather((summary["seconds"], summary["bytes_read"]))
        with collective(self._comm):
            if ranks is None:
                return
            stages = {name: None for seconds, _ in ranks for name in seconds}
            summary |= {
                "contact": self._contact.contact,
                "version": __version__,
                "ranks": self._comm.size,
                "ending": ending,
                "dropped": self._dropped,
                "seconds_total": time.monotonic() - self._began,
                "seconds_waiting": self._waited,
                "seconds_working": pipeline.busy,
                "seconds": {
                    name: max(seconds.get(name, 0.0) for seconds, _ in ranks) for name in stages
                },
                "bytes_read": sum(read for _, read in ranks),
            }
            write_summary(self._options.out, summary)
