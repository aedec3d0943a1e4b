"""Engine `adios2`, the reader: the steps of an SST stream, or of BP5 files, through ADIOS2.

What ADIOS2 may wait for without end (the writer, when a stream is opened or values are fetched) is
done by another thread for each stream, so that a limit ends the wait. A writer with MPI has one
stream, else one a rank; a step is there when all of them are at its number.

Ranks of a reader that read SST together are one reader for ADIOS2, which then begins and ends steps
on all of them at once; that takes MPI. Of BP5 each rank is a reader of its own.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uzushio.errors import PeerGone, PeerSilent, StagingError
from uzushio.staging.adios2_engine import ANNOUNCE, KINDS, SEQUENCE, read_contact, require_threads
from uzushio.staging.adios2_library import Status, Stream, library
from uzushio.staging.engines import Piece, Source
from uzushio.staging.lane import Job, Lane

if TYPE_CHECKING:
    from mpi4py import MPI

#: Seconds between attempts to open what leads nowhere yet.
_AGAIN = 0.2
#: Seconds more than a limit that a look at what is there may take.
_GRACE = 0.1


class Adios2Source(Source):
    """Reads a stream through ADIOS2; `attach_limit` and `answer_limit` in seconds."""

    def __init__(
        self,
        contact: Path,
        comm: MPI.Comm | None,
        attach_limit: float,
        stream: str,
        answer_limit: float = 60.0,
    ) -> None:
        self._answer_limit = answer_limit
        self._team: MPI.Comm | None = None
        self._lanes: list[Lane] = []
        self._streams: list[Stream] = []
        deadline = time.monotonic() + attach_limit
        while True:
            described = _describe(contact, stream)
            self._sst = described["kind"] == "sst"
            self._shared = bool(described["shared"])
            if self._sst and comm is not None and comm.size > 1:
                _require_mpi(comm)
                self._team = self._team or comm.Dup()
            self.collective = self._team is not None
            try:
                self._open(contact, described, deadline)
                break
            except StagingError as error:
                # A contact that a dead writer left behind leads nowhere until it is replaced.
                left = deadline - time.monotonic()
                if not self._agreed(left > _AGAIN and self._sst):
                    raise PeerGone(
                        f"No writer answered at {contact} within {attach_limit:g} s: {error}"
                    ) from error
                time.sleep(_AGAIN)
        self._at: list[int | None] = [None] * len(self._streams)
        self._beginning: list[Job | None] = [None] * len(self._streams)
        self._announced = b""
        self._numbers: dict[tuple[int, int], int] = {}
        self._step: Any = None
        self._memory = np.empty(0, np.uint8)

    # ---- opening and asking -----------------------------------------------------------------

    def _agreed(self, holds: bool) -> bool:
        """What rank 0 says, where ranks go together."""
        return holds if self._team is None else bool(self._team.bcast(holds))

    def _open(self, contact: Path, described: dict[str, Any], deadline: float) -> None:
        """Open all streams at once: a writer lets in who waits when it ends a step."""
        parameters = {}
        if self._sst:
            left = max(1, int(deadline - time.monotonic()))
            # Each rank pulls what it wants, and gets nothing else.
            parameters = {"OpenTimeoutSecs": str(left), "SpeculativePreloadMode": "Off"}
        kind = KINDS[described["kind"]]

        def opener(path: Path) -> Callable[[], Stream]:
            return lambda: Stream(path, kind, parameters, self._team, write=False)

        names = described["streams"]
        self._lanes = [Lane(f"uzushio-adios2-{n}") for n in range(len(names))]
        jobs = [
            lane.submit(opener(contact.parent / name), late=Stream.close)
            for lane, name in zip(self._lanes, names, strict=True)
        ]
        opened, failure = _results(jobs, deadline)
        failed = failure is not None
        if self._team is not None:
            failed = any(self._team.allgather(failed))
        if failed:
            for lane, found in zip(self._lanes, opened, strict=True):
                if found is not None:
                    lane.submit(found.close)
                lane.close()
            raise failure or StagingError("another rank of the reader was not let in")
        self._streams = [found for found in opened if found is not None]

    def _do(self, number: int, work: Callable[[], Any], limit: float) -> Any:
        """Have one stream's thread do something.

        Raises:
            PeerSilent: it takes longer.
        """
        try:
            return self._lanes[number].call(work, limit)
        except TimeoutError:
            raise PeerSilent(f"The writer did not answer ADIOS2 within {limit:g} s.") from None

    # ---- steps ------------------------------------------------------------------------------

    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        """Wait for a step."""
        arrival = self._advance(0, time.monotonic() + limit)
        return self._announced if arrival == "step" else arrival

    def _advance(self, least: int, deadline: float) -> Literal["step", "timeout", "ended"]:
        """Go on until all streams are at one step, of at least this number."""
        while True:
            for number in range(len(self._streams)):
                at = self._at[number]
                if at is not None and at >= least:
                    least = at
                    continue
                if at is not None:
                    self._end(number)
                arrival = self._begin(number, deadline)
                if arrival != "step":
                    return arrival
                least = max(least, self._at[number] or 0)
            if all(at == least for at in self._at):
                return "step"

    def _begin(self, number: int, deadline: float) -> Literal["step", "timeout", "ended"]:
        """Begin the next step of one stream. An attempt that outlasts the limit goes on."""
        beginning = self._beginning[number]
        if beginning is None:
            beginning = self._lanes[number].submit(lambda: self._look(number, deadline))
        if not beginning.wait(deadline - time.monotonic() + _GRACE):
            self._beginning[number] = beginning
            return "timeout"
        self._beginning[number] = None
        status, self._at[number] = beginning.result(0.0)
        if status == "failed":
            raise PeerGone("The writer is gone: ADIOS2 could not begin its next step.")
        if status == "ok":
            return "step"
        return "ended" if status == "ended" else "timeout"

    def _look(self, number: int, deadline: float) -> tuple[Status, int | None]:
        """Wait for a step of one stream, and get its number and table."""
        stream, pause = self._streams[number], 1e-4
        while True:
            # With a limit of its own SST may end the process (ADIOS2's issue 1862). With none it
            # waits all the same, if what is there is but the news of a dropped step.
            status = stream.begin_step(0.0)
            left = deadline - time.monotonic()
            if status != "not ready" or not self._agreed(left > 0.0):
                break
            time.sleep(max(0.0, min(pause, left)))
            pause = min(2.0 * pause, 0.01)
        if status != "ok":
            return status, None
        with self._or_gone():
            if number == 0:
                self._announced = stream.get_all(ANNOUNCE, 0, np.uint8).tobytes()
            return status, int(stream.get_all(SEQUENCE, 0, np.int64)[0])

    def begin(self, sequence: int, step: Any) -> None:
        """Go on to the step that rank 0 is at."""
        if self._at[0] != sequence:
            if self._advance(sequence, time.monotonic() + self._answer_limit) == "timeout":
                raise PeerSilent(f"Step {sequence} did not reach all ranks of the reader.")
            if any(at != sequence for at in self._at):
                raise StagingError(f"Step {sequence} is not there for all ranks of the reader.")
        self._step = step
        self._numbers = _numbers(step, self._shared)

    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        """Read pieces."""
        blocks = self._step.blocks if wanted else []
        names = [field[0] for field in self._step.fields] if wanted else []
        into = self._places(wanted)
        asked: dict[int, list[tuple[Any, ...]]] = {}
        for piece, place in zip(wanted, into, strict=True):
            rank, block, array, (start, count), first, components, _ = piece
            name = names[blocks[block][5][array][0]]
            box = (*start, first), (*count, components)
            asked.setdefault(0 if self._shared else rank, []).append(
                (name, self._numbers[block, array], *box, place)
            )

        def getter(number: int) -> Callable[[], None]:
            stream = self._streams[number]

            def get() -> None:
                with self._or_gone():
                    for request in asked[number]:
                        stream.get(*request)
                    stream.perform_gets()

            return get

        deadline = time.monotonic() + limit
        jobs = [self._lanes[number].submit(getter(number)) for number in asked]
        try:
            for job in jobs:
                job.result(deadline - time.monotonic())
        except TimeoutError:
            self._memory = np.empty(0, np.uint8)  # ADIOS2 may still write to what there was
            raise PeerSilent(
                f"The writer's values did not come through ADIOS2 within {limit:g} s."
            ) from None
        for piece, place in zip(wanted, into, strict=True):
            if place is not piece[-1]:
                piece[-1][...] = place

    def _places(self, wanted: list[Piece]) -> list[np.ndarray]:
        """Where ADIOS2 writes each piece to: contiguous.

        For SST it is not the caller's memory, which may be gone when a writer that was stopped
        goes on.
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
    def _or_gone(self) -> Iterator[None]:
        """What fails over SST does so because the writer is gone."""
        try:
            yield
        except StagingError as error:
            if not self._sst or "not written by Uzushio" in str(error):
                raise
            raise PeerGone(f"The writer is gone: {error}") from error

    def _end(self, number: int) -> None:
        self._do(number, self._streams[number].end_step, self._answer_limit)
        self._at[number] = None

    def end(self, sequence: int) -> None:
        """This rank is done with the step; ADIOS2 counts ranks by itself."""
        self._step = None
        for number in range(len(self._streams)):
            if self._at[number] is not None:
                self._end(number)

    def release(self, sequence: int) -> None:
        """Nothing is left to do after `end`."""

    def close(self) -> None:
        """Leave; a stream whose writer does not answer is left to its thread."""
        jobs = [
            lane.submit(stream.close)
            for lane, stream in zip(self._lanes, self._streams, strict=True)
        ]
        deadline = time.monotonic() + 5.0
        for job in jobs:
            job.wait(deadline - time.monotonic())
        for lane in self._lanes:
            lane.close()
        self._streams, self._lanes = [], []


def _describe(contact: Path, stream: str) -> dict[str, Any]:
    """What a contact file, or a folder of BP5's, leads to; raises `StagingError`."""
    described = read_contact(contact) or {
        "stream": "",
        "kind": "bp5",
        "streams": [contact.name],
        "shared": True,
    }
    if stream and described["stream"] not in ("", stream):
        raise StagingError(
            f"{contact} leads to the stream {described['stream']!r}, not to {stream!r}."
        )
    return described


def _require_mpi(comm: MPI.Comm) -> None:
    if not library().has_mpi:
        raise StagingError(
            f"A reader of {comm.size} ranks over SST takes an ADIOS2 with MPI, and this one has "
            "none: build it with make adios2, read with one rank, or choose another engine."
        )
    require_threads(comm)


def _results(jobs: list[Job], deadline: float) -> tuple[list[Stream | None], StagingError | None]:
    """What opening brought, and the first thing that went wrong."""
    opened: list[Stream | None] = []
    failure: StagingError | None = None
    for job in jobs:
        found: Stream | None = None
        try:
            found = job.result(deadline - time.monotonic())
        except TimeoutError:
            failure = failure or PeerSilent("it does not let the reader in, or is stopped.")
        except StagingError as error:
            failure = failure or error
        opened.append(found)
    return opened, failure


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
