"""Errors on many ranks: a failure reaches all ranks, one message is printed, no rank hangs."""

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

#: Seconds in which the other ranks must fail too for a failure to count as one of all ranks.
GRACE_PERIOD = 5.0


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
def end_job_if_alone(
    comm: MPI.Comm, what: str, grace_period: float = GRACE_PERIOD
) -> Iterator[None]:
    """Run a block with communication on every rank; a rank that fails alone ends the job.

    A rank that waits for a message of the failed one cannot be interrupted. Where all ranks fail,
    each leaves the block with its exception. A block without failure adds no communication.

    Args:
        comm: communicator for this purpose only.
        what: name of the block in messages, as "a sweep of the phase field".
        grace_period: seconds in which the others must fail too.
    """
    try:
        yield
    except Exception as error:
        if comm.size > 1 and not all_arrive(comm, grace_period):
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
    """Raise the failure of the rank `first` on all ranks (collective); see `collective`."""
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
    """Return the type and message that the other ranks raise for `failure`."""
    if isinstance(failure, UzushioError):
        return type(failure), str(failure)
    if isinstance(failure, OSError):
        return OutputError, system_sentence(failure)
    if isinstance(failure, MemoryError):
        return MemoryShortageError, memory_sentence(failure)
    return OtherRankError, str(failure)


def system_sentence(error: OSError) -> str:
    """Return a sentence with the path, the error of the operating system, and advice."""
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
    """Return a sentence on a failed allocation, with its size if known, and advice."""
    asked = str(error) if str(error) not in ("", "std::bad_alloc") else "an allocation failed"
    return f"out of memory: {asked.rstrip('.')}. {advice}"


def guarded(comm: MPI.Comm, work: Callable[[], int], debug: bool = False) -> int:
    """Call `work` on every rank and return the exit status; end all ranks if one fails alone.

    A failure of all ranks is printed once. A rank that fails while the others continue prints its
    message and ends the job, so that no rank waits for it.
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
    """Return the first report, and the last line of each report that ends differently."""
    told = [report for report in reports if report]
    endings = {report.splitlines()[-1]: rank for rank, report in enumerate(reports) if report}
    first = told[0].splitlines()[-1]
    others = [f"rank {rank}: {line}" for line, rank in endings.items() if line != first]
    return "\n".join([told[0], *others])


def all_arrive(comm: MPI.Comm, grace_period: float = GRACE_PERIOD) -> bool:
    """Return whether all ranks call this within the grace period (collective)."""
    request = comm.Ibarrier()
    deadline = time.monotonic() + grace_period
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def report_of(error: Exception, debug: bool = False) -> str:
    """Return the message of an expected error, or the traceback of a programming error.

    It is empty where another rank prints the error.
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
