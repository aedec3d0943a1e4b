"""Steps for the live view: those of a running stream as they come, any step of a stored one."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Literal

from uzushio._base.parallel.sync import on_root
from uzushio.errors import StagingError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.contact import Contact
    from uzushio.staging.reader import Reader
    from uzushio.staging.step import Step

State = Literal["waiting", "live", "lost", "ended", "stored"]
#: Seconds between two attempts to attach again, and their timeout: nothing is drawn meanwhile.
_RETRY_INTERVAL, _RETRY_LIMIT = 2.0, 0.2
#: Timeout of attaching after a new contact file was written.
_ATTACH_LIMIT = 5.0
#: Timeout of reading a stored step, seconds.
_STORED_LIMIT = 10.0
#: Seconds between two searches for stored steps that a run adds.
_LIST_INTERVAL = 1.0
#: Number of intervals between steps in the rate.
_RATE_STEPS = 10


class Steps(ABC):
    """Steps of a stream; all methods are collective.

    Attributes:
        state: state of the link to the stream.
        text: sentence on the state, "" if there is nothing to say.
        stored: numbers and times of the stored steps, increasing; empty for a running stream.
        connection: number of the connection to a running stream; None while there is none.
        writer: number of the writer of the newest step: another one is another run, or a restart.
    """

    state: State = "waiting"
    text = ""
    stored: tuple[tuple[int, float], ...] = ()
    connection: int | None = None
    writer = 1

    @abstractmethod
    def poll(self) -> Step | None:
        """Return a newer step, if there is one, without waiting; `release` it after use."""

    @abstractmethod
    def release(self) -> None:
        """Release the step."""

    def fetch(self, index: int) -> Step | None:
        """Return a stored step by its number, None if there is none; `release` it after use."""
        del index
        return None

    @abstractmethod
    def lose(self, error: StagingError) -> None:
        """Note that the stream failed while a step was read."""

    def send(self, text: str) -> int:
        """Send a command, as `Reader.send` (rank 0); call it while there is a connection."""
        raise StagingError("There is no connection to a running stream.")

    def take_replies(self) -> dict[int, str]:
        """Return the replies to commands since the last call, by number (rank 0)."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Detach; the last call."""


def open_steps(contact: Contact, comm: MPI.Comm) -> Steps:
    """Attach to a stream (collective).

    Raises:
        StagingError: no writer answered within `contact.wait`, or the contact is of another stream.
    """
    reader = contact.attach(comm, latest_only=True)
    stored = on_root(comm, lambda: reader.stored_steps() is not None)
    return StoredSteps(reader, comm) if stored else LiveSteps(contact, comm, reader)


class LiveSteps(Steps):
    """Newest steps of a running stream.

    A lost stream is no error: the ranks attach again as soon as there is a writer. They attach with
    `latest_only`: each step is the newest one at its time, under every queue policy.
    """

    def __init__(self, contact: Contact, comm: MPI.Comm, reader: Reader) -> None:
        self._contact, self._comm = contact, comm
        self._reader: Reader | None = reader
        self._attached_to = self._identity()
        self._tried = time.monotonic()
        self._sequence: int | None = None
        self._newest: int | None = None  # sequence number of the newest step of all connections
        self._new_file = False  # whether the contact file is a new one since that step
        self._arrivals: deque[tuple[float, int]] = deque(maxlen=_RATE_STEPS + 1)
        self._attachments = 1
        self.connection = self._attachments
        self._last_replies: dict[int, str] = {}  # of a connection that has ended
        self.dropped = 0  #: steps that the writer published and this reader did not get

    @property
    def rate(self) -> float | None:
        """Steps per second that arrive; None before the second step."""
        if len(self._arrivals) < 2:
            return None
        return (len(self._arrivals) - 1) / max(1e-9, self._arrivals[-1][0] - self._arrivals[0][0])

    @property
    def seconds_per_step(self) -> float | None:
        """Seconds for a step of the solver; None before the second published one."""
        if len(self._arrivals) < 2:
            return None
        (first, start), (last, stop) = self._arrivals[0], self._arrivals[-1]
        return (last - first) / (stop - start) if stop > start else None

    @property
    def age(self) -> float | None:
        """Seconds since the newest step arrived."""
        return time.monotonic() - self._arrivals[-1][0] if self._arrivals else None

    def poll(self) -> Step | None:
        """Return the newest step if it is new; attach again if the stream was lost."""
        if self._reader is None and not self._attach_again():
            return None
        assert self._reader is not None
        try:
            step = self._reader.next(0)
        except StagingError as error:
            self.lose(error)
            return None
        if step is None:
            if self._reader.ended:
                self._detach("ended", "The writer has ended the stream.")
            return None
        if self._sequence is not None:
            self.dropped += step.sequence - self._sequence - 1
        if self._new_file or (self._newest is not None and step.sequence <= self._newest):
            self.writer += 1
        self._sequence = self._newest = step.sequence
        self._new_file = False
        self._arrivals.append((time.monotonic(), step.index))
        self.state, self.text = "live", ""
        return step

    def release(self) -> None:
        """Release the step; the writer may have ended meanwhile."""
        try:
            if self._reader is not None:
                self._reader.release()
        except StagingError as error:
            self.lose(error)

    def lose(self, error: StagingError) -> None:
        """Detach from a writer that has failed or ended."""
        self._detach("lost", f"{str(error).rstrip('.')}.")

    def send(self, text: str) -> int:
        """Send a command (rank 0)."""
        if self._reader is None:
            return super().send(text)
        return self._reader.send(text)

    def take_replies(self) -> dict[int, str]:
        """Return the replies of this connection, and of one that has ended since (rank 0)."""
        replies, self._last_replies = self._last_replies, {}
        return replies if self._reader is None else replies | self._reader.take_replies()

    def close(self) -> None:
        """Detach from the stream."""
        self._detach(self.state, self.text)

    def _detach(self, state: State, text: str) -> None:
        reader, self._reader = self._reader, None
        self.state, self.text, self._tried = state, text, time.monotonic()
        self._sequence, self.connection = None, None
        if reader is not None:
            if self._comm.rank == 0:
                self._last_replies = reader.take_replies()
            try:
                reader.detach()
            except StagingError:
                return  # the writer has ended

    def _attach_again(self) -> bool:
        """Attach if a writer may be there; return whether it was."""
        before, limit = self._attached_to, 0.0
        if self._comm.rank == 0:
            limit = self._time_for_attempt()
        limit, new_file = self._comm.bcast((limit, self._attached_to != before))
        self._new_file |= new_file
        if not limit:
            return False
        try:
            self._reader = self._contact.attach(self._comm, limit, latest_only=True)
        except StagingError:
            self._tried = time.monotonic()
            return False
        self._attached_to = self._identity()
        self._attachments += 1
        self.connection = self._attachments
        self._arrivals.clear()
        return True

    def _time_for_attempt(self) -> float:
        """Return the timeout of an attempt to attach now; 0 for none (rank 0)."""
        identity = self._identity()
        if identity is not None and identity != self._attached_to:
            self._attached_to = identity  # once for each file
            return _ATTACH_LIMIT
        missing = identity is None and ":" not in self._contact.contact
        if missing or time.monotonic() - self._tried < _RETRY_INTERVAL:
            return 0.0
        return _RETRY_LIMIT

    def _identity(self) -> tuple[int, int] | None:
        """Return a key that differs between contact files of two writers; None without a file."""
        try:
            status = os.stat(os.path.expanduser(self._contact.contact))
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns


class StoredSteps(Steps):
    """Any step of a folder of stored steps, also while a run adds to it."""

    def __init__(self, reader: Reader, comm: MPI.Comm) -> None:
        self._comm, self._reader = comm, reader
        self._sequences: dict[int, int] = {}  # by index
        self._listed, self._newest = -_LIST_INTERVAL, -1
        self.state = "stored"

    def poll(self) -> Step | None:
        """Return the last step, if the run has stored one since the last call."""
        steps = self._comm.bcast(self._list() if self._comm.rank == 0 else [])
        if not steps:
            return None
        self._sequences = {index: sequence for sequence, index, _ in steps}
        self.stored = tuple(sorted((index, moment) for _, index, moment in steps))
        before, self._newest = self._newest, steps[-1][0]
        return None if self._newest == before else self._step(self._newest)

    def fetch(self, index: int) -> Step | None:
        """Return the stored step of a number; None if there is none."""
        sequence = self._sequences.get(index)
        return None if sequence is None else self._step(sequence)

    def release(self) -> None:
        """Release the step."""
        self._reader.release()

    def lose(self, error: StagingError) -> None:
        """Keep the reader: other steps may be readable."""

    def close(self) -> None:
        """Detach."""
        self._reader.detach()

    def _step(self, sequence: int) -> Step | None:
        self._reader.seek(sequence)
        step = self._reader.next(_STORED_LIMIT)
        if step is not None and step.sequence != sequence:  # it was removed meanwhile
            self._reader.release()
            return None
        return step

    def _list(self) -> list[tuple[int, int, float]]:
        """Return the stored steps; none if they were listed a moment ago (rank 0)."""
        now = time.monotonic()
        if now - self._listed < _LIST_INTERVAL:
            return []
        self._listed = now
        try:
            return self._reader.stored_steps() or []
        except StagingError:
            return []  # they were removed meanwhile, or one is damaged
