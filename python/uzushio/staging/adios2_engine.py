"""Engine `adios2`, writer: publishes steps through ADIOS2's engines SST and BP5.

Every step contains its table as the variable `uzushio/announce`, and each field as a global array
without ghosts. So other ADIOS2 readers see whole fields, the variables `time` and `step`, and
attributes (`adios2_layout.py`). The reader plans from the table, as with every engine. If the
installed ADIOS2 has MPI, all ranks of a writer share one stream; otherwise each has its own
("NAME.RANK.sst"), whose arrays hold the values of that rank alone. The contact file lists the
streams; they lie beside it, or in `file.folder`.

SST waits without limit: for space in the queue, for the first readers, for readers that attach, and
at the end. So these calls are made by another thread, and the solver's wait has a limit.

Limits of SST: no maximum in bytes, no policy that drops the oldest step, no report of dropped
steps; readers are accepted only when the writer ends a step, and without authentication.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio import _core
from uzushio._base.files import atomic_write
from uzushio._base.parallel.sync import collective
from uzushio.errors import PeerGone, StagingError
from uzushio.staging.adios2_connections import end_connections
from uzushio.staging.adios2_layout import attributes, place
from uzushio.staging.adios2_library import Adios2Stream, library
from uzushio.staging.engines import Counters, WriterEngine
from uzushio.staging.notice import notice
from uzushio.staging.store_lock import StoreLock
from uzushio.staging.worker_thread import WorkerThread, has_ended

if TYPE_CHECKING:
    from mpi4py import MPI

#: Value of the key `engine` in a contact file of this engine.
_MARK = "adios2"
ANNOUNCE, SEQUENCE = "uzushio/announce", "uzushio/sequence"
KINDS = {"sst": "SST", "bp5": "BP5"}
#: Seconds for SST to detect that the connections of its readers have ended.
_DISCONNECT_TIMEOUT = 3.0
#: Interval at which a wait for readers checks for a stop, seconds.
_POLL_INTERVAL = 0.25
#: Seconds after which a wait prints a notice.
_NOTICE_AFTER = 2.0
_SUFFIXES = {"sst": ".sst", "bp5": ".bp"}


def _settings(options: Any, shared: bool) -> tuple[str, dict[str, str]]:
    """Return ADIOS2's kind of engine and its parameters; raises `StagingError`."""
    kind = options.adios2_kind
    if options.checksums:
        raise StagingError("The engine adios2 does not support checksums; leave checksums out.")
    chosen: dict[str, str] = {}
    if kind == "sst":
        if options.policy == "drop_oldest" or options.limits_bytes:
            raise StagingError(
                "ADIOS2's SST has no queue.policy drop_oldest and no queue.bytes; choose another "
                "policy, or another engine."
            )
        # A queue of one step holds the latest one. SST's AlwaysProvideLatestTimestep crashes
        # readers (SIGSEGV) when steps are dropped. Several streams advance to the same step only
        # if each holds more than one.
        depth = 1 if options.policy == "latest_only" and shared else options.depth
        kept = 1 if options.keep_newest else 0
        chosen = {
            # The reserved step is in the queue: with a limit of 1 no other step would fit.
            "QueueLimit": str(max(depth, kept + 1)),
            "QueueFullPolicy": "Block" if options.policy == "block" else "Discard",
            "ReserveQueueLimit": str(kept),
            "RendezvousReaderCount": str(options.wait_for_readers),
        }
    return kind, chosen | options.adios2_parameters


class Adios2Engine(WriterEngine):
    """Writer's engine that publishes through ADIOS2; collective."""

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
                "Without MPI in the adios2 package each rank has a stream, and a reader that "
                "attaches while one of them blocks is never accepted: use queue.policy latest_only "
                "or drop_newest, set wait_for_readers, or build the package with make adios2."
            )
        stem = (options.folder if options.folder.name else contact).with_suffix("")
        suffix = _SUFFIXES[kind]
        parts = [""] if shared else [f".{part}" for part in range(size)]
        streams = [stem.with_name(f"{stem.name}{part}{suffix}") for part in parts]
        mine = streams[0 if shared else rank]
        stream_comm = self._comm if shared and size > 1 else None
        if kind == "sst":
            require_threads(stream_comm)
        with collective(self._comm):
            self._require_free(kind, mine)
        self._published = self._taken = self._dropped = 0
        self._seconds = 0.0
        self._stuck = False
        self._stream: Adios2Stream | None = None
        # Readers read the contact first, and wait for the streams that it names.
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
            if rank == 0:
                notice(
                    "SST listens on all network interfaces and does not authenticate readers: use "
                    "the engine tcp where others reach this machine."
                )
        self._lock = StoreLock()
        self._thread = WorkerThread("uzushio-adios2") if kind == "sst" else None
        self._opening: Future[Adios2Stream] | None = None

        def start() -> Adios2Stream:
            return Adios2Stream(mine, KINDS[kind], parameters, stream_comm, write=True)

        if self._thread is not None and options.wait_for_readers:
            self._opening = self._thread.submit(start)
        else:
            self._stream = start()
            self._protect_contacts()
            _restore_interrupt_handler()
        if kind == "bp5" and (stream_comm is None or rank == 0):
            self._lock.take(mine)

    def _write_contact(self, kind: str, contact: Path, text: str) -> None:
        """Write the contact file; for SST it is removed with the writer."""
        if kind == "sst":
            self._contact = _core.staging.ContactFile(contact, text)
        else:
            try:
                atomic_write(contact, text, mode=0o600)
            except OSError as error:
                raise StagingError(
                    f"The contact file {contact} cannot be written ({error})."
                ) from error

    def _protect_contacts(self) -> None:
        """Let no other user read SST's own contact files, which are enough to attach."""
        for file in self._files:
            with suppress(FileNotFoundError):  # of another rank, or not written yet
                file.chmod(0o600)

    def _require_free(self, kind: str, mine: Path) -> None:
        if kind == "bp5" and mine.exists() and not self._options.overwrite:
            raise StagingError(
                f"{mine} holds steps already; move it away, or set file.overwrite: true."
            )

    def _all(self, holds: bool) -> bool:
        """Whether `holds` is true on all ranks (collective)."""
        return holds if self._comm is None else all(self._comm.allgather(holds))

    def _wait_for_readers(self, call: Future[Any], limit: float, text: str) -> bool:
        """Wait for a call that waits for readers; return whether it ended within `limit` seconds.

        Raises:
            WaitStopped: a stop of the program was requested.
        """
        began, noticed = time.monotonic(), False
        while not has_ended(call, min(_POLL_INTERVAL, limit - (time.monotonic() - began))):
            _core.staging.heed_stop()
            self._protect_contacts()
            waited = time.monotonic() - began
            if waited >= limit:
                return False
            if waited >= _NOTICE_AFTER and not noticed:
                noticed = True
                if self._comm is None or self._comm.rank == 0:
                    notice(text)
        return True

    def _await_readers(self) -> None:
        """Wait for the readers of the first step; all ranks succeed or all raise."""
        if self._opening is None:
            return
        wanted, limit = self._options.wait_for_readers, self._options.wait_limit
        waits = f"The first step waits for {wanted} reader{'s' if wanted > 1 else ''}"
        with collective(self._comm):
            opened = self._wait_for_readers(self._opening, limit, f"{waits} for up to {limit:g} s.")
        if not self._all(opened):
            raise PeerGone(
                f"{waits}, and fewer attached within {limit:g} s: start them, raise wait_limit or "
                "lower wait_for_readers."
            )
        opening, self._opening = self._opening, None
        with collective(self._comm):
            self._stream = opening.result()
            self._protect_contacts()
            _restore_interrupt_handler()

    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        """Publish a step; SST may drop it later without a report."""
        began = time.monotonic()
        self._published += 1
        try:
            self._await_readers()
            if not self._is_free():
                self._dropped += 1
                self._fail_on_timeout()
                return None
            self._write(part, values)
            self._taken += 1
        finally:
            self._seconds += time.monotonic() - began
        if self._stuck:
            self._fail_on_timeout()
        return self._taken - 1

    def _is_free(self) -> bool:
        """Whether ADIOS2 has finished the previous step; does not wait."""
        if self._stuck:
            self._stuck = not self._all(self._thread is None or self._thread.idle)
        return not self._stuck

    def _fail_on_timeout(self) -> None:
        """Raise `StagingError` if the options request it after the timeout of a step."""
        if self._options.fails_on_timeout:
            raise StagingError(
                "ADIOS2's readers released no step within "
                f"{self._options.time_limit:g} s (queue.time_limit); they are too slow, or stopped."
            )

    def _write(self, part: Any, values: list[np.ndarray]) -> None:
        core, stream = _core.staging, self._stream
        assert stream is not None
        parts = [part.encode()] if self._comm is None else self._comm.gather(part.encode())
        sequence = self._taken
        # The arrays are valid until the end of the step.
        held: list[np.ndarray] = [np.array([sequence], np.int64)]
        names = [field[0] for field in part.fields]
        failure: StagingError | None = None
        stream.begin_step()
        try:
            stream.put(SEQUENCE, held[0])
            if parts is not None:
                whole = core.merge([core.decode_step(bytes_) for bytes_ in parts])
                table = core.announce(sequence, core.without_ghosts(whole))
                held.append(np.frombuffer(table, np.uint8))
                stream.put(ANNOUNCE, held[-1])
                for name, number in (
                    ("time", np.float64(part.time)),
                    ("step", np.int64(part.index)),
                ):
                    if name not in names:
                        held.append(np.array(number))
                        stream.put(name, held[-1])
                for name, value in attributes(whole):
                    stream.set_attribute(name, value)
            for name, box, array in place(part, values):
                held.append(array)
                stream.put(name, array, *box)
        except StagingError as error:
            failure = error
        done = True
        try:
            if self._thread is None:
                stream.end_step()
            else:  # SST has copied the values, so the call may outlast the time limit
                self._thread.call(stream.end_step, self._options.time_limit)
        except TimeoutError:
            done = False
        except StagingError as error:
            failure = failure or error
        outcomes = [(done, failure)]
        if self._comm is not None:
            outcomes = self._comm.allgather(outcomes[0])
        self._stuck = not all(done for done, _ in outcomes)
        for _, rank_failure in outcomes:
            if rank_failure is not None:
                raise rank_failure

    def close(self) -> None:
        """End the stream; SST waits up to `close_limit` for readers to take the queued steps."""
        if self._thread is None:
            if self._stream is not None:
                self._stream.close()
            self._lock.release()
        else:
            if self._stream is not None:
                closing = self._thread.submit(self._stream.close)
                if not self._all(has_ended(closing, self._options.close_limit)):
                    # Readers that have not taken the steps by now lose them.
                    end_connections(self._files[0])
                    has_ended(closing, _DISCONNECT_TIMEOUT)
            self._thread.close()
        self._stream = self._contact = None
        for file in self._files:
            file.unlink(missing_ok=True)

    def counters(self) -> Counters:
        """Return published and dropped steps and the time waited; ADIOS2 reports nothing else.

        The seconds are the time in all calls of ADIOS2, including its copies.
        """
        return Counters(
            published=self._published, dropped=self._dropped, seconds_waited=self._seconds
        )


def require_threads(comm: MPI.Comm | None) -> None:
    """Raise `StagingError` unless MPI allows ADIOS2 to work in its own thread."""
    if comm is None:
        return
    from mpi4py import MPI

    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        raise StagingError(
            "The engine adios2 works in its own thread, and this ADIOS2 uses MPI: initialise MPI "
            "with MPI_THREAD_MULTIPLE, or choose another engine."
        )


def _restore_interrupt_handler() -> None:
    """Restore the handler of SIGINT, which SST's writers replace."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)


def read_contact(path: Path) -> dict[str, Any] | None:
    """Return the content of a contact file of this engine; None for other files."""
    try:
        contact = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return contact if isinstance(contact, dict) and contact.get("engine") == _MARK else None


def is_arrays_file(path: Path) -> bool:
    """Whether a contact is a YAML file that describes arrays of another program."""
    return path.suffix in (".yaml", ".yml")


def is_adios2_contact(path: Path) -> bool:
    """Whether a contact is one of this engine, a BP5 folder, or a file of `adios2_arrays.py`."""
    return (
        is_arrays_file(path)
        or path.suffix == ".bp"
        or (path.is_file() and read_contact(path) is not None)
    )
