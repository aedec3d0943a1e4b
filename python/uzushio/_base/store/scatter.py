"""Values that one rank each reads, sent to the ranks that need them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.store.chunks import ChunkGrid
from uzushio._base.store.distribution import BoxTable, Distribution, as_bytes
from uzushio.domain.box import Box

if TYPE_CHECKING:
    from mpi4py import MPI

_TAG = 72

_THREADS = 4  #: that read chunks

#: Reads the values of a chunk, given by its index, into some bytes of memory.
ChunkReader = Callable[[tuple[int, ...], np.ndarray], np.ndarray]


class Scatter:
    """Chunks, each read by one rank in the whole job, and copied to all boxes that need a part.

    The reader of a chunk is the rank that needs the largest part of it. A rank holds the chunks of
    two rounds, of at most `MAX_BYTES` or one chunk each, and the parts that it sends or receives.
    Chunks that no rank needs are not read.
    """

    def __init__(
        self, comm: MPI.Comm, grid: ChunkGrid, boxes: Sequence[Box], dtype: np.dtype[Any]
    ) -> None:
        """Assign the chunks (collective).

        Args:
            comm: the ranks.
            grid: chunks of the array.
            boxes: boxes that this rank needs.
            dtype: type of the stored values.
        """
        self._comm, self._grid, self._dtype = comm, grid, np.dtype(dtype)
        needed = Distribution(comm, boxes)
        self._owned = grid.owned(needed.table, self._dtype.itemsize)
        self._needed, self._mine = BoxTable(needed.table), BoxTable([needed.own_boxes])

    def run(self, read: ChunkReader, parts: Sequence[np.ndarray]) -> None:
        """Read this rank's chunks, and fill the parts (collective).

        Threads read the chunks of the next round during the messages of a round. A rank whose
        `read` fails sends zeros, so that no rank waits for it.

        Args:
            read: reads a chunk, in a thread.
            parts: arrays of the boxes that this rank needs.

        Raises:
            Exception: the first failure of `read`, on this rank alone.
        """
        failure: Exception | None = None
        rounds = max(map(len, self._owned))
        own = [[*self._chunks(self._comm.rank, number)] for number in range(rounds)]
        nbytes = math.prod(self._grid.chunk) * self._dtype.itemsize
        memory = np.empty((2, max(map(len, own), default=0), nbytes), np.uint8)
        with ThreadPoolExecutor(_THREADS) as pool:

            def start(number: int) -> list[Future[np.ndarray]]:
                indices = own[number] if number < rounds else []
                return [*map(pool.submit, repeat(read), indices, memory[number % 2])]

            ahead = start(0)
            for number in range(rounds):
                chunks, reading, ahead = {}, ahead, start(number + 1)
                for index, values in zip(own[number], reading, strict=True):
                    try:
                        chunks[index] = values.result()
                    except Exception as error:
                        failure = failure or error
                        chunks[index] = np.zeros(self._grid.box(index).count, self._dtype)
                self._exchange(number, chunks, parts)
        if failure is not None:
            raise failure

    def _chunks(self, rank: int, number: int) -> Iterator[tuple[int, ...]]:
        """Yield the indices of the chunks that a rank reads in a round."""
        owned = self._owned[rank]
        return self._grid.within(owned[number]) if number < len(owned) else iter(())

    def _exchange(
        self,
        number: int,
        chunks: dict[tuple[int, ...], np.ndarray],
        parts: Sequence[np.ndarray],
    ) -> None:
        """Copy the chunks of a round to the parts of all ranks."""
        from mpi4py import MPI

        own, requests, incoming = self._comm.rank, [], []
        for source, owned in enumerate(self._owned):
            if source == own or number >= len(owned):
                continue
            if not any(True for _ in self._mine.overlaps(owned[number])):
                continue
            pieces = [
                piece
                for index in self._chunks(source, number)
                for piece in self._mine.overlaps(self._grid.box(index))
            ]
            message = np.empty(sum(part.size for *_, part in pieces), self._dtype)
            requests.append(self._comm.Irecv(as_bytes(message), source, _TAG))
            incoming.append((pieces, message))
        outgoing: dict[int, list[np.ndarray]] = {}
        for index, values in chunks.items():
            chunk = self._grid.box(index)
            for rank, place, part in self._needed.overlaps(chunk):
                if rank == own:
                    self._put(parts, place, part, values[part.slices(chunk.start)])
                else:
                    piece = values[part.slices(chunk.start)].reshape(-1)
                    outgoing.setdefault(rank, []).append(piece)
        for rank, sent in outgoing.items():
            requests.append(self._comm.Isend(as_bytes(np.concatenate(sent)), rank, _TAG))
        MPI.Request.Waitall(requests)
        for pieces, message in incoming:
            end = 0
            for _, place, part in pieces:
                begin, end = end, end + part.size
                self._put(parts, place, part, message[begin:end].reshape(part.count))

    def _put(self, parts: Sequence[np.ndarray], place: int, part: Box, values: np.ndarray) -> None:
        box = self._mine.box(place)
        parts[place][part.slices(box.start)] = values
