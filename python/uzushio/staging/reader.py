"""The reading side of a stream."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from uzushio import _core
from uzushio.errors import PeerGone, PeerSilent, StagingError
from uzushio.staging.engines import Source
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI

#: Longest that a wait is deaf to Ctrl-C, seconds.
_SLICE = 0.25
#: Seconds between looks for a contact file.
_LOOK = 0.02
#: Seconds after which a wait says what it waits for.
_QUIET = 2.0
_ADVICE = (
    "Start the writer, or look where it writes its contact file; a run writes one only if its case "
    "has a section `publish`."
)


def _notice(text: str) -> None:
    print(f"uzushio: {text}", file=sys.stderr, flush=True)


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
) -> Reader:
    """Attach to a stream, at any time; collective over `comm`.

    Args:
        contact: a contact file, "host:port", "mpi:NAME" inside one MPI launch with the writer, or
            the folder of stored steps. A leading ~/ of a path is the home folder.
        comm: ranks that read together and see the same steps; None: this process alone, which
            then needs no MPI.
        stream: its name, if another one there would be a mistake.
        attach_limit: seconds to wait for a writer that is not there yet.
        step_limit: seconds that `for step in reader` waits for each step.
        answer_limit: seconds to wait for values.
        connections: for each pair of a reader's and a writer's rank.
        verify: check the checksums of all that arrives; None: of stored steps, and not of streams.
        secret: in hexadecimal, for "host:port"; a contact file holds it.
        tls: for "host:port": the writer uses TLS.

    Raises:
        PeerGone: there is no writer within the limit, or it is gone.
        StagingError: the contact is unusable, or of another stream.
    """
    where = os.path.expanduser(os.fspath(contact))
    end = time.monotonic() + attach_limit
    if _is_adios2(where, comm, attach_limit):
        from uzushio.staging.adios2_source import Adios2Source

        left = max(0.0, end - time.monotonic())
        found = Adios2Source(Path(where), comm, left, stream, answer_limit)
        return Reader.with_source(
            found, comm, step_limit=step_limit, answer_limit=answer_limit, verify=verify
        )
    handle = None if comm is None else comm.handle
    left = max(0.0, end - time.monotonic())
    core = _core.staging.Reader(
        where, handle, stream, left, answer_limit, connections, verify, secret, tls
    )
    return Reader(core, comm, step_limit)


def _is_adios2(contact: str, comm: MPI.Comm | None, limit: float) -> bool:
    """Wait for a contact that is a file or a folder, and say whether the engine adios2 made it.

    Raises:
        PeerGone: it is not there in time.
    """
    from uzushio.staging import adios2_engine

    if ":" in contact:
        return False
    path = Path(contact)

    def look() -> bytes:
        began, told = time.monotonic(), False
        while not path.exists():
            waited = time.monotonic() - began
            if waited >= limit:
                raise PeerGone(
                    f"No writer was there within {limit:g} s: there is no {contact}. {_ADVICE}"
                )
            if waited >= _QUIET and not told:
                told = True
                _notice(
                    f"Waiting for the writer for up to {limit:g} s: there is no {contact} yet. "
                    f"{_ADVICE}"
                )
            _core.staging.heed()
            time.sleep(_LOOK)
        return bytes([adios2_engine.leads_to(path)])

    handle = None if comm is None else comm.handle
    return bool(_core.staging.from_rank_0(handle, look)[0])


class Reader:
    """Steps of a stream, one at a time. Made by `attach`; iterate over it, or call `next`.

    All methods are collective over the reader's ranks. A rank that leaves its `with` after an
    exception does not wait for the others, who raise a `StagingError` that says what it was. One
    thread at a time may use it: those of one process take turns, and what they read is of the step
    that there is by then.
    """

    def __init__(self, core: Any, comm: MPI.Comm | None, step_limit: float = math.inf) -> None:
        self._core, self.comm, self._step_limit = core, comm, step_limit
        self._step: Step | None = None
        self.ended = False  #: the writer has closed, and all its steps were had

    @staticmethod
    def with_source(
        source: Source,
        comm: MPI.Comm | None = None,
        *,
        step_limit: float = math.inf,
        answer_limit: float = 60.0,
        verify: bool | None = None,
    ) -> Reader:
        """A reader of a source of one's own."""
        handle = None if comm is None else comm.handle
        core = _core.staging.Reader.from_source(source, handle, answer_limit, verify)
        return Reader(core, comm, step_limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.detach()
        else:
            self._leave(error)

    def next(self, limit: float = math.inf) -> Step | None:
        """Give the step back that there is, and wait for the next one.

        Args:
            limit: seconds to wait; 0 asks whether there is one.

        Returns:
            The step; None if there is none in time, or, if `ended` is True, none will follow.

        Raises:
            PeerGone, PeerSilent: the writer is gone, or does not answer.
            StagingError: an array of `Block.view` still looks at the step that there is.
        """
        if self._step is not None:
            self._core.release()
            self._step._over()
            self._step = None
        # Time is counted in waits, so that all ranks of a reader wait equally often.
        left = limit
        while not self.ended:
            wait = min(left, _SLICE)
            arrival = self._core.next(wait)
            left -= wait
            if arrival == "step":
                self._step = Step(self._core, self.comm)
                return self._step
            self.ended = arrival != "timeout"
            if left <= 0.0:
                break
        return None

    def __iter__(self) -> Iterator[Step]:
        """The steps from now on, until the writer ends the stream.

        Raises:
            PeerSilent: no step came within `step_limit` seconds.
        """
        quiet = _QUIET
        while True:
            step = self.next(min(quiet, self._step_limit))
            if step is None and not self.ended and quiet < self._step_limit:
                if self.comm is None or self.comm.rank == 0:
                    _notice("Attached, and waiting for the first step.")
                step = self.next(self._step_limit - quiet)
            quiet = math.inf
            if step is not None:
                yield step
            elif self.ended:
                return
            else:
                raise PeerSilent(
                    f"No step came within {self._step_limit:g} s; the writer is slower than "
                    "step_limit=, or stopped."
                )

    def release(self) -> None:
        """Give the step back before the next one is asked for."""
        if self._step is not None:
            self._core.release()
            self._step._over()
            self._step = None

    def detach(self) -> None:
        """Leave. If arrays of `Block.view` are left, as soon as the last of them is gone."""
        if self._step is not None:
            self._step._over()
            self._step = None
        if self._core is not None:
            self._core.detach()
        self.ended = True

    def _leave(self, error: BaseException) -> None:
        """Leave alone, and tell the other ranks why."""
        text = str(error)
        if not isinstance(error, StagingError):
            text = f"{type(error).__name__}: {text}".removesuffix(": ")
        if self._step is not None:
            self._step._over()
            self._step = None
        if self._core is not None:
            self._core.fail(type(error).__name__, text)
        self.ended = True
