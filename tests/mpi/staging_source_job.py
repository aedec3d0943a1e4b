"""Two ranks read from a user-defined source that is collective.

python staging_source_job.py
"""

from __future__ import annotations

from typing import Literal

from mpi4py import MPI

from uzushio import _core
from uzushio.errors import PeerGone
from uzushio.staging.engines import Piece, Source
from uzushio.staging.reader import Reader

world = MPI.COMM_WORLD


class Together(Source):
    """Two steps without fields; the third attempt fails on the last rank alone."""

    collective = True

    def __init__(self) -> None:
        self.asked = 0

    def next(self, limit: float) -> bytes | Literal["timeout", "ended"]:
        self.asked += 1
        assert world.allreduce(self.asked) == world.size * self.asked, "all are asked at once"
        if self.asked == 3 and world.rank == world.size - 1:
            raise PeerGone("The writer is gone.")
        return bytes(_core.staging.announce(self.asked, _core.staging.merge([])))

    def fetch(self, sequence: int, wanted: list[Piece], limit: float) -> None:
        raise AssertionError("there is nothing to read")

    def release(self, sequence: int) -> None:
        assert world.rank == 0


source = Together()
with Reader.with_source(source, world) as reader:
    for _ in range(2):
        assert reader.next(10.0) is not None
    try:
        reader.next(10.0)
    except PeerGone as error:
        world.Barrier()
        if world.rank == 0:
            print("all heard:", error)
