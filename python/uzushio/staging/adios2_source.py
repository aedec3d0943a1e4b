"""Engine `adios2`, reader: reads steps of SST streams and BP5 files through ADIOS2.

Calls in which ADIOS2 waits for the writer without limit (opening a stream, fetching values) are
made by one thread for each stream, so that the wait has a timeout. A writer with MPI has one
stream, without MPI one for each rank; a step is available when all streams are at its number.

With SST, the ranks of a reader are one reader for ADIOS2, which begins and ends steps
collectively; this needs MPI. With BP5, each rank is a reader of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uzushio.errors import PeerGone, PeerSilent, StagingError
from uzushio.staging.adios2_engine import ANNOUNCE, KINDS, SEQUENCE, read_contact, require_threads
from uzushio.staging.adios2_layout import global_box
from uzushio.staging.adios2_library import Adios2Stream, Status, library
from uzushio.staging.engines import Piece, Source
from uzushio.staging.notice import notice
from uzushio.staging.store_lock import is_unlocked
from uzushio.staging.worker_thread import WorkerThread, has_ended

if TYPE_CHECKING:
    from mpi4py import MPI

#: Seconds between attempts to open a stream that does not answer yet.
_RETRY_INTERVAL = 0.2
#: Seconds between the opening of a file by its writer and its lock, at most.
_LOCK_DELAY = 1.0
#: Seconds beyond a limit for a check of the available steps.
_BEGIN_MARGIN = 0.1


class Adios2Source(Source):
    """Reader's source of an ADIOS2 stream; `attach_limit` and `answer_limit` in seconds."""

    def __init__(
        self,
        contact: Path,
        comm: MPI.Comm | None,
        attach_limit: float,
        stream: str,
        answer_limit: float = 60.0,
    ) -> None:
        self._answer_limit = answer_limit
        self._stream_comm: MPI.Comm | None = None
        self._threads: list[WorkerThread] = []
        self._streams: list[Adios2Stream] = []
        self._folders: list[Path] = []
        deadline = time.monotonic() + attach_limit
        while True:
            described = self._describe(contact, stream)
            self._sst = described["kind"] == "sst"
            self._shared = bool(described["shared"])
            if self._sst and comm is not None and comm.size > 1:
                _require_mpi(comm)
                self._stream_comm = self._stream_comm or comm.Dup()
            self.collective = self._stream_comm is not None
            try:
                self._open(contact, described, deadline)
                break
            except StagingError as error:
                # A contact left by a dead writer is unusable until a new writer replaces it.
                left = deadline - time.monotonic()
                late = self._sst or not all(folder.exists() for folder in self._folders)
                if not self._agree(left > _RETRY_INTERVAL and late):
                    raise PeerGone(
                        f"No writer answered at {contact} within {attach_limit:g} s: {error}"
                    ) from error
                time.sleep(_RETRY_INTERVAL)
        self._unlocked_since: float | None = None
        self._at: list[int | None] = [None] * len(self._streams)
        self._last: int | None = None  # number of the last step
        self._dropped = 0  # steps between received ones
        self._beginning: dict[int, Future[tuple[Status, int | None]]] = {}
        self._announced = b""
        self._step: Any = None
        self._memory = np.empty(0, np.uint8)

    def _describe(self, contact: Path, stream: str) -> dict[str, Any]:
        """Return the content of the contact file."""
        return _describe(contact, stream)

    # ---- opening and asking -----------------------------------------------------------------

    def _agree(self, holds: bool) -> bool:
        """Return rank 0's value if the ranks share a stream, else this rank's."""
        return holds if self._stream_comm is None else bool(self._stream_comm.bcast(holds))

    def _open(self, contact: Path, described: dict[str, Any], deadline: float) -> None:
        """Open all streams concurrently: a writer accepts readers when it ends a step."""
        parameters = {}
        if self._sst:
            left = max(1, int(deadline - time.monotonic()))
            # Each rank fetches only the values that it reads.
            parameters = {"OpenTimeoutSecs": str(left), "SpeculativePreloadMode": "Off"}
        kind = KINDS[described["kind"]]

        def opener(path: Path) -> Callable[[], Adios2Stream]:
            return lambda: Adios2Stream(path, kind, parameters, self._stream_comm, write=False)

        names = described["streams"]
        self._folders = [contact.parent / name for name in names]
        self._threads = [WorkerThread(f"uzushio-adios2-{n}") for n in range(len(names))]
        tasks = [
            thread.submit(opener(contact.parent / name))
            for thread, name in zip(self._threads, names, strict=True)
        ]
        failure = _failure_of(tasks, deadline)
        failed = failure is not None
        if self._stream_comm is not None:
            failed = any(self._stream_comm.allgather(failed))
        if failed:
            for thread, task in zip(self._threads, tasks, strict=True):
                thread.submit(partial(_close, task))
                thread.close()
            raise failure or StagingError("another rank of the reader was not accepted")
        self._streams = [task.result() for task in tasks]

    def _call(self, number: int, work: Callable[[], Any], limit: float) -> Any:
        """Run a function in the thread of a stream.

        Raises:
            PeerSilent: it takes longer than `limit` seconds.
        """
        try:
            return self._threads[number].call(work, limit)
        except TimeoutError:
            raise PeerSilent(f"The writer did not answer ADIOS2 within {limit:g} s.") from None

    # ---- steps ------------------------------------------------------------------------------

    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        """Wait for a step; the end of a file is also the end of its writer's process.

        At the end a notice has the number of steps that SST dropped, which it does not report.
        """
        arrival = self._advance(0, time.monotonic() + limit)
        if arrival == "timeout" and not self._sst and self._is_unlocked():
            # Steps may have arrived, or the file may have been closed, since the last check.
            arrival = self._advance(0, time.monotonic())
            if arrival == "timeout":
                notice(
                    f"The writer of {self._folders[0]} has ended without closing it: it failed or "
                    "was killed. All complete steps were read."
                )
                arrival = "ended"
        if arrival == "step":
            self._count(self._at[0])
            return self._announced
        if arrival == "ended" and self._dropped:
            notice(f"SST dropped {self._dropped} of the steps between those that were received.")
            self._dropped = 0
        return arrival

    def _count(self, sequence: int | None) -> None:
        """Count the dropped steps before a step of this number."""
        assert sequence is not None
        self._dropped += 0 if self._last is None else sequence - self._last - 1
        self._last = sequence

    def _is_unlocked(self) -> bool:
        """Whether no writer has held the lock of a folder for a time, as a writer takes it late."""
        if not all(map(is_unlocked, self._folders)):
            self._unlocked_since = None
            return False
        now = time.monotonic()
        self._unlocked_since = self._unlocked_since or now
        return now - self._unlocked_since >= _LOCK_DELAY

    def _advance(self, min_sequence: int, deadline: float) -> Literal["step", "timeout", "ended"]:
        """Advance until all streams are at the same step, at or after `min_sequence`."""
        while True:
            for number in range(len(self._streams)):
                at = self._at[number]
                if at is not None and at >= min_sequence:
                    min_sequence = at
                    continue
                if at is not None:
                    self._end(number)
                arrival = self._begin(number, deadline)
                if arrival != "step":
                    return arrival
                min_sequence = max(min_sequence, self._at[number] or 0)
            if all(at == min_sequence for at in self._at):
                return "step"

    def _begin(self, number: int, deadline: float) -> Literal["step", "timeout", "ended"]:
        """Begin the next step of one stream; an attempt that times out continues."""
        if number not in self._beginning:
            self._beginning[number] = self._threads[number].submit(
                lambda: self._poll_step(number, deadline)
            )
        beginning = self._beginning[number]
        if not has_ended(beginning, deadline - time.monotonic() + _BEGIN_MARGIN):
            return "timeout"
        del self._beginning[number]
        status, self._at[number] = beginning.result()
        if status == "failed":
            raise PeerGone("The writer is gone: ADIOS2 could not begin its next step.")
        if status == "ok":
            return "step"
        return "ended" if status == "ended" else "timeout"

    def _poll_step(self, number: int, deadline: float) -> tuple[Status, int | None]:
        """Wait for a step of one stream, and read its number and table."""
        stream, pause = self._streams[number], 1e-4
        while True:
            # With a timeout of its own SST may end the process (ADIOS2's issue 1862). Without one
            # it still waits if only the notice of a dropped step has arrived.
            status = stream.begin_step(0.0)
            left = deadline - time.monotonic()
            if status != "not ready" or not self._agree(left > 0.0):
                break
            time.sleep(max(0.0, min(pause, left)))
            pause = min(2.0 * pause, 0.01)
        if status != "ok":
            return status, None
        with self._failures_as_peer_gone():
            return status, self._read_table(number, stream)

    def _read_table(self, number: int, stream: Adios2Stream) -> int:
        """Read the number of a stream's current step; of the first stream, its table too."""
        if number == 0:
            self._announced = stream.get_all(ANNOUNCE, 0, np.uint8).tobytes()
        return int(stream.get_all(SEQUENCE, 0, np.int64)[0])

    def _unused_axes(self, mesh: dict[str, Any]) -> int:
        """Return how many of the axes z, y, x the arrays of a mesh lack."""
        return 0

    def _variable(self, field: str) -> str:
        """Return the name of the variable of a field."""
        return field

    def begin(self, sequence: int, step: Any) -> None:
        """Advance to the step of rank 0."""
        if self._at[0] != sequence:
            if self._advance(sequence, time.monotonic() + self._answer_limit) == "timeout":
                raise PeerSilent(f"Step {sequence} did not reach all ranks of the reader.")
            if any(at != sequence for at in self._at):
                raise StagingError(f"Step {sequence} is not there for all ranks of the reader.")
        self._step = step

    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        """Read pieces."""
        blocks = self._step.blocks if wanted else []
        meshes, fields = (self._step.meshes, self._step.fields) if wanted else ([], [])
        into = self._targets(wanted)
        requests: dict[int, list[tuple[Any, ...]]] = {}
        for piece, place in zip(wanted, into, strict=True):
            rank, block, array, (start, count), first, components, _ = piece
            field = fields[blocks[block][5][array][0]]
            (shape, owned), _ = global_box(meshes, blocks[block], field)
            at = (*(a + b for a, b in zip(owned, start, strict=False)), first)
            size = (*count, components)
            axes = slice(self._unused_axes(meshes[field[1]]), len(shape))
            requests.setdefault(0 if self._shared else rank, []).append(
                (self._variable(field[0]), at[axes], size[axes], place)
            )

        def getter(number: int) -> Callable[[], None]:
            stream = self._streams[number]

            def get() -> None:
                with self._failures_as_peer_gone():
                    for request in requests[number]:
                        stream.get(*request)
                    stream.perform_gets()

            return get

        deadline = time.monotonic() + limit
        tasks = [self._threads[number].submit(getter(number)) for number in requests]
        try:
            for task in tasks:
                task.result(deadline - time.monotonic())
        except TimeoutError:
            self._memory = np.empty(0, np.uint8)  # ADIOS2 may still write to the old memory
            raise PeerSilent(
                f"The writer's values did not come through ADIOS2 within {limit:g} s."
            ) from None
        for piece, place in zip(wanted, into, strict=True):
            if place is not piece[-1]:
                piece[-1][...] = place

    def _targets(self, wanted: list[Piece]) -> list[np.ndarray]:
        """Return contiguous memory for each piece.

        For SST it is not the caller's memory, which may be freed when a stopped writer continues.
        """
        targets = [piece[-1] for piece in wanted]
        if not self._sst:
            return [to if to.flags.c_contiguous else np.empty(to.shape, to.dtype) for to in targets]
        starts = np.cumsum([0, *(-(-to.nbytes // 64) * 64 for to in targets)])
        if self._memory.size < starts[-1]:
            self._memory = np.empty(starts[-1], np.uint8)
        return [
            self._memory[start : start + to.nbytes].view(to.dtype).reshape(to.shape)
            for start, to in zip(starts, targets, strict=False)
        ]

    @contextmanager
    def _failures_as_peer_gone(self) -> Iterator[None]:
        """Raise `PeerGone` for failures of SST in a block."""
        try:
            yield
        except StagingError as error:
            if not self._sst or "not written by Uzushio" in str(error):
                raise
            raise PeerGone(f"The writer is gone: {error}") from error

    def _end(self, number: int) -> None:
        self._call(number, self._streams[number].end_step, self._answer_limit)
        self._at[number] = None

    def end(self, sequence: int) -> None:
        """End the step on this rank; ADIOS2 counts the ranks."""
        self._step = None
        for number in range(len(self._streams)):
            if self._at[number] is not None:
                self._end(number)

    def release(self, sequence: int) -> None:
        """Do nothing: `end` releases the step."""

    def close(self) -> None:
        """Close all streams; one whose writer does not answer is left to its thread."""
        tasks = [
            thread.submit(stream.close)
            for thread, stream in zip(self._threads, self._streams, strict=True)
        ]
        deadline = time.monotonic() + 5.0
        for task in tasks:
            has_ended(task, deadline - time.monotonic())
        for thread in self._threads:
            thread.close()
        self._streams, self._threads = [], []


def _describe(contact: Path, stream: str) -> dict[str, Any]:
    """Return the content of a contact file, or of one for a BP5 folder; raises `StagingError`."""
    described = read_contact(contact) or {
        "stream": "",
        "kind": "bp5",
        "streams": [contact.name],
        "shared": True,
    }
    if stream and described["stream"] not in ("", stream):
        raise StagingError(
            f"{contact} is of the stream {described['stream']!r}, not of {stream!r}."
        )
    return described


def _require_mpi(comm: MPI.Comm) -> None:
    if not library().has_mpi:
        raise StagingError(
            f"A reader of {comm.size} ranks over SST needs an ADIOS2 with MPI, and this one has "
            "none: build it with make adios2, read with one rank, or choose another engine."
        )
    require_threads(comm)


def _failure_of(tasks: list[Future[Adios2Stream]], deadline: float) -> StagingError | None:
    """Wait until streams are open; return the first failure."""
    failure: StagingError | None = None
    for task in tasks:
        try:
            task.result(deadline - time.monotonic())
        except TimeoutError:
            failure = failure or PeerSilent("it does not accept the reader, or is stopped.")
        except StagingError as error:
            failure = failure or error
    return failure


def _close(opening: Future[Adios2Stream]) -> None:
    """Close a stream that may have been opened after the timeout; for its thread."""
    if opening.exception() is None:
        opening.result().close()
