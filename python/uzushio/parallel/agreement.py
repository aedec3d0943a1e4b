"""Agreement on errors after code of a user, which may leave some ranks waiting without end.

MPI 3 cannot interrupt a rank that waits for a message. So the job ends, with a message that names
the cause.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uzushio.errors import UzushioError
from uzushio.parallel.collective import minimum, raise_everywhere

if TYPE_CHECKING:
    from mpi4py import MPI

#: Default timeout of a wait for other ranks, seconds.
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


@dataclass(frozen=True)
class _State:
    """State of a rank that reached the agreement: the text of its failure, "" if none."""

    number: int
    failure: str


class Agreement:
    """End of code blocks with communication, alike on all ranks; all methods are collective."""

    def __init__(self, comm: MPI.Comm) -> None:
        """Duplicate `comm`."""
        self._comm, self._number = comm.Dup(), 0
        self._sent: list[MPI.Request] = []  # they own the buffers

    @contextmanager
    def on(self, what: str, limit: float = WAIT_LIMIT) -> Iterator[None]:
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
            raise_everywhere(comm, int(first[0]), failure)

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
            mine = mine or _State(self._number, failure_text(failure))
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
        """Yield tag, source and content of messages of other ranks on this agreement."""
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
        failed = {rank: one.failure for rank, one in sorted(states.items()) if one.failure}
        well = [rank for rank in sorted(states) if rank not in failed]
        lines = [
            f"uzushio: error: the job ends, because {what} did not come to an end on "
            f"{ranks_in_words(missing)} while others waited for {limit:g} s, the wait_limit."
        ]
        groups: dict[str, list[int]] = {}
        for rank, text in failed.items():
            groups.setdefault(text, []).append(rank)
        for text, ranks in groups.items():
            lines.append(f"It raised on {ranks_in_words(ranks)}:\n{text}")
        if well:
            lines.append(f"It returned on {ranks_in_words(well)}.")
        lines.append(
            "Ranks that wait for a message of a rank that raised, or returned, wait for ever: let "
            "it raise on all ranks or on none, so that all take part in its communication; or "
            "give it a longer wait_limit if it only takes its time."
        )
        print("\n".join(lines), file=sys.stderr, flush=True)
        time.sleep(0.2)  # the launcher forwards the text
        self._comm.Abort(1)
        os._exit(1)


def failure_text(failure: Exception | None) -> str:
    """Return the text of a failure with its notes, or its traceback if it was not expected."""
    if failure is None:
        return ""
    notes = "\n".join(getattr(failure, "__notes__", ()))
    if notes or isinstance(failure, UzushioError):
        text = "\n".join(filter(None, (notes, str(failure))))
    else:
        text = "".join(traceback.format_exception(failure)).rstrip()
    return text[-_MAX_TEXT:]


def ranks_in_words(ranks: Iterable[int]) -> str:
    """Return ranks as in "rank 3", "ranks 0 to 4, 7"."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    words = [f"{a} to {b}" if b > a + 1 else f"{a}, {b}" if b > a else f"{a}" for a, b in spans]
    more = f" and {len(words) - 8} more" if len(words) > 8 else ""
    one = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"{'rank' if one else 'ranks'} {', '.join(words[:8])}{more}"
