"""Reader of a stream."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from uzushio import _core
from uzushio.errors import PeerGone, PeerSilent, StagingError
from uzushio.staging.engines import Source
from uzushio.staging.notice import notice
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI

#: Interval at which a wait checks for Ctrl-C, seconds.
_POLL_INTERVAL = 0.25
#: Seconds between checks for a contact file.
_CONTACT_INTERVAL = 0.02
#: Seconds after which a wait prints a notice.
_NOTICE_AFTER = 2.0
_ADVICE = (
    "Start the writer, or check the path of its contact file; a run writes one only if its case "
    "has a section `publish`."
)


def attach(
    contact: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    *,
    stream: str = "",
    attach_limit: float = 60.0,
    step_limit: float = math.inf,
    answer_limit: float = 60.0,
    connections: int = 2,
    verify: bool | None = None,
    secret: str = "",
    tls: bool = False,
    latest_only: bool = False,
) -> Reader:
    """Attach to a stream, at any time; collective over `comm`.

    Args:
        contact: a contact file, "host:port", "mpi:NAME" inside one MPI launch with the writer, or
            the folder of stored steps. A leading ~/ of a path is the home folder.
        comm: ranks that read together and see the same steps; None: this process alone, which
            then needs no MPI.
        stream: expected name of the stream; empty for any.
        attach_limit: timeout for a writer that does not exist yet, seconds.
        step_limit: timeout of `for step in reader` for each step, seconds.
        answer_limit: timeout for values, seconds.
        connections: connections for each pair of a reader's and a writer's rank.
        verify: check the checksums of all received values; None: only of stored steps.
        secret: hexadecimal secret for "host:port"; a contact file contains it.
        tls: for "host:port": whether the writer uses TLS.
        latest_only: skip to the newest step each time, and never make the writer wait, whatever
            the policy of its queue; with the engines shm, tcp and mpi, also through relays.

    Raises:
        PeerGone: no writer answered within the limit, or its process ended.
        StagingError: the contact is unusable, or of another stream.
    """
    where = os.path.expanduser(os.fspath(contact))
    end = time.monotonic() + attach_limit
    if _is_adios2(where, comm, attach_limit):
        from uzushio.staging.adios2_arrays import Adios2Arrays
        from uzushio.staging.adios2_engine import is_arrays_file
        from uzushio.staging.adios2_source import Adios2Source

        left = max(0.0, end - time.monotonic())
        kind = Adios2Arrays if is_arrays_file(Path(where)) else Adios2Source
        source = kind(Path(where), comm, left, stream, answer_limit)
        return Reader.with_source(
            source, comm, step_limit=step_limit, answer_limit=answer_limit, verify=verify
        )
    handle = None if comm is None else comm.handle
    left = max(0.0, end - time.monotonic())
    core = _core.staging.Reader(
        where, handle, stream, left, answer_limit, connections, verify, secret, tls, latest_only
    )
    return Reader(core, comm, step_limit)


def _is_adios2(contact: str, comm: MPI.Comm | None, limit: float) -> bool:
    """Wait for a contact that is a file or a folder; return whether the engine adios2 made it.

    Raises:
        PeerGone: it does not exist within `limit` seconds.
    """
    if ":" in contact:
        return False
    from uzushio.staging import adios2_engine

    path = Path(contact)

    def poll() -> bytes:
        began, noticed = time.monotonic(), False
        while not path.exists():
            waited = time.monotonic() - began
            if waited >= limit:
                raise PeerGone(
                    f"No writer was found within {limit:g} s: {contact} does not exist. {_ADVICE}"
                )
            if waited >= _NOTICE_AFTER and not noticed:
                noticed = True
                notice(
                    f"Waiting for the writer for up to {limit:g} s: {contact} does not exist yet. "
                    f"{_ADVICE}"
                )
            _core.staging.heed()
            time.sleep(_CONTACT_INTERVAL)
        return bytes([adios2_engine.is_adios2_contact(path)])

    handle = None if comm is None else comm.handle
    return bool(_core.staging.from_rank_0(handle, poll)[0])


class Reader:
    """Steps of a stream, one at a time. Made by `attach`; iterate over it, or call `next`.

    All methods are collective over the reader's ranks. A rank that leaves its `with` block by an
    exception does not wait for the others, which raise a `StagingError` with its message. Calls of
    several threads of a process are serialised; a read returns values of the current step.
    """

    def __init__(self, core: Any, comm: MPI.Comm | None, step_limit: float = math.inf) -> None:
        self._core, self.comm, self._step_limit = core, comm, step_limit
        self._step: Step | None = None
        self._last: int | None = None  # number of the last received step
        self.dropped = 0
        """Number of steps between received ones that the writer dropped for this reader, or that
        `latest_only` skipped."""
        self.ended = False
        """Whether the stream has ended, and all its steps were received; a store also ends with the
        process of its writer."""

    @staticmethod
    def with_source(
        source: Source,
        comm: MPI.Comm | None = None,
        *,
        step_limit: float = math.inf,
        answer_limit: float = 60.0,
        verify: bool | None = None,
    ) -> Reader:
        """Make a reader of a user-defined source."""
        handle = None if comm is None else comm.handle
        core = _core.staging.Reader.from_source(source, handle, answer_limit, verify)
        return Reader(core, comm, step_limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            self.detach()
        else:
            self._fail(error)

    def next(self, limit: float = math.inf) -> Step | None:
        """Release the current step, and wait for the next one.

        Args:
            limit: seconds to wait; 0 checks without waiting.

        Returns:
            The step; None after `limit` seconds without a step, or, if `ended` is True, at the end
            of the stream.

        Raises:
            PeerGone, PeerSilent: the writer's process ended, or it does not answer.
            StagingError: an array of `Block.view` still refers to the current step.
        """
        self.release()
        # Time is measured in waits, so that all ranks of a reader wait equally often.
        left = limit
        while not self.ended:
            wait = min(left, _POLL_INTERVAL)
            arrival = self._core.next(wait)
            left -= wait
            if arrival == "step":
                self._step = Step(self._core, self.comm)
                if self._last is not None:
                    self.dropped += max(0, self._step.sequence - self._last - 1)
                self._last = self._step.sequence
                return self._step
            self.ended = arrival != "timeout"
            if left <= 0.0:
                break
        return None

    def seek(self, sequence: int) -> None:
        """Let `next` continue with the first stored step from this number on, also after the end.

        Args:
            sequence: as `Step.sequence`.

        Raises:
            StagingError: the steps are not stored.
        """
        self._core.seek(sequence)
        self.ended, self._last = False, None

    def stored_steps(self) -> list[tuple[int, int, float]] | None:
        """Return (sequence, index, time) of each stored step in order; not collective, on rank 0.

        None for a running stream.

        Raises:
            StagingError: the description of a step cannot be read.
        """
        return self._core.stored_steps()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Step]:
        """Iterate over the steps until the writer ends the stream.

        Stored steps also end with the process of a writer that was killed, with a notice.

        Raises:
            PeerSilent: no step was received within `step_limit` seconds.
        """
        notice_after = _NOTICE_AFTER
        while True:
            step = self.next(min(notice_after, self._step_limit))
            if step is None and not self.ended and notice_after < self._step_limit:
                if self.comm is None or self.comm.rank == 0:
                    notice("Attached, and waiting for the first step.")
                step = self.next(self._step_limit - notice_after)
            notice_after = math.inf
            if step is not None:
                yield step
            elif self.ended:
                return
            else:
                raise PeerSilent(
                    f"No step was received within {self._step_limit:g} s; the writer is slower "
                    "than step_limit=, or stopped."
                )

    def send(self, text: str) -> int:
        """Send a command to the program that writes the stream; not collective, on rank 0 only.

        Args:
            text: at most 2000 bytes; its meaning is the program's (`Writer.take_commands`).

        Returns:
            The number of the command, which its reply has.

        Raises:
            StagingError: the engine has no commands (shm, tcp and mpi have), or there is no writer.
        """
        return int(self._core.send(text))

    def take_replies(self) -> dict[int, str]:
        """Return the replies that `next` has received since the last call, by number (rank 0)."""
        return dict(self._core.take_replies())

    def release(self) -> None:
        """Release the current step before `next`."""
        if self._step is not None:
            self._core.release()
            self._forget_step()

    def detach(self) -> None:
        """Detach from the stream; delayed until the last array of `Block.view` is deleted."""
        self._forget_step()
        if self._core is not None:
            self._core.detach()
        self.ended = True

    def _forget_step(self) -> None:
        if self._step is not None:
            self._step._invalidate()
            self._step = None

    def _fail(self, error: BaseException) -> None:
        """Detach this rank only, and send the error to the other ranks."""
        text = str(error)
        if not isinstance(error, StagingError):
            text = f"{type(error).__name__}: {text}".removesuffix(": ")
        self._forget_step()
        if self._core is not None:
            self._core.fail(type(error).__name__, text)
        self.ended = True
