"""Array distributed over ranks in boxes, and its redistribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.domain.box import Box, intersection

if TYPE_CHECKING:
    from mpi4py import MPI

#: Maximum bytes that rank 0 receives at a time when it gathers a whole array.
MAX_SLAB_BYTES = 64 << 20
_TAG = 71


class Distribution:
    """Boxes of an array on each rank.

    Made collectively; afterwards every rank has the boxes of all ranks, and only values are
    exchanged. Where boxes overlap, the values of the lowest rank are used.
    """

    def __init__(self, comm: MPI.Comm, boxes: Sequence[Box]) -> None:
        """Exchange the boxes of all ranks (collective).

        Args:
            comm: the ranks; referenced, not freed.
            boxes: boxes of this rank, zero or more.
        """
        self.comm = comm
        self.table: list[list[Box]] = comm.allgather(list(boxes))

    @property
    def own_boxes(self) -> list[Box]:
        """Boxes of this rank."""
        return self.table[self.comm.rank]

    def exchange(
        self,
        values: Sequence[np.ndarray],
        wanted: Sequence[Sequence[Box]],
        dtype: np.dtype[Any],
        components: tuple[int, ...] = (),
    ) -> list[np.ndarray]:
        """Redistribute values to the requested boxes (collective).

        Args:
            values: arrays of this rank's boxes, (z, y, x) and `components`, any strides.
            wanted: for each rank, the boxes that it requests; the same on all ranks.
            dtype: type of the values.
            components: shape of one value, () for a scalar.

        Returns:
            The arrays that this rank requested; NaN (0 for integers) where no rank has a value.
        """
        comm, rank = self.comm, self.comm.rank
        out = [_empty(box, dtype, components) for box in wanted[rank]]
        requests, landed = [], []
        for source in reversed(range(comm.size)):  # the lowest rank is written last
            for held in reversed(self.table[source]) if source != rank else ():
                for box, array in zip(wanted[rank], out, strict=True):
                    if (both := intersection(held, box)).size:
                        memory = np.empty((*both.count, *components), dtype)
                        requests.append(comm.Irecv(_bytes(memory), source, _TAG))
                        landed.append((source, array[both.slices(box.start)], memory))
        for target, boxes in enumerate(wanted):
            if target == rank:
                continue
            for held, have in zip(reversed(self.own_boxes), reversed(values), strict=True):
                for box in boxes:
                    if (both := intersection(held, box)).size:
                        piece = np.ascontiguousarray(have[both.slices(held.start)], dtype)
                        requests.append(comm.Isend(_bytes(piece), target, _TAG))
        own = [
            (rank, array[both.slices(box.start)], have[both.slices(held.start)])
            for held, have in zip(reversed(self.own_boxes), reversed(values), strict=True)
            for box, array in zip(wanted[rank], out, strict=True)
            if (both := intersection(held, box)).size
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
        limit: int = MAX_SLAB_BYTES,
    ) -> Iterator[tuple[Box, np.ndarray | None]]:
        """Gather a whole box on rank 0 in slabs (collective until the last slab).

        Yields:
            Slabs of `whole` along its first axis with several indices, in order, of at most
            `limit` bytes or one index; with values on rank 0, and None on the others.
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
