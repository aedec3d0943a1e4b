"""Job of a command: signals, votes, progress, messages and folder, the same for all commands."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from uzushio._base.parallel.signals import Stop
from uzushio._base.terminal import output_may_end, warn
from uzushio._job.job_folder import JobFolder
from uzushio._job.monitor import Monitor
from uzushio._job.vote import Vote

if TYPE_CHECKING:
    from mpi4py import MPI


class Job:
    """Work of a command on its ranks.

    A `with` block records the first stop signal; a second one has its default effect. At the end of
    the block the folder is unlocked.

    Args:
        comm: all ranks of the job; None: this process alone, without MPI.
        folder: folder of the results, if the job has one.
        quiet: print errors and warnings only.
        period: seconds between two lines of progress.
        unit: name of a step in the progress.
        signals: whether stop signals are recorded.

    Attributes:
        rank: rank of this process.
        stop: the signal that this rank received.
        vote: vote of all ranks; participants add their entries.
        monitor: display of the progress.
    """

    def __init__(
        self,
        comm: MPI.Comm | None,
        folder: JobFolder | None = None,
        *,
        quiet: bool = False,
        period: float = 0.0,
        unit: str = "step",
        signals: bool = True,
    ) -> None:
        self._comm = None if comm is None else comm.Dup()
        self._folder = folder
        self.rank = 0 if comm is None else comm.rank
        self.stop = Stop()
        self.vote = Vote(self._comm)
        self._signal = self.vote.add(lambda: self.stop.received)
        self.monitor = Monitor(period, self.rank == 0 and not quiet, unit)
        self._signals = signals
        self._block = ExitStack()

    def __enter__(self) -> Self:
        """Record signals from now on."""
        if self._signals:
            self._block.enter_context(self.stop.listening())
        if self._folder is not None:
            self._block.callback(self._folder.release)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the handlers of signals, and unlock the folder."""
        self._block.close()

    @property
    def comm(self) -> MPI.Comm:
        """Communicator of this job only."""
        assert self._comm is not None, "the job has no MPI"
        return self._comm

    def take_vote(self) -> int:
        """Take the vote, and return the signal that ends the job; 0 if none (collective)."""
        self.vote.take()
        return self._signal.agreed

    def say(self, text: str) -> None:
        """Print a line on rank 0, unless it is empty."""
        self.monitor.say(text)

    def warn(self, text: str) -> None:
        """Print a warning on rank 0 to the standard error, with --quiet too."""
        if self.rank == 0:
            warn(text)

    def error(self, text: str) -> None:
        """Print an error on rank 0 to the standard error, with --quiet too."""
        if self.rank == 0:
            with output_may_end("stderr"):
                print(f"uzushio: error: {text}", file=sys.stderr, flush=True)
