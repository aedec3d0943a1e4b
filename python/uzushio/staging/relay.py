"""Pass a stream on from the network of its writer to that of its readers: `uzushio relay`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio import _core

if TYPE_CHECKING:
    from mpi4py import MPI

#: Bytes that a relay holds at most, unless told otherwise.
MEMORY = 64 << 20


@dataclass(frozen=True)
class RelayOptions:
    """Between whom, and how.

    Attributes:
        source: contact file of the writer (or of a relay), or its "host:port".
        target: contact file to be written, for readers (or relays).
        secret: of a source given as host:port, in hexadecimal.
        source_tls: whether a source given as host:port uses TLS.
        listen: address to listen on for readers; 0.0.0.0 or :: for all.
        port: of rank 0, the next ones after it; 0: any that is free.
        advertise: name that readers are told; empty: `listen`, or the host's.
        tls: TLS 1.3 towards readers.
        memory: bytes held at most for each rank, in buffers of the system too.
        once: end with the writer, rather than wait for the next one.
        wait: seconds to wait for the writer, with `once`.
    """

    source: str
    target: Path
    secret: str = ""
    source_tls: bool = False
    listen: str = "127.0.0.1"
    port: int = 0
    advertise: str = ""
    tls: bool = False
    memory: int = MEMORY
    once: bool = False
    wait: float = 60.0


@dataclass(frozen=True)
class RelayStatus:
    """What one rank of a relay does.

    Attributes:
        stream: name of the last writer's stream; empty: there was none yet.
        readers: attached now; counted on rank 0.
        connections: of readers, joined now.
        passed: bytes towards readers since the start.
        held: bytes, now.
        most_held: bytes, so far.
    """

    stream: str
    readers: int
    connections: int
    passed: int
    held: int
    most_held: int


class Relay:
    """A relay, which has written its contact; `run` serves.

    Collective over `comm`, whose ranks must all see a source that is a file. Its rank 0 takes the
    readers in; data of rank w of the writer goes through rank w modulo their number.

    Raises:
        StagingError: it cannot listen, or cannot write its contact.
    """

    def __init__(self, options: RelayOptions, comm: MPI.Comm | None = None) -> None:
        self._core = _core.staging.Relay(
            options.source,
            os.fspath(options.target),
            None if comm is None else comm.handle,
            secret=options.secret,
            from_tls=options.source_tls,
            listen=options.listen,
            port=options.port,
            advertise=options.advertise,
            tls=options.tls,
            bytes=options.memory,
            once=options.once,
            wait=options.wait,
        )

    def run(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Serve until `go_on`, which is asked ten times a second, says no; or as configured.

        Raises:
            PeerGone: on rank 0, with `once`, if no writer came in time.
        """
        self._core.run(go_on)

    def status(self) -> RelayStatus:
        """From `go_on`, or when `run` has returned."""
        return RelayStatus(**self._core.status())


class Progress:
    """Says every few seconds what a relay does."""

    def __init__(self, say: Callable[[str], None], every: float) -> None:
        self._say = say
        self._every = every
        self._time = time.monotonic()
        self._passed = 0

    def look(self, status: RelayStatus) -> None:
        """To be called often."""
        now = time.monotonic()
        if now - self._time < self._every:
            return
        rate = (status.passed - self._passed) / (now - self._time)
        self._say(describe(status, rate))
        self._time, self._passed = now, status.passed


def describe(status: RelayStatus, rate: float) -> str:
    """One line: stream, readers, rate (bytes per second), bytes held."""
    stream = f'stream "{status.stream}"' if status.stream else "no writer yet"
    return (
        f"{stream}, {status.readers} readers, {status.connections} connections, "
        f"{rate / 1e9:.2f} GB/s, {status.held / 2**20:.1f} MiB held "
        f"(at most {status.most_held / 2**20:.1f})"
    )
