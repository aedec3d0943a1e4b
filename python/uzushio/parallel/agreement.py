"""Agreements of ranks after code of a user's own, which may leave some of them waiting for ever.

No rank can be called out of communication that nobody answers: MPI 3 has no way to do that. What is
left is to end the job, and to say why.
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

#: Seconds that ranks wait for others, if nobody says how long.
WAIT_LIMIT = 600.0
#: Seconds in which ranks that wait answer one that has waited for too long; never more than it has.
_ANSWER = 10.0
#: Seconds that a rank is given to end the job after it asked who waits.
_LAST = 30.0
#: Longest sleep between two looks, and longest text of a failure that is told.
_NAP, _LETTERS = 0.01, 4000
#: What one look counts at most: seconds in which the whole job was suspended are no waiting.
_SLICE = 1.0
_ASK, _TELL = 1, 2


@dataclass(frozen=True)
class _Came:
    """How a rank came to the agreement: what it raised, in words; "" if nothing."""

    number: int
    failure: str


class Agreement:
    """Ends blocks of code, which may communicate, on all ranks alike; collective throughout."""

    def __init__(self, comm: MPI.Comm) -> None:
        """Take a communicator of its own, a copy of `comm`."""
        self._comm, self._number = comm.Dup(), 0
        self._sent: list[MPI.Request] = []  # they hold the memory that is sent

    @contextmanager
    def on(self, what: str, limit: float = WAIT_LIMIT) -> Iterator[None]:
        """Run a block on every rank; if it fails on one, it fails on all, as with `collective`.

        If a rank has waited for the others so long, the job ends: one message says what each rank
        that came raised, and which did not come.

        Args:
            what: the block, for messages, "the action stress at step 4" say.
            limit: seconds.

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
        """Wait for all ranks, and answer those that lose patience first."""
        waited, deadline, last = 0.0, limit, time.monotonic()
        mine: _Came | None = None
        while not request.Test():
            now = time.monotonic()
            waited, last = waited + min(now - last, _SLICE), now
            if waited < _NAP:
                time.sleep(waited / 10.0)
                continue
            mine = mine or _Came(self._number, told(failure))
            if self._answer(mine):
                deadline = max(deadline, waited + _LAST)
            if waited > deadline:
                came = self._ask(mine, request, min(_ANSWER, limit))
                if came is not None and len(came) < self._comm.size:
                    self._end(what, limit, came)
                # All are here after all, or another rank sees to it.
                deadline = waited + (limit if came is not None else _LAST)
            time.sleep(min(_NAP, waited / 10.0))
        self._sent = [sent for sent in self._sent if not sent.Test()]

    def _received(self) -> Iterator[tuple[int, int, _Came]]:
        """Tag, source and content of what other ranks sent about this agreement."""
        from mpi4py import MPI

        status = MPI.Status()
        while self._comm.iprobe(tag=MPI.ANY_TAG, status=status):
            tag, source = status.Get_tag(), status.Get_source()
            came: _Came = self._comm.recv(source=source, tag=tag)
            if came.number == self._number:
                yield tag, source, came

    def _answer(self, mine: _Came) -> bool:
        """Tell ranks that ask; whether one did."""
        asking = [source for tag, source, _ in self._received() if tag == _ASK]
        self._send(mine, asking, _TELL)
        return bool(asking)

    def _ask(self, mine: _Came, request: MPI.Request, seconds: float) -> dict[int, _Came] | None:
        """Who is here, and what they raised; None if all are, or a lower rank asks too."""
        rank = self._comm.rank
        came = {rank: mine}
        self._send(mine, (other for other in range(self._comm.size) if other != rank), _ASK)
        until = time.monotonic() + seconds
        while time.monotonic() < until and len(came) < self._comm.size:
            if request.Test():
                return None
            for tag, source, other in self._received():
                if tag == _ASK and source < rank:
                    self._send(mine, [source], _TELL)
                    return None
                came[source] = other
            time.sleep(_NAP)
        return came

    def _send(self, mine: _Came, ranks: Iterable[int], tag: int) -> None:
        """Send without waiting: those that are elsewhere never receive it."""
        for rank in ranks:
            self._sent.append(self._comm.isend(mine, rank, tag))

    def _end(self, what: str, limit: float, came: dict[int, _Came]) -> None:
        """Say what happened, and end the job on all ranks."""
        missing = [rank for rank in range(self._comm.size) if rank not in came]
        failed = {rank: one.failure for rank, one in sorted(came.items()) if one.failure}
        well = [rank for rank in sorted(came) if rank not in failed]
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
        time.sleep(0.2)  # for whoever carries the text to the terminal
        self._comm.Abort(1)
        os._exit(1)


def told(failure: Exception | None) -> str:
    """What was raised, in words: with its notes, or with its traceback if nobody expected it."""
    if failure is None:
        return ""
    notes = "\n".join(getattr(failure, "__notes__", ()))
    if notes or isinstance(failure, UzushioError):
        text = "\n".join(filter(None, (notes, str(failure))))
    else:
        text = "".join(traceback.format_exception(failure)).rstrip()
    return text[-_LETTERS:]


def ranks_in_words(ranks: Iterable[int]) -> str:
    """For messages: "rank 3", "ranks 0 to 4, 7"."""
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
