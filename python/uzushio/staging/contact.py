"""Stream to attach to, with the arguments that its user gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uzushio.staging.reader import Reader, attach

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Contact:
    """Stream to attach to: arguments of `staging.attach`.

    Attributes:
        contact: contact file, folder of stored steps, or host:port.
        stream: expected name of the stream; empty: any.
        wait: timeout of the writer, seconds.
        secret: for "host:port".
        tls: for "host:port".
        verify: whether to check checksums, as `staging.attach`.
    """

    contact: str
    stream: str = ""
    wait: float = 60.0
    secret: str = ""
    tls: bool = False
    verify: bool | None = None

    def attach(
        self, comm: MPI.Comm, limit: float | None = None, *, latest_only: bool = False
    ) -> Reader:
        """Attach within `limit` seconds, by default `wait` (collective)."""
        return attach(
            self.contact,
            comm,
            stream=self.stream,
            attach_limit=self.wait if limit is None else limit,
            secret=self.secret,
            tls=self.tls,
            verify=self.verify,
            latest_only=latest_only,
        )
