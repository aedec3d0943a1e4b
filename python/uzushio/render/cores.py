"""Sharing of a node's cores: ranks with little to draw lend theirs to the others.

Visible data may be on few ranks: in a channel decomposed along z, the vortices of one wall are on
one rank. While it draws, the other ranks of the node sleep, and it uses their cores too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from uzushio._base.parallel.sync import poll
from uzushio.errors import RenderError
from uzushio.raycast import default_threads

if TYPE_CHECKING:
    from mpi4py import MPI

#: Maximum seconds between two polls of a waiting rank.
POLL_INTERVAL = 5e-5
#: Maximum wait of a rank, seconds.
TIMEOUT = 600.0


class CoreSharing:
    """Cores of this rank's node, shared by its ranks; the constructor is collective."""

    def __init__(self, comm: MPI.Comm) -> None:
        from mpi4py import MPI

        self._node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self._own = _allowed()
        self._all = set[int]().union(*self._node.allgather(self._own))
        self._threads = [default_threads()] * self._node.size
        self._started = 1  # threads that exist and may run on any core of the node

    def close(self) -> None:
        """Free the node's communicator (collective)."""
        self._node.Free()

    @property
    def count(self) -> int:
        """Number of cores of all ranks of this node."""
        return max(1, len(self._all))

    def thread_count(self, work: float) -> int:
        """Divide the node's cores among its ranks by work (collective on the node).

        Args:
            work: expected work of this rank, in a unit that is the same on all ranks.

        Returns:
            Number of threads for this rank, at least its own.
        """
        works = self._node.allgather(work)
        own, total = default_threads(), sum(works)
        self._threads = [
            max(own, min(self.count, round(self.count * each / total))) if total > 0 else own
            for each in works
        ]
        return self._threads[self._node.rank]

    @property
    def any_lent(self) -> bool:
        """Whether any rank of this node has more threads than its own."""
        return max(self._threads) > default_threads()

    @contextmanager
    def on_all_cores(self, threads: int) -> Iterator[None]:
        """Start threads in the block with an affinity to all cores of the node."""
        if threads <= self._started or self._own == self._all:
            yield
            return
        self._started = threads
        with suppress(OSError):  # not permitted: they share this rank's cores
            os.sched_setaffinity(0, self._all)
        try:
            yield
        finally:
            with suppress(OSError):
                os.sched_setaffinity(0, self._own)

    @contextmanager
    def waiting_at_end(self) -> Iterator[None]:
        """Run the block, then sleep until all ranks of the node have finished it.

        Raises:
            RenderError: timed out after `TIMEOUT` seconds.
        """
        try:
            yield
        finally:
            if self._node.size > 1:
                self._wait()

    def _wait(self) -> None:
        if not poll(self._node.Ibarrier().Test, TIMEOUT, POLL_INTERVAL):
            raise RenderError(
                f"a rank of this node has not finished drawing within {TIMEOUT:g} s of "
                f"another, rank {self._node.rank} of the node; find the cause, and run again."
            )


def _allowed() -> set[int]:
    """Return the cores that this thread may run on; empty if the system does not provide them."""
    if not hasattr(os, "sched_getaffinity"):
        return set()
    return os.sched_getaffinity(0)
