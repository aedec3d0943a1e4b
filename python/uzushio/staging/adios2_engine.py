"""Engine `adios2`, the writer: steps through an ADIOS2 that is in use anyway, by SST and BP5.

Every step has the step's whole table as the variable `uzushio/announce` and each field as local
arrays (z, y, x, component). The reader plans from the table, as with every engine, and reads boxes
of blocks. If the installed ADIOS2 has MPI, a writer's ranks share one stream; else each has its own
("NAME.RANK.sst"). The contact file lists them; they lie beside it, or where `file.folder` says.

SST's waits have no limits: for room in the queue, for readers that are to come, for those that
come in, at the end. So another thread does what may wait, and the solver goes on without it.

What SST cannot do: it has no limit in bytes, does not drop the oldest step, does not tell which
steps it dropped, lets readers in only when its writer ends a step, and lets in anyone who can reach
its port.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio import _core
from uzushio.config.names import unknown
from uzushio.errors import PeerGone, StagingError, WaitStopped
from uzushio.staging.adios2_connections import end_connections
from uzushio.staging.adios2_library import Stream, library
from uzushio.staging.engines import Counters, WriterEngine
from uzushio.staging.lane import Job, Lane

if TYPE_CHECKING:
    from mpi4py import MPI

#: What a contact file of this engine begins with.
_MARK = "adios2"
ANNOUNCE, SEQUENCE = "uzushio/announce", "uzushio/sequence"
KINDS = {"sst": "SST", "bp5": "BP5"}
#: Seconds that SST gets to hear that its readers' connections have ended.
_PARTING = 3.0
#: Longest that a wait for readers does not ask whether it is to end, seconds.
_SLICE = 0.25
#: Seconds after which a wait says what it waits for.
_QUIET = 2.0
_SUFFIXES = {"sst": ".sst", "bp5": ".bp"}


def _settings(options: Any, shared: bool) -> tuple[str, dict[str, str]]:
    """The kind of engine, and the parameters that the options mean; raises `StagingError`."""
    section = dict(options.adios2)
    kind = str(section.pop("kind", "sst")).lower()
    parameters = section.pop("parameters", None) or {}
    for key in section:
        raise StagingError(f"adios2.{key} {unknown(str(key), ['kind', 'parameters'])}.")
    if kind not in KINDS:
        raise StagingError(f"adios2.kind is {kind!r}; it must be one of {', '.join(KINDS)}.")
    if options.checksums:
        raise StagingError("The engine adios2 carries no checksums; leave checksums out.")
    chosen: dict[str, str] = {}
    if kind == "sst":
        if options.policy == "drop_oldest" or options.limits_bytes:
            raise StagingError(
                "ADIOS2's SST has no queue.policy drop_oldest and no queue.bytes; choose what it "
                "has, or another engine."
            )
        # Of what a queue of one holds nothing is old. SST's own AlwaysProvideLatestTimestep ends
        # readers by SIGSEGV where steps are dropped, and several streams go on to the same step
        # only if they hold more than one.
        depth = 1 if options.policy == "latest_only" and shared else options.depth
        kept = 1 if options.keep_newest else 0
        chosen = {
            # What is kept is in the queue: alone in there, it would let nothing follow.
            "QueueLimit": str(max(depth, kept + 1)),
            "QueueFullPolicy": "Block" if options.policy == "block" else "Discard",
            "ReserveQueueLimit": str(kept),
            "RendezvousReaderCount": str(options.wait_for_readers),
        }
    return kind, chosen | {str(key): str(value) for key, value in parameters.items()}


class Adios2Engine(WriterEngine):
    """Writes a stream through ADIOS2; collective."""

    def __init__(self, name: str, comm: MPI.Comm | None, options: Any) -> None:
        rank, size = (0, 1) if comm is None else (comm.rank, comm.size)
        self._comm = None if comm is None else comm.Dup()
        self._options = options
        contact = Path(options.contact)
        if not contact.name:
            contact = Path(f"{name}.contact")
        shared = size == 1 or library().has_mpi
        kind, parameters = _settings(options, shared)
        if kind == "sst" and options.policy == "block" and not (shared or options.wait_for_readers):
            raise StagingError(
                "Without MPI in the adios2 package each rank has a stream, and a reader that comes "
                "while one of them blocks is never let in: use queue.policy latest_only or "
                "drop_newest, say wait_for_readers, or build the package with make adios2."
            )
        stem = (options.folder if options.folder.name else contact).with_suffix("")
        suffix = _SUFFIXES[kind]
        parts = [""] if shared else [f".{part}" for part in range(size)]
        streams = [stem.with_name(f"{stem.name}{part}{suffix}") for part in parts]
        mine = streams[0 if shared else rank]
        team = self._comm if shared and size > 1 else None
        if kind == "sst":
            require_threads(team)
        self._together(lambda: self._require_free(kind, mine))
        self._published = self._taken = self._dropped = 0
        self._seconds = 0.0
        self._stuck = False
        self._stream: Stream | None = None
        # Readers look for the contact first: what it names comes into being while they wait.
        self._files: list[Path] = []
        self._contact: Any = None
        if rank == 0:
            text = {
                "engine": _MARK,
                "stream": name,
                "kind": kind,
                "streams": [os.path.relpath(stream, contact.parent) for stream in streams],
                "shared": shared,
                "process": os.getpid(),
                "host": socket.gethostname(),
            }
            self._write_contact(kind, contact, json.dumps(text) + "\n")
        if kind == "sst":
            self._files = [mine.with_name(mine.name + ".sst")]  # as SST names its own contact
        self._lane = Lane("uzushio-adios2") if kind == "sst" else None
        self._opening: Job | None = None

        def start() -> Stream:
            return Stream(mine, KINDS[kind], parameters, team, write=True)

        if self._lane is not None and options.wait_for_readers:
            self._opening = self._lane.submit(start)
        else:
            self._stream = start()
            _keep_interrupt()

    def _write_contact(self, kind: str, contact: Path, text: str) -> None:
        """Lead readers here: of files for good, of SST as long as the writer lives."""
        if kind == "sst":
            self._contact = _core.staging.ContactFile(contact, text)
        else:
            _write_private(contact, text)

    def _require_free(self, kind: str, mine: Path) -> None:
        if kind == "bp5" and mine.exists() and not self._options.overwrite:
            raise StagingError(
                f"{mine} holds steps already; move it away, or say file.overwrite: true."
            )

    def _together(self, work: Callable[[], None]) -> None:
        """Do something that may fail on some ranks, so that all fail or none does."""
        failure: StagingError | None = None
        try:
            work()
        except StagingError as error:
            failure = error
        failures = [failure] if self._comm is None else self._comm.allgather(failure)
        for found in failures:
            if found is not None:
                raise found

    def _all(self, holds: bool) -> bool:
        """Whether it holds on all ranks."""
        return holds if self._comm is None else all(self._comm.allgather(holds))

    def _waited(self, job: Job, limit: float, notice: str) -> bool:
        """Wait for what waits for readers, and say whether it has come to its end.

        Raises:
            WaitStopped: the program is to stop.
        """
        began, told = time.monotonic(), False
        while not job.wait(min(_SLICE, limit - (time.monotonic() - began))):
            _core.staging.heed_stop()
            waited = time.monotonic() - began
            if waited >= limit:
                return False
            if waited >= _QUIET and not told:
                told = True
                if self._comm is None or self._comm.rank == 0:
                    print(f"uzushio: {notice}", file=sys.stderr, flush=True)
        return True

    def _await_readers(self) -> None:
        """The first step waits for readers, and ADIOS2 for ever: all ranks give up, or none."""
        if self._opening is None:
            return
        wanted, limit = self._options.wait_for_readers, self._options.wait_limit
        waits = f"The first step waits for {wanted} reader{'s' if wanted > 1 else ''}"
        stopped: StagingError | None = None
        try:
            came = self._waited(self._opening, limit, f"{waits} for up to {limit:g} s.")
        except WaitStopped as error:
            came, stopped = False, error
        self._together(lambda: _raise(stopped))
        if not self._all(came):
            raise PeerGone(
                f"{waits}, and fewer came within {limit:g} s: start them, raise wait_limit or "
                "lower wait_for_readers."
            )
        opening, self._opening = self._opening, None

        def open_() -> None:
            self._stream = opening.result(0.0)
            _keep_interrupt()

        self._together(open_)

    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        """Publish a step; SST may drop it later without telling."""
        began = time.monotonic()
        self._published += 1
        try:
            self._await_readers()
            if not self._has_room():
                self._dropped += 1
                self._refuse()
                return None
            self._write(part, values)
            self._taken += 1
        finally:
            self._seconds += time.monotonic() - began
        if self._stuck:
            self._refuse()
        return self._taken - 1

    def _has_room(self) -> bool:
        """Whether ADIOS2 is done with the step before. Whoever is stuck was waited for once."""
        if self._stuck:
            self._stuck = not self._all(self._lane is None or self._lane.idle)
        return not self._stuck

    def _refuse(self) -> None:
        """A step found no room in time."""
        if self._options.fails_on_timeout:
            raise StagingError(
                f"ADIOS2's readers made no room for a step within {self._options.time_limit:g} s "
                "(queue.time_limit); they are too slow, or stopped."
            )

    def _write(self, part: Any, values: list[np.ndarray]) -> None:
        core, stream = _core.staging, self._stream
        assert stream is not None
        parts = [part.encode()] if self._comm is None else self._comm.gather(part.encode())
        sequence = self._taken
        held = [np.array([sequence], np.int64)]  # alive until the step's end
        failure: StagingError | None = None
        stream.begin_step()
        try:
            stream.put(SEQUENCE, held[0])
            if parts is not None:
                whole = core.merge([core.decode_step(bytes_) for bytes_ in parts])
                held.append(np.frombuffer(core.announce(sequence, whole), np.uint8))
                stream.put(ANNOUNCE, held[-1])
            names = [field[0] for field in part.fields]
            arrays = (names[array[0]] for block in part.blocks for array in block[5])
            for name, array in zip(arrays, values, strict=True):
                if array.size:
                    held.append(np.ascontiguousarray(array))
                    stream.put(name, held[-1])
        except StagingError as error:
            failure = error
        done = True
        try:
            if self._lane is None:
                stream.end_step()
            else:  # SST has copied all, so it may take its time
                self._lane.call(stream.end_step, self._options.time_limit)
        except TimeoutError:
            done = False
        except StagingError as error:
            failure = failure or error
        outcomes = [(done, failure)]
        if self._comm is not None:
            outcomes = self._comm.allgather(outcomes[0])
        self._stuck = not all(done for done, _ in outcomes)
        for _, found in outcomes:
            if found is not None:
                raise found

    def close(self) -> None:
        """End the stream; SST waits for readers to take what is left, up to `close_limit`."""
        if self._lane is None:
            if self._stream is not None:
                self._stream.close()
        else:
            if self._stream is not None:
                closing = self._lane.submit(self._stream.close)
                if not self._all(closing.wait(self._options.close_limit)):
                    # Who has not taken it by now has lost it.
                    end_connections(self._files[0])
                    closing.wait(_PARTING)
            self._lane.close()
        self._stream = self._contact = None
        for file in self._files:
            file.unlink(missing_ok=True)

    def counters(self) -> Counters:
        """Steps offered, and those that found no room in time; ADIOS2 tells no more.

        The seconds are all those in ADIOS2, its copies among them.
        """
        return Counters(
            published=self._published, dropped=self._dropped, seconds_waited=self._seconds
        )


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error


def require_threads(comm: MPI.Comm | None) -> None:
    """See that MPI allows ADIOS2 to work in a thread of its own; raises `StagingError`."""
    if comm is None:
        return
    from mpi4py import MPI

    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        raise StagingError(
            "The engine adios2 works in a thread of its own, and this ADIOS2 uses MPI: initialise "
            "MPI with MPI_THREAD_MULTIPLE, or choose another engine."
        )


def _keep_interrupt() -> None:
    """Ctrl-C means what it meant: SST's writers make it end the process."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)


def _write_private(path: Path, text: str) -> None:
    """Write a file whole, for this user alone."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)
        fresh.rename(path)
    except OSError as error:
        raise StagingError(f"The contact file {path} cannot be written ({error}).") from error


def read_contact(path: Path) -> dict[str, Any] | None:
    """What a contact file of this engine says; None if it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("engine") == _MARK else None


def leads_to(path: Path) -> bool:
    """Whether a contact leads to a stream of this engine."""
    return path.suffix == ".bp" or (path.is_file() and read_contact(path) is not None)
