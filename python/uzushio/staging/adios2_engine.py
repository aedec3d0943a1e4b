"""Engine `adios2`: steps through an ADIOS2 that is in use anyway, by its engines SST and BP5.

Every step has the step's whole table as the variable `uzushio/announce` and each field as local
arrays (z, y, x, component). The reader plans from the table, as with every engine, and reads boxes
of blocks. If the installed ADIOS2 has MPI, a writer's ranks share one stream; else each has its own
("NAME.RANK.sst"). The contact file lists them; they lie beside it, or where `file.folder` says.

What ADIOS2 cannot do: SST has no time limit for `block` and for readers that are waited for, no
limit in bytes, does not drop the oldest step, does not tell which steps it dropped, lets readers in
only when its writer begins a step, one rank each, and lets in anyone who can reach its port.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from uzushio import _core
from uzushio.errors import PeerGone, PeerSilent, StagingError
from uzushio.registry import unknown
from uzushio.staging.engines import Counters, Piece, Source, WriterEngine

if TYPE_CHECKING:
    from mpi4py import MPI

#: What a contact file of this engine begins with.
_MARK = "adios2"
_ANNOUNCE, _SEQUENCE = "uzushio/announce", "uzushio/sequence"
_KINDS = {"sst": "SST", "bp5": "BP5"}
_SUFFIXES = {"sst": ".sst", "bp5": ".bp"}


def adios2() -> Any:
    """The bindings of the adios2 package; raises `StagingError` if it is missing."""
    try:
        from adios2 import bindings
    except ImportError as error:
        raise StagingError(
            f"The engine adios2 needs the Python package adios2 ({error}); install it (pip install "
            "adios2, or make adios2 for one with MPI), or choose another engine."
        ) from error
    return bindings


def _settings(options: Any) -> tuple[str, dict[str, str]]:
    """The kind of engine, and the parameters that the options mean; raises `StagingError`."""
    section = dict(options.adios2)
    kind = str(section.pop("kind", "sst")).lower()
    parameters = section.pop("parameters", None) or {}
    for key in section:
        raise StagingError(f"adios2.{key} {unknown(str(key), ['kind', 'parameters'])}.")
    if kind not in _KINDS:
        raise StagingError(f"adios2.kind is {kind!r}; it must be one of {', '.join(_KINDS)}.")
    if options.checksums:
        raise StagingError("The engine adios2 carries no checksums; leave checksums out.")
    chosen: dict[str, str] = {}
    if kind == "sst":
        if options.policy == "drop_oldest" or options.limits_bytes or options.fails_on_timeout:
            raise StagingError(
                "ADIOS2's SST has no queue.policy drop_oldest, no queue.bytes and no "
                "queue.on_timeout fail; choose what it has, or another engine."
            )
        chosen = {
            "QueueLimit": str(options.depth),
            "QueueFullPolicy": "Block" if options.policy == "block" else "Discard",
            "ReserveQueueLimit": "1" if options.keep_newest else "0",
            "RendezvousReaderCount": str(options.wait_for_readers),
        }
    return kind, chosen | {str(key): str(value) for key, value in parameters.items()}


class Adios2Engine(WriterEngine):
    """Writes a stream through ADIOS2; collective."""

    def __init__(self, name: str, comm: MPI.Comm | None, options: Any) -> None:
        self._bindings = adios2()
        kind, parameters = _settings(options)
        rank, size = (0, 1) if comm is None else (comm.rank, comm.size)
        self._comm = None if comm is None else comm.Dup()
        self._rank = rank
        contact = Path(options.contact)
        if not contact.name:
            contact = Path(f"{name}.contact")
        shared = size == 1 or self._bindings.is_built_with_mpi
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
        self._together(lambda: self._require_free(kind, mine, options.overwrite))
        with_mpi = self._bindings.is_built_with_mpi and comm is not None
        self._adios = self._bindings.ADIOS(self._comm) if with_mpi else self._bindings.ADIOS()
        self._io = self._adios.DeclareIO("uzushio")
        self._io.SetEngine(_KINDS[kind])
        self._io.SetParameters(parameters)
        self._variables: dict[str, tuple[np.dtype[Any], Any]] = {}
        self._published, self._seconds = 0, 0.0
        # Readers look for the contact first: what it names comes into being while they wait.
        self._contact: Path | None = None
        if rank == 0:
            text = {
                "engine": _MARK,
                "stream": name,
                "kind": kind,
                "streams": [os.path.relpath(stream, contact.parent) for stream in streams],
                "shared": shared,
                "latest": options.policy == "latest_only",
            }
            _write_private(contact, json.dumps(text) + "\n")
            self._contact = contact if kind == "sst" else None
        self._engine = self._io.Open(str(mine), self._bindings.Mode.Write)

    def _require_free(self, kind: str, mine: Path, overwrite: bool) -> None:
        if kind == "bp5" and mine.exists() and not overwrite:
            raise StagingError(
                f"{mine} holds steps already; move it away, or say file.overwrite: true."
            )

    def _together(self, work: Callable[[], None]) -> None:
        """Do something that may fail on some ranks, so that all fail or none does."""
        failure: str | None = None
        try:
            work()
        except StagingError as error:
            failure = str(error)
        failures = [failure] if self._comm is None else self._comm.allgather(failure)
        for text in failures:
            if text is not None:
                raise StagingError(text)

    def publish(self, part: Any, values: list[np.ndarray]) -> int | None:
        """Publish a step; SST may drop it later without telling."""
        core = _core.staging
        parts = [part.encode()] if self._comm is None else self._comm.gather(part.encode())
        deferred = self._bindings.Mode.Deferred
        sequence = self._published
        held = [np.array([sequence], np.int64)]  # alive until the step's end
        began = time.monotonic()
        self._engine.BeginStep()
        try:
            self._put(_SEQUENCE, held[0], deferred)
            if parts is not None:
                whole = core.merge([core.decode_step(bytes_) for bytes_ in parts])
                held.append(np.frombuffer(core.announce(sequence, whole), np.uint8))
                self._put(_ANNOUNCE, held[-1], deferred)
            names = [field[0] for field in part.fields]
            arrays = (names[array[0]] for block in part.blocks for array in block[5])
            for name, array in zip(arrays, values, strict=True):
                if array.size:
                    held.append(np.ascontiguousarray(array))
                    self._put(name, held[-1], deferred)
        finally:
            self._engine.EndStep()
        self._seconds += time.monotonic() - began
        self._published += 1
        return sequence

    def _put(self, name: str, array: np.ndarray, mode: Any) -> None:
        dtype, variable = self._variables.get(name, (array.dtype, None))
        if variable is None:
            variable = self._io.DefineVariable(name, np.empty(1, dtype), [], [], list(array.shape))
            self._variables[name] = dtype, variable
        if dtype != array.dtype:
            raise StagingError(f'Field "{name}" was {dtype}; ADIOS2 keeps the type that it had.')
        variable.SetSelection(([], list(array.shape)))
        self._engine.Put(variable, array.ctypes.data, mode)

    def close(self) -> None:
        """End the stream; SST waits for readers to take what is left."""
        self._engine.Close()
        if self._contact is not None:
            self._contact.unlink(missing_ok=True)

    def counters(self) -> Counters:
        """Steps published, and seconds in ADIOS2, its copies among them; it tells no more."""
        return Counters(published=self._published, seconds_waited=self._seconds)


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


def _read_contact(path: Path) -> dict[str, Any] | None:
    """What a contact file of this engine says; None if it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("engine") == _MARK else None


def leads_to(path: Path) -> bool:
    """Whether a contact leads to a stream of this engine."""
    return path.suffix == ".bp" or (path.is_file() and _read_contact(path) is not None)


class Adios2Source(Source):
    """Reads a stream through ADIOS2.

    Each rank of a reader is a reader of its own for ADIOS2: of BP5 any number, of SST one.
    """

    def __init__(
        self, contact: Path, comm: MPI.Comm | None, attach_limit: float, stream: str
    ) -> None:
        self._bindings = adios2()
        described = _read_contact(contact) or {
            "stream": "",
            "kind": "bp5",
            "streams": [contact.name],
            "shared": True,
            "latest": False,
        }
        if stream and described["stream"] not in ("", stream):
            raise StagingError(
                f"{contact} leads to the stream {described['stream']!r}, not to {stream!r}."
            )
        if described["kind"] == "sst" and comm is not None and comm.size > 1:
            raise StagingError(
                "ADIOS2's SST lets each rank of a reader in by itself, and not with the same step; "
                "read with one rank, or choose another engine."
            )
        self._shared = bool(described["shared"])
        self._adios = self._bindings.ADIOS()
        self._engines: list[Any] = []
        self._ios: list[Any] = []
        alone = len(described["streams"]) == 1
        for number, name in enumerate(described["streams"]):
            io = self._adios.DeclareIO(f"uzushio.{number}")
            io.SetEngine(_KINDS[described["kind"]])
            # Several streams would not skip to the same step.
            latest = described["latest"] and alone and described["kind"] == "sst"
            io.SetParameters({"OpenTimeoutSecs": f"{attach_limit:g}"})
            if latest:
                io.SetParameters({"AlwaysProvideLatestTimestep": "true"})
            try:
                engine = io.Open(str(contact.parent / name), self._bindings.Mode.Read)
            except Exception as error:
                raise PeerGone(
                    f"No writer answered at {contact.parent / name} within {attach_limit:g} s: "
                    f"{_first_line(error)}"
                ) from error
            self._ios.append(io)
            self._engines.append(engine)
        self._at: list[int | None] = [None] * len(self._engines)
        self._numbers: dict[tuple[int, int], int] = {}
        self._step: Any = None

    def _advance(self, least: int, deadline: float) -> Literal["step", "timeout", "ended"]:
        """Go on until all streams are at one step, of at least this number."""
        status = self._bindings.StepStatus
        while True:
            for number, engine in enumerate(self._engines):
                at = self._at[number]
                if at is not None and at >= least:
                    continue
                if at is not None:
                    engine.EndStep()
                    self._at[number] = None
                begun = self._begin(engine, deadline)
                if begun == status.NotReady:
                    return "timeout"
                if begun == status.EndOfStream:
                    return "ended"
                if begun != status.OK:
                    raise PeerGone("The writer is gone: ADIOS2 could not begin its next step.")
                self._at[number] = self._sequence(number)
                least = max(least, self._at[number] or 0)
            if all(at == least for at in self._at):
                return "step"

    def _begin(self, engine: Any, deadline: float) -> Any:
        """Begin the next step of one stream; only look, and sleep here.

        With a time limit of its own SST may end the process (ADIOS2's issue 1862).
        """
        pause = 1e-4
        while True:
            begun = engine.BeginStep(self._bindings.StepMode.Read, 0.0)
            left = deadline - time.monotonic()
            if begun != self._bindings.StepStatus.NotReady or left <= 0.0:
                return begun
            time.sleep(min(pause, left))
            pause = min(2.0 * pause, 0.01)

    def _sequence(self, number: int) -> int:
        return int(self._get(number, _SEQUENCE, np.int64, 0)[0])

    def _get(self, number: int, name: str, dtype: Any, block: int) -> np.ndarray:
        """The whole of a small 1-D block, now."""
        variable = self._ios[number].InquireVariable(name)
        if not variable:
            self._not_ours()
        variable.SetBlockSelection(block)
        values = np.empty(variable.SelectionSize(), dtype)
        self._engines[number].Get(variable, values.ctypes.data, self._bindings.Mode.Sync)
        return values

    def _not_ours(self) -> NoReturn:
        raise StagingError("This ADIOS2 stream was not written by Uzushio: it has no table.")

    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        """Wait for a step (rank 0)."""
        arrival = self._advance(0, time.monotonic() + limit)
        if arrival != "step":
            return arrival
        return self._get(0, _ANNOUNCE, np.uint8, 0).tobytes()

    def begin(self, sequence: int, step: Any) -> None:
        """Go on to the step that rank 0 is at."""
        if self._at[0] != sequence:
            if self._advance(sequence, time.monotonic() + 60.0) == "timeout":
                raise PeerSilent(f"Step {sequence} did not reach all ranks of the reader.")
            if any(at != sequence for at in self._at):
                raise StagingError(f"Step {sequence} is not there for all ranks of the reader.")
        self._step = step
        self._numbers = _numbers(step, self._shared)

    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        """Read pieces; ADIOS2 knows no time limit."""
        late: list[tuple[np.ndarray, np.ndarray]] = []
        used = set()
        blocks = self._step.blocks if wanted else []
        names = [field[0] for field in self._step.fields] if wanted else []
        for rank, block, array, (start, count), first, components, to in wanted:
            stream = 0 if self._shared else rank
            name = names[blocks[block][5][array][0]]
            variable = self._ios[stream].InquireVariable(name)
            if not variable:
                self._not_ours()
            variable.SetBlockSelection(self._numbers[block, array])
            variable.SetSelection(([*start, first], [*count, components]))
            packed = to if to.flags.c_contiguous else np.empty(to.shape, to.dtype)
            if packed is not to:
                late.append((to, packed))
            mode = self._bindings.Mode.Deferred
            self._engines[stream].Get(variable, packed.ctypes.data, mode)
            used.add(stream)
        for stream in used:
            self._engines[stream].PerformGets()
        for to, packed in late:
            to[...] = packed

    def end(self, sequence: int) -> None:
        """This rank is done with the step; ADIOS2 counts ranks by itself."""
        self._step = None
        for number, engine in enumerate(self._engines):
            if self._at[number] is not None:
                engine.EndStep()
                self._at[number] = None

    def release(self, sequence: int) -> None:
        """Nothing is left to do after `end`."""

    def close(self) -> None:
        """Leave."""
        for engine in self._engines:
            engine.Close()
        self._engines.clear()


def _numbers(step: Any, shared: bool) -> dict[tuple[int, int], int]:
    """ADIOS2's number of each (block, array) among those of its field, in the order of puts."""
    vertex = {place for place, field in enumerate(step.fields) if field[2] == "vertex"}
    numbers: dict[tuple[int, int], int] = {}
    seen: Counter[tuple[int, int]] = Counter()
    for place, (_, rank, _, elements, vertices, arrays) in enumerate(step.blocks):
        for number, (field, lower, upper, _) in enumerate(arrays):
            owned = vertices if field in vertex else elements
            stored = (n + a + b for n, a, b in zip(owned[1], lower, upper, strict=True))
            if min(stored) > 0:  # an array without values is not put
                key = (0 if shared else rank, field)
                numbers[place, number] = seen[key]
                seen[key] += 1
    return numbers


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
