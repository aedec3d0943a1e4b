"""Agreement between ranks: a failure reaches all ranks, one message is printed, no rank hangs.

- `collective`: for our own code without communication; one reduction.
- `TimedCollective`: for code of a user, which may leave some ranks waiting without end.
- `on_root`: for what rank 0 reads for all ranks.
- `end_job_if_alone`: for our own code with communication; adds none unless it fails.
- `guarded`: for a whole command.

MPI 3 cannot interrupt a rank that waits for a message. Where one may wait, the job ends, with a
message that names the cause.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import numpy as np

from uzushio._base.error_text import memory_sentence, report_of, system_sentence
from uzushio.errors import MemoryShortageError, OtherRankError, OutputError, UzushioError

if TYPE_CHECKING:
    from mpi4py import MPI

Result = TypeVar("Result")

#: Seconds in which the other ranks must fail too for a failure to count as one of all ranks.
GRACE_PERIOD = 5.0
#: Default timeout of a wait for other ranks in `TimedCollective`, seconds.
WAIT_LIMIT = 600.0
#: Timeout of answers to a rank whose wait timed out, seconds; at most its own timeout.
_ANSWER_TIMEOUT = 10.0
#: Seconds that a rank has to end the job after its request for states.
_ABORT_TIMEOUT = 30.0
#: Maximum sleep between two polls, seconds, and maximum length of a failure text, characters.
_MAX_SLEEP, _MAX_TEXT = 0.01, 4000
#: Maximum time that one poll adds to a wait, seconds: a suspended job does not time out.
_MAX_POLL = 1.0
_ASK, _REPLY = 1, 2


def poll(done: Callable[[], bool], limit: float, max_sleep: float) -> bool:
    """Wait at growing intervals until `done`; return whether it was within `limit` seconds.

    Time during which the whole job is suspended does not count.
    """
    waited, last = 0.0, time.monotonic()
    while not done():
        if waited > limit:
            return False
        time.sleep(min(max_sleep, waited / 10.0))
        now = time.monotonic()
        waited, last = waited + min(now - last, _MAX_POLL), now
    return True


@contextmanager
def collective(comm: MPI.Comm | None) -> Iterator[None]:
    """Run a block without communication on every rank; if it fails on one, it fails on all.

    Each rank leaves the block with an exception, or none does. The first failing rank's message
    is raised everywhere; unexpected errors stay as they are on the rank where they happened.

    Args:
        comm: the ranks; None: this process alone, without MPI.

    Raises:
        UzushioError: with the same message on all ranks; `OtherRankError` where another rank has
            an unexpected error.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        if comm is None:
            raise
        failure = error
    if comm is not None:
        first = comm.allreduce(comm.rank if failure else comm.size, minimum())
        if first < comm.size:
            _raise_everywhere(comm, first, failure)


def on_root(comm: MPI.Comm | None, read: Callable[[], Result]) -> Result:
    """Return on all ranks what `read` returns on rank 0 (collective); errors as in `collective`.

    Args:
        comm: the ranks; None: this process alone, without MPI.
        read: function without communication, whose result can be pickled.
    """
    result: Result | None = None
    with collective(comm):
        if comm is None or comm.rank == 0:
            result = read()
    return cast("Result", result if comm is None else comm.bcast(result))


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
            text = f"{type(error).__name__}: {error}"
            if isinstance(error, MemoryError):
                text = memory_sentence(error)
            end_job(
                comm,
                f"uzushio: error: the job ends, because rank {comm.rank} failed in {what}, and "
                f"others may wait for it there: {text}",
            )
        raise


def end_job(comm: MPI.Comm, text: str) -> NoReturn:
    """Print a message and end all ranks of the job at once."""
    print(text, file=sys.stderr, flush=True)
    time.sleep(0.2)  # the launcher forwards the text
    comm.Abort(1)
    os._exit(1)


def _raise_everywhere(comm: MPI.Comm, first: int, failure: Exception | None) -> None:
    """Raise the failure of the rank `first` on all ranks (collective); see `collective`."""
    expected: tuple[type[UzushioError], str] | None = None
    if comm.rank == first and failure is not None:
        expected = _as_expected(failure)
    kind, message = comm.bcast(expected, root=first)
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


def guarded(comm: MPI.Comm, work: Callable[[], int], debug: bool = False) -> int:
    """Call `work` on every rank and return the exit status; end all ranks if one fails alone.

    A failure of all ranks is printed once. A rank that fails while the others continue prints its
    message and ends the job, so that no rank waits for it.
    """
    failure_comm = comm.Dup()
    try:
        status = work()
    except Exception as error:
        text = report_of(error, debug)
        if not all_arrive(failure_comm):
            end_job(comm, f"rank {comm.rank}: {text}")
        reports: list[str] = failure_comm.allgather(text)
        if comm.rank == 0:
            print(_joined(reports), file=sys.stderr, flush=True)
        return 1
    return status


def _joined(reports: list[str]) -> str:
    """Return the first report, and the last line of each that ends differently."""
    received = [report for report in reports if report]
    endings = {report.splitlines()[-1]: rank for rank, report in enumerate(reports) if report}
    first = received[0].splitlines()[-1]
    others = [f"rank {rank}: {line}" for line, rank in endings.items() if line != first]
    return "\n".join([received[0], *others])


def all_arrive(comm: MPI.Comm, grace_period: float = GRACE_PERIOD) -> bool:
    """Return whether all ranks call this within the grace period (collective)."""
    request = comm.Ibarrier()
    deadline = time.monotonic() + grace_period
    while not request.Test():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@dataclass(frozen=True)
class _State:
    """State of a rank that has left a block: the text of its failure, "" if none."""

    number: int
    failure: str


class TimedCollective:
    """Collective blocks with communication, whose end has a timeout: code of a user."""

    def __init__(self, comm: MPI.Comm) -> None:
        """Duplicate `comm`."""
        self._comm, self._number = comm.Dup(), 0
        self._sent: list[MPI.Request] = []  # they own the buffers

    @contextmanager
    def block(self, what: str, limit: float = WAIT_LIMIT) -> Iterator[None]:
        """Run a block on every rank; if it fails on one, it fails on all, as with `collective`.

        If the wait for a rank times out, the job ends: one message has the failures of the ranks
        that finished the block, and names those that did not.

        Args:
            what: name of the block in messages, such as "the action stress at step 4".
            limit: timeout in seconds.

        Raises:
            UzushioError: with the same message on all ranks; `OtherRankError` where another rank
                has an unexpected error.
        """
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        self._number += 1
        comm = self._comm
        mine = np.array([comm.size if failure is None else comm.rank], np.int32)
        first = np.empty_like(mine)
        if comm.size > 1:
            self._wait(comm.Iallreduce(mine, first, minimum()), what, limit, failure)
        else:
            first[:] = mine
        if first[0] < comm.size:
            _raise_everywhere(comm, int(first[0]), failure)

    def _wait(
        self, request: MPI.Request, what: str, limit: float, failure: Exception | None
    ) -> None:
        """Wait for all ranks, and answer those whose wait times out first."""
        waited, deadline, last = 0.0, limit, time.monotonic()
        mine: _State | None = None
        while not request.Test():
            now = time.monotonic()
            waited, last = waited + min(now - last, _MAX_POLL), now
            if waited < _MAX_SLEEP:
                time.sleep(waited / 10.0)
                continue
            mine = mine or _State(self._number, _failure_text(failure))
            if self._answer(mine):
                deadline = max(deadline, waited + _ABORT_TIMEOUT)
            if waited > deadline:
                states = self._ask(mine, request, min(_ANSWER_TIMEOUT, limit))
                if states is not None and len(states) < self._comm.size:
                    self._end(what, limit, states)
                # All ranks have finished, or another rank ends the job.
                deadline = waited + (limit if states is not None else _ABORT_TIMEOUT)
            time.sleep(min(_MAX_SLEEP, waited / 10.0))
        self._sent = [sent for sent in self._sent if not sent.Test()]

    def _received(self) -> Iterator[tuple[int, int, _State]]:
        """Yield tag, source and content of messages of other ranks on this block."""
        from mpi4py import MPI

        status = MPI.Status()
        while self._comm.iprobe(tag=MPI.ANY_TAG, status=status):
            tag, source = status.Get_tag(), status.Get_source()
            state: _State = self._comm.recv(source=source, tag=tag)
            if state.number == self._number:
                yield tag, source, state

    def _answer(self, mine: _State) -> bool:
        """Answer ranks that ask for this one's state; return whether one did."""
        asking = [source for tag, source, _ in self._received() if tag == _ASK]
        self._send(mine, asking, _REPLY)
        return bool(asking)

    def _ask(self, mine: _State, request: MPI.Request, seconds: float) -> dict[int, _State] | None:
        """Return the states of finished ranks; None if all finished, or a lower rank asks too."""
        rank = self._comm.rank
        states = {rank: mine}
        self._send(mine, (other for other in range(self._comm.size) if other != rank), _ASK)
        until = time.monotonic() + seconds
        while time.monotonic() < until and len(states) < self._comm.size:
            if request.Test():
                return None
            for tag, source, other in self._received():
                if tag == _ASK and source < rank:
                    self._send(mine, [source], _REPLY)
                    return None
                states[source] = other
            time.sleep(_MAX_SLEEP)
        return states

    def _send(self, mine: _State, ranks: Iterable[int], tag: int) -> None:
        """Send without waiting: ranks that are still in the block do not receive it."""
        for rank in ranks:
            self._sent.append(self._comm.isend(mine, rank, tag))

    def _end(self, what: str, limit: float, states: dict[int, _State]) -> None:
        """Print the failures and the missing ranks, and end the job on all ranks."""
        missing = [rank for rank in range(self._comm.size) if rank not in states]
        failed = {rank: state.failure for rank, state in sorted(states.items()) if state.failure}
        well = [rank for rank in sorted(states) if rank not in failed]
        lines = [
            f"uzushio: error: the job ends, because {what} did not end on "
            f"{_show_ranks(missing)} while others waited for {limit:g} s, the wait_limit."
        ]
        groups: dict[str, list[int]] = {}
        for rank, text in failed.items():
            groups.setdefault(text, []).append(rank)
        for text, ranks in groups.items():
            lines.append(f"It raised on {_show_ranks(ranks)}:\n{text}")
        if well:
            lines.append(f"It returned on {_show_ranks(well)}.")
        lines.append(
            "Ranks that wait for a message of a rank that raised, or returned, wait for ever: let "
            "it raise on all ranks or on none, so that all take part in its communication; or "
            "give it a longer wait_limit if it is only slow."
        )
        end_job(self._comm, "\n".join(lines))


def _failure_text(failure: Exception | None) -> str:
    """Return the text of a failure with its notes, or its traceback if it was not expected."""
    if failure is None:
        return ""
    notes = "\n".join(getattr(failure, "__notes__", ()))
    if notes or isinstance(failure, UzushioError):
        text = "\n".join(filter(None, (notes, str(failure))))
    else:
        text = "".join(traceback.format_exception(failure)).rstrip()
    return text[-_MAX_TEXT:]


def _show_ranks(ranks: Iterable[int]) -> str:
    """Return ranks as in "rank 3", "ranks 0 to 4, 7"."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    words = [f"{a} to {b}" if b > a + 1 else f"{a}, {b}" if b > a else f"{a}" for a, b in spans]
    more = f" and {len(words) - 8} more" if len(words) > 8 else ""
    is_single = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"{'rank' if is_single else 'ranks'} {', '.join(words[:8])}{more}"
