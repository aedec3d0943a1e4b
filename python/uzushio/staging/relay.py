"""Relay of a stream from the writer's network to the readers' network: `uzushio relay`."""

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

#: Default maximum of the bytes that a relay holds.
DEFAULT_MEMORY = 64 << 20


@dataclass(frozen=True)
class RelayOptions:
    """Options of a relay.

    Attributes:
        source: contact file of the writer (or of a relay), or its "host:port".
        target: contact file to write, for readers (or relays).
        secret: hexadecimal secret of a source given as host:port.
        source_tls: whether a source given as host:port uses TLS.
        listen: address to listen on for readers; 0.0.0.0 or :: for all.
        port: port of rank 0, the following ones for other ranks; 0: any free ports.
        advertise: host name for readers; empty: `listen`, or the host's name.
        tls: TLS 1.3 towards readers.
        memory: maximum bytes held by each rank, including buffers of the system.
        once: end with the writer instead of waiting for the next one.
        wait: timeout for the writer, with `once`, seconds.
    """

    source: str
    target: Path
    secret: str = ""
    source_tls: bool = False
    listen: str = "127.0.0.1"
    port: int = 0
    advertise: str = ""
    tls: bool = False
    memory: int = DEFAULT_MEMORY
    once: bool = False
    wait: float = 60.0


@dataclass(frozen=True)
class RelayStatus:
    """State of one rank of a relay.

    Attributes:
        stream: name of the last writer's stream; empty before the first writer.
        readers: number of attached readers; counted on rank 0.
        connections: number of spliced connections.
        passed: bytes sent towards readers since the start.
        held: bytes held now.
        max_held: maximum of the bytes held.
    """

    stream: str
    readers: int
    connections: int
    passed: int
    held: int
    max_held: int


class Relay:
    """Relay whose contact file is written; `run` serves readers.

    Collective over `comm`; a source that is a file must be readable on all ranks. Rank 0 accepts
    the readers; data of rank w of the writer pass through rank w modulo the number of ranks.

    Raises:
        StagingError: the relay cannot listen, or cannot write its contact file.
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
        """Serve until `go_on`, called ten times a second, returns False, or as configured.

        Raises:
            PeerGone: on rank 0, with `once`: no writer attached within `wait` seconds.
        """
        self._core.run(go_on)

    def status(self) -> RelayStatus:
        """Return the state; call it from `go_on`, or after `run`."""
        return RelayStatus(**self._core.status())


class RelayProgress:
    """Progress lines of a relay, one every few seconds."""

    def __init__(self, say: Callable[[str], None], every: float) -> None:
        self._say = say
        self._every = every
        self._time = time.monotonic()
        self._passed = 0

    def update(self, status: RelayStatus) -> None:
        """Print a line if the interval is over; call it often."""
        now = time.monotonic()
        if now - self._time < self._every:
            return
        rate = (status.passed - self._passed) / (now - self._time)
        self._say(describe(status, rate))
        self._time, self._passed = now, status.passed


def describe(status: RelayStatus, rate: float) -> str:
    """Format one line: stream, readers, rate (bytes per second), bytes held."""
    stream = f'stream "{status.stream}"' if status.stream else "no writer yet"
    return (
        f"{stream}, {status.readers} readers, {status.connections} connections, "
        f"{rate / 1e9:.2f} GB/s, {status.held / 2**20:.1f} MiB held "
        f"(at most {status.max_held / 2**20:.1f})"
    )
