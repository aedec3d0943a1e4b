"""Cores of a node, lent by ranks that have nothing to draw to those that have.

What is to be seen lies where it lies: in a channel cut along z, the vortices of one wall are one
rank's. While that draws, the others of its node sleep, and it draws with their cores too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from uzushio.errors import RenderError
from uzushio.raycast import default_threads

if TYPE_CHECKING:
    from mpi4py import MPI

#: Seconds between two looks of a rank that sleeps.
NAP = 5e-5
#: Seconds that a rank sleeps at most; those in which the whole job is suspended do not count, so
#: one look counts so many at most.
LIMIT, _SLICE = 600.0, 1.0


class Cores:
    """Those of this rank's node; made collectively."""

    def __init__(self, comm: MPI.Comm) -> None:
        from mpi4py import MPI

        self._node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self._own = _allowed()
        self._all = set[int]().union(*self._node.allgather(self._own))
        self._threads = [default_threads()] * self._node.size
        self._started = 1  # threads that exist, and may run anywhere on the node

    @property
    def count(self) -> int:
        """Cores that the ranks of this node have together."""
        return max(1, len(self._all))

    def share(self, work: float) -> int:
        """Divide the node's cores among its ranks (collective on the node).

        Args:
            work: what this rank is about to do, in any unit that is the same on all ranks.

        Returns:
            Threads for this rank: its own at least.
        """
        works = self._node.allgather(work)
        own, total = default_threads(), sum(works)
        self._threads = [
            max(own, min(self.count, round(self.count * each / total))) if total > 0 else own
            for each in works
        ]
        return self._threads[self._node.rank]

    @property
    def lent(self) -> bool:
        """Whether any rank of this node has more threads than its own."""
        return max(self._threads) > default_threads()

    @contextmanager
    def anywhere(self, threads: int) -> Iterator[None]:
        """A block in which so many threads are started, which may run on any core of the node."""
        if threads <= self._started or self._own == self._all:
            yield
            return
        self._started = threads
        with suppress(OSError):  # as when it may not: then they share this rank's cores
            os.sched_setaffinity(0, self._all)
        try:
            yield
        finally:
            with suppress(OSError):
                os.sched_setaffinity(0, self._own)

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """A block after which ranks wait for the others of their node without using their core.

        Raises:
            RenderError: the others have not come within `LIMIT` seconds.
        """
        try:
            yield
        finally:
            if self._node.size > 1:
                self._wait()

    def _wait(self) -> None:
        request = self._node.Ibarrier()
        waited, last = 0.0, time.monotonic()
        while not request.Test():
            time.sleep(NAP)
            now = time.monotonic()
            waited, last = waited + min(now - last, _SLICE), now
            if waited > LIMIT:
                raise RenderError(
                    f"a rank of this node has not finished drawing within {LIMIT:g} s of another, "
                    f"rank {self._node.rank} of the node; see what it waits for, and run again."
                )


def _allowed() -> set[int]:
    """Cores that this thread may run on; none where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return set()
    return os.sched_getaffinity(0)
