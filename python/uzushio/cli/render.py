"""What `uzushio render` does: take steps as they come, until the stream or the user ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uzushio import __version__, staging
from uzushio.errors import (
    LaunchError,
    OutputError,
    PeerGone,
    PeerSilent,
    PipelineError,
    StagingError,
)
from uzushio.files import SUMMARY, write_summary
from uzushio.parallel import launch
from uzushio.parallel.collective import collective, guarded
from uzushio.parallel.signals import Stop
from uzushio.pipeline.model import load
from uzushio.pipeline.pipeline import Pipeline
from uzushio.terminal import tell, warn

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.reader import Reader

#: Put into a folder of results: all in it is the job's.
MARK = ".uzushio-render"
SUMMARY = SUMMARY
#: Longest that ranks do not look for each other's signals, seconds.
_SLICE = 0.5


@dataclass(frozen=True)
class RenderOptions:
    """What the command line says.

    Attributes:
        pipeline: file.
        contact: of the stream, or a folder of stored steps.
        out: folder of the results.
        overwrite: whether an earlier job's results there are removed.
        stream: its name, if another one there would be a mistake.
        wait: seconds to wait for the writer to be there.
        limit: seconds to wait for a step.
        secret: for "host:port".
        tls: for "host:port".
        every: seconds between lines of progress.
        quiet: errors and warnings only.
        verify: whether to check checksums, as `staging.attach`.
    """

    pipeline: Path
    contact: str
    out: Path
    overwrite: bool = False
    stream: str = ""
    wait: float = 60.0
    limit: float = 3600.0
    secret: str = ""
    tls: bool = False
    every: float = 5.0
    quiet: bool = False
    verify: bool | None = None


def render(options: RenderOptions, ranks: int | None, debug: bool) -> int:
    """Work on the ranks of the MPI job that this process is in, or alone.

    Returns:
        The exit status: 0 at the stream's end, 128 plus the signal when stopped, 1 when the writer
        was gone or an action failed.
    """
    launch.prepare_environment()
    from mpi4py import MPI

    comm = launch.program_comm(MPI.COMM_WORLD)

    def work() -> int:
        launch.check_size(MPI.COMM_WORLD.size, MPI.Get_library_version())
        if ranks not in (None, comm.size):
            raise LaunchError(
                f"--ranks {ranks} was given, but the MPI job has {comm.size}; leave --ranks out."
            )
        return _Job(options, comm).execute()

    return guarded(comm, work, debug)


def check(folder: Path, overwrite: bool) -> list[str]:
    """See whether a folder may be this job's (rank 0); returns what an earlier job left there.

    Raises:
        OutputError: it holds results already, or files of others.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; choose another folder with --out.")
    found = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    if found and MARK not in found:
        raise OutputError(
            f"{folder} holds {', '.join(found[:3])}, and no {MARK} that says that a reader job "
            "wrote it; choose another folder with --out."
        )
    if found and found != [MARK] and not overwrite:
        raise OutputError(
            f"{folder} holds the results of another reader job; choose another folder with --out, "
            "or say --overwrite to remove them."
        )
    return found


def claim(folder: Path, overwrite: bool) -> None:
    """Make a folder this job's, and remove what an earlier one left there (rank 0).

    Raises:
        OutputError: it holds results already, or files of others.
    """
    for name in check(folder, overwrite):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(json.dumps({"uzushio": __version__}) + os.linesep)


class _Job:
    """One job, from the first look at the file to the summary."""

    def __init__(self, options: RenderOptions, comm: MPI.Comm) -> None:
        self._options, self._comm = options, comm
        self._loaded = load(options.pipeline)
        with collective(comm):
            if comm.rank == 0:
                check(options.out, options.overwrite)
        self._claimed = False
        self._stop = Stop()
        self._began = self._said = self._heard = time.monotonic()
        self._sequence: int | None = None
        self._dropped, self._waited = 0, 0.0

    def execute(self) -> int:
        """Attach, work, and leave everything whole, whatever ends it."""
        options = self._options
        reader = staging.attach(
            options.contact,
            self._comm,
            stream=options.stream,
            attach_limit=options.wait,
            secret=options.secret,
            tls=options.tls,
            verify=options.verify,
        )
        self._say(f"Attached to {options.contact}; results go to {options.out}.")
        error: StagingError | PipelineError | None = None
        received = 0
        with self._stop.listening():
            pipeline = Pipeline(self._loaded, self._comm, options.out, self._warn)
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
            advice = (
                "What came before is whole"
                if isinstance(error, (PeerGone, PeerSilent))
                else "What was made before is whole"
            )
            raise type(error)(f"{str(error).rstrip('.')}. {advice}, in {options.out}.") from error
        if received:
            return 128 + received
        return 1 if self._comm.allreduce(pipeline.failures) or not whole else 0

    def _follow(self, reader: Reader, pipeline: Pipeline) -> int:
        """Work until the stream ends, or a signal; returns the signal."""
        self._began = self._heard = time.monotonic()
        while True:
            began = time.monotonic()
            step = reader.next(_SLICE)
            self._waited += time.monotonic() - began
            if step is not None:
                self._count(step.sequence)
                if not self._claimed:  # now that there is something to put there
                    pipeline.update_stream(step)
                    self._claim()
                pipeline.step(step, reader.release)
                reader.release()
                self._heard = time.monotonic()
            # One vote: a signal of any rank, and what rank 0's clock says.
            silent = time.monotonic() - self._heard > self._options.limit
            votes = self._comm.allgather((self._stop.received, silent))
            received = max(signal for signal, _ in votes)
            if received:
                return int(received)
            if reader.ended:
                return 0
            if votes[0][1]:
                raise PeerSilent(
                    f"No step came within {self._options.limit:g} s; the writer is slower than "
                    "--limit, or stopped."
                )
            self._progress(pipeline)

    def _claim(self) -> None:
        """Make the folder of the results this job's."""
        with collective(self._comm):
            if self._comm.rank == 0:
                claim(self._options.out, self._options.overwrite)
        self._claimed = True

    def _count(self, sequence: int) -> None:
        """Count the steps between this one and the one before, which this job never got."""
        if self._sequence is not None:
            self._dropped += sequence - self._sequence - 1
        self._sequence = sequence

    def _progress(self, pipeline: Pipeline) -> None:
        now = time.monotonic()
        if now - self._said < self._options.every:
            return
        self._said = now
        counts = pipeline.counts
        if counts.steps:
            self._say(f"{self._state(pipeline)}; waiting {100 * self._share():.0f} %")
        else:
            self._say("no step yet")

    def _state(self, pipeline: Pipeline) -> str:
        counts = pipeline.counts
        each = f" ({pipeline.busy / counts.used:.3g} s each)" if counts.used else ""
        return (
            f"step {counts.last}, t = {counts.time:.4g}: {counts.steps} steps seen, {counts.used} "
            f"used{each}, {pipeline.pictures} pictures, {self._dropped} dropped"
        )

    def _share(self) -> float:
        """Of the time, spent waiting for steps."""
        return self._waited / max(1e-9, time.monotonic() - self._began)

    def _ending(self, error: StagingError | PipelineError | None, received: int) -> str:
        if error is not None:
            return f"failed: {error}"
        if received:
            return f"stopped by {signal.Signals(received).name}"
        return "the stream ended"

    def _summarise(self, pipeline: Pipeline, ending: str) -> bool:
        """Write the summary, with the timings of the slowest rank in each stage; whether it is."""
        failure, earlier = "", False
        try:
            if not self._claimed:
                with collective(self._comm):
                    found = self._comm.rank == 0 and check(self._options.out, True) not in (
                        [],
                        [MARK],
                    )
                earlier = self._comm.bcast(found)
            if not self._claimed and not earlier:
                self._claim()
            if not earlier:
                self._write_summary(pipeline, ending)
        except OutputError as error:
            failure = str(error)
        state = self._state(pipeline) if pipeline.counts.steps else "no step was seen"
        self._say(f"{ending[0].upper()}{ending[1:]}: {state}.")
        if earlier:
            self._say(f"What an earlier job left in {self._options.out} is as it was.")
            return True
        if failure:
            self._warn(
                f"The job's summary could not be written: {failure} What was made before is in "
                f"{self._options.out}, and 'uzushio report {self._options.out}' makes a page of it."
            )
            return False
        if pipeline.failures:
            failures = f"Actions failed {pipeline.failures} times"
            self._warn(f"{failures}; see {self._options.out / SUMMARY}.")
        self._say(f"Wrote {self._options.out / SUMMARY} and what it names.")
        return True

    def _write_summary(self, pipeline: Pipeline, ending: str) -> None:
        """Raises `OutputError` on all ranks if it cannot be written."""
        summary: dict[str, Any] = pipeline.summary()
        ranks = self._comm.gather((summary["seconds"], summary["bytes_read"]))
        with collective(self._comm):
            if ranks is None:
                return
            stages = {name: None for seconds, _ in ranks for name in seconds}
            summary |= {
                "contact": self._options.contact,
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

    def _say(self, text: str) -> None:
        if self._comm.rank == 0 and not self._options.quiet:
            tell(text)

    def _warn(self, text: str) -> None:
        if self._comm.rank == 0:
            warn(text)
