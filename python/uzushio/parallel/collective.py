"""Errors on many ranks: all ranks learn of a failure, one message is printed, and nobody waits."""

from __future__ import annotations

import errno
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uzushio.errors import MemoryShortageError, OtherRankError, OutputError, UzushioError
from uzushio.parallel.memory import ADVICE

if TYPE_CHECKING:
    from mpi4py import MPI

#: Seconds in which the other ranks must fail too for a failure to count as everybody's.
PATIENCE = 5.0


@contextmanager
def collective(comm: MPI.Comm) -> Iterator[None]:
    """Run a block without communication on every rank; if it fails on one, it fails on all.

    Each rank leaves the block with an exception, or none does. The first failing rank's message
    is raised everywhere; unexpected errors stay as they are on the rank where they happened.

    Raises:
        UzushioError: with the same message on all ranks; `OtherRankError` where another rank has
            an unexpected error.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    first = comm.allreduce(comm.rank if failure else comm.size, minimum())
    if first < comm.size:
        raise_everywhere(comm, first, failure)


@contextmanager
def together_or_end(comm: MPI.Comm, what: str, patience: float = PATIENCE) -> Iterator[None]:
    """Run a block with communication on every rank; a rank that fails in it alone ends the job.

    Nobody can be called out of waiting for a message that does not come. Where all ranks fail, each
    leaves the block with its exception. What goes well costs nothing.

    Args:
        comm: of the ranks, and used for nothing else.
        what: the block, for messages, as "a sweep of the phase field".
        patience: seconds in which the others must fail too.
    """
    try:
        yield
    except Exception as error:
        if comm.size > 1 and not all_arrive(comm, patience):
            print(
                f"uzushio: error: the job ends, because rank {comm.rank} failed in {what}, and "
                f"others may wait for it there: {_description(error)}",
                file=sys.stderr,
                flush=True,
            )
            comm.Abort(1)
            os._exit(1)
        raise


def _description(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return memory_sentence(error)
    return f"{type(error).__name__}: {error}"


def raise_everywhere(comm: MPI.Comm, first: int, failure: Exception | None) -> None:
    """Raise what the rank `first` failed with (collective); see `collective`."""
    told: tuple[type[UzushioError], str] | None = None
    if comm.rank == first and failure is not None:
        told = _as_expected(failure)
    kind, message = comm.bcast(told, root=first)
    if comm.rank == first and kind is OtherRankError and failure is not None:
        raise failure
    raise kind(message) from failure


def minimum() -> MPI.Op:
    """Return MPI's MIN, without MPI at import."""
    from mpi4py import MPI

    return MPI.MIN


def maximum() -> MPI.Op:
    """Return MPI's MAX, without MPI at import."""
    from mpi4py import MPI

    return MPI.MAX


def _as_expected(failure: Exception) -> tuple[type[UzushioError], str]:
    """The type and message that the other ranks raise for `failure`."""
    if isinstance(failure, UzushioError):
        return type(failure), str(failure)
    if isinstance(failure, OSError):
        return OutputError, system_sentence(failure)
    if isinstance(failure, MemoryError):
        return MemoryShortageError, memory_sentence(failure)
    return OtherRankError, str(failure)


def system_sentence(error: OSError) -> str:
    """Say what the operating system refused, where, and what helps."""
    advice = {
        errno.ENOSPC: "free some space there, or choose another folder with --out",
        errno.EDQUOT: "free some of your quota there, or choose another folder with --out",
        errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
        errno.EACCES: "get the right to write there, or choose another folder with --out",
        errno.EROFS: "choose another folder with --out",
    }.get(error.errno or 0, "check the path and the file system")
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; {advice}."


def memory_sentence(error: MemoryError, advice: str = ADVICE) -> str:
    """Say that no memory was left, how much was asked for if that is known, and what helps."""
    asked = str(error) if str(error) not in ("", "std::bad_alloc") else "an allocation failed"
    return f"out of memory: {asked.rstrip('.')}. {advice}"


def guarded(comm: MPI.Comm, work: Callable[[], int], debug: bool = False) -> int:
    """Do `work` on every rank and return the exit status; end all ranks if one fails alone.

    A failure of all ranks is printed once. A rank that fails while the others go on prints its
    message and ends the job, so that nobody waits for it.
    """
    together = comm.Dup()
    try:
        status = work()
    except Exception as error:
        text = report_of(error, debug)
        if not all_arrive(together):
            print(f"rank {comm.rank}: {text}", file=sys.stderr, flush=True)
            comm.Abort(1)
            os._exit(1)
        reports: list[str] = together.allgather(text)
        if comm.rank == 0:
            print(_joined(reports), file=sys.stderr, flush=True)
        return 1
    return status


def _joined(reports: list[str]) -> str:
    """The first report whole; of others that end differently, the last line."""
    told = [report for report in reports if report]
    endings = {report.splitlines()[-1]: rank for rank, report in enumerate(reports) if report}
    first = told[0].splitlines()[-1]
    others = [f"rank {rank}: {line}" for line, rank in endings.items() if line != first]
    return "\n".join([told[0], *others])


def all_arrive(comm: MPI.Comm, patience: float = PATIENCE) -> bool:
    """Whether all ranks call this within some seconds."""
    request = comm.Ibarrier()
    deadline = time.monotonic() + patience
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def report_of(error: Exception, debug: bool = False) -> str:
    """The message of an expected error; the traceback of a mistake in the program.

    Nothing of an error that another rank prints.
    """
    if isinstance(error, OtherRankError):
        return ""
    if debug or not isinstance(error, UzushioError | OSError | MemoryError):
        return "".join(traceback.format_exception(error)).rstrip()
    return f"uzushio: error: {sentence(error)}"


def sentence(error: Exception) -> str:
    """Return the message of an expected error, for a user."""
    if isinstance(error, OSError):
        return system_sentence(error)
    return memory_sentence(error) if isinstance(error, MemoryError) else str(error)
