"""An array that lies on many ranks in boxes, and its values on their way to who wants them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.staging.box import Box

if TYPE_CHECKING:
    from mpi4py import MPI

#: Bytes that one rank receives at a time where everything goes to it.
SLAB = 64 << 20
_TAG = 71


def common(one: Box, other: Box) -> Box | None:
    """The indices that both boxes have; None if there are none."""
    start = tuple(map(max, one.start, other.start))
    count = tuple(min(a, b) - s for a, b, s in zip(one.stop, other.stop, start, strict=True))
    return Box(start, count) if min(count) > 0 else None  # type: ignore[arg-type]


class Spread:
    """Which boxes of one array each rank holds.

    Made once, collectively; after that every rank knows what any other one has, and only values
    travel. Where boxes overlap, the lowest rank's values count, on all ranks.
    """

    def __init__(self, comm: MPI.Comm, boxes: Sequence[Box]) -> None:
        """Tell all ranks what this one has (collective).

        Args:
            comm: the ranks; the object keeps it, and does not free it.
            boxes: that this rank holds, none or many.
        """
        self.comm = comm
        self.table: list[list[Box]] = comm.allgather(list(boxes))

    @property
    def mine(self) -> list[Box]:
        """The boxes of this rank."""
        return self.table[self.comm.rank]

    def exchange(
        self,
        values: Sequence[np.ndarray],
        wanted: Sequence[Sequence[Box]],
        dtype: np.dtype[Any],
        components: tuple[int, ...] = (),
    ) -> list[np.ndarray]:
        """Bring values to the ranks that want them (collective).

        Args:
            values: of the boxes of this rank, (z, y, x) and `components`, any strides.
            wanted: for each rank, the boxes that it wants; all ranks give the same.
            dtype: of the values.
            components: the shape of one value, () for a number.

        Returns:
            The arrays that this rank wanted. What nobody has is NaN, or 0 in whole numbers.
        """
        comm, rank = self.comm, self.comm.rank
        out = [_empty(box, dtype, components) for box in wanted[rank]]
        requests, landed = [], []
        for source in reversed(range(comm.size)):  # so that the lowest rank is put last
            for held in reversed(self.table[source]) if source != rank else ():
                for box, array in zip(wanted[rank], out, strict=True):
                    if (both := common(held, box)) is not None:
                        memory = np.empty((*both.count, *components), dtype)
                        requests.append(comm.Irecv(_bytes(memory), source, _TAG))
                        landed.append((source, array[both.slices(box.start)], memory))
        for target, boxes in enumerate(wanted):
            if target == rank:
                continue
            for held, have in zip(reversed(self.mine), reversed(values), strict=True):
                for box in boxes:
                    if (both := common(held, box)) is not None:
                        piece = np.ascontiguousarray(have[both.slices(held.start)], dtype)
                        requests.append(comm.Isend(_bytes(piece), target, _TAG))
        own = [
            (rank, array[both.slices(box.start)], have[both.slices(held.start)])
            for held, have in zip(reversed(self.mine), reversed(values), strict=True)
            for box, array in zip(wanted[rank], out, strict=True)
            if (both := common(held, box)) is not None
        ]
        for request in requests:
            request.Wait()
        for _, place, found in sorted([*landed, *own], key=lambda one: -one[0]):
            place[...] = found
        return out

    def slabs(
        self,
        values: Sequence[np.ndarray],
        whole: Box,
        dtype: np.dtype[Any],
        components: tuple[int, ...] = (),
        limit: int = SLAB,
    ) -> Iterator[tuple[Box, np.ndarray | None]]:
        """Bring a whole box to rank 0, a few planes of it at a time (collective, to its end).

        Yields:
            Slabs of `whole` along its first axis that has several indices, in order, of at most
            `limit` bytes or one index; with their values on rank 0, and None on the others.
        """
        axis = next((a for a in range(3) if whole.count[a] > 1), 0)
        each = int(np.prod(whole.count)) // whole.count[axis]
        each *= int(np.prod(components, initial=1)) * dtype.itemsize
        thickness = max(1, limit // max(each, 1))
        for first in range(0, whole.count[axis], thickness):
            start, count = list(whole.start), list(whole.count)
            start[axis] += first
            count[axis] = min(thickness, whole.count[axis] - first)
            slab = Box(tuple(start), tuple(count))  # type: ignore[arg-type]
            wanted = [[slab], *([] for _ in range(self.comm.size - 1))]
            arrays = self.exchange(values, wanted, dtype, components)
            yield slab, arrays[0] if arrays else None


def _empty(box: Box, dtype: np.dtype[Any], components: tuple[int, ...]) -> np.ndarray:
    nothing = np.nan if np.issubdtype(dtype, np.inexact) else 0
    return np.full((*box.count, *components), nothing, dtype)


def _bytes(array: np.ndarray) -> list[Any]:
    from mpi4py import MPI

    return [array, array.nbytes, MPI.BYTE]
