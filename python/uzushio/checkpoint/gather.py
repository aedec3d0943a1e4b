"""Bring whole planes of a distributed array together on one rank, a few at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uzushio.solver import DistributedArray

if TYPE_CHECKING:
    from mpi4py import MPI

#: Bytes that a rank may hold beside the solver's arrays, or two planes if those are larger.
BUDGET = 32 * 2**20
_TAG = 7101


@dataclass(frozen=True)
class Box:
    """A rank's part of an array: index of its first element, and its extents."""

    start: tuple[int, ...]
    extent: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.extent)

    @property
    def planes(self) -> tuple[int, int]:
        """The range of the first axis."""
        return self.start[0], self.start[0] + self.extent[0]


def boxes_of(array: DistributedArray, comm: MPI.Comm) -> list[Box]:
    """The boxes of all ranks, checked to make up the array in groups of equal planes."""
    boxes: list[Box] = comm.allgather(Box(tuple(array.start), array.data.shape))
    filled = [box for box in boxes if box.size]
    if sum(box.size for box in filled) != math.prod(array.shape):
        raise ValueError(f"the ranks' boxes do not make up the array of shape {array.shape}")
    ranges = sorted({box.planes for box in filled})
    for (_, end), (start, _) in pairwise(ranges):
        if start < end:
            raise ValueError("ranks must share all of their planes (first axis) or none")
    return boxes


class Gatherer:
    """Gathers planes on the first rank of each group that shares them, within `BUDGET`."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm
        self._scratch: dict[str, np.ndarray] = {}

    def reserve(self, array: DistributedArray, boxes: list[Box]) -> None:
        """Take the memory that `planes` needs, so that no rank runs out of it halfway."""
        mine = boxes[self._comm.rank]
        group = self._group(mine, boxes) if mine.size else []
        if len(group) < 2:
            return
        count = min(self._planes_at_once(array), mine.extent[0])
        if self._comm.rank == group[0]:
            self._buffer("whole", (count, *array.shape[1:]), array.data.dtype)
        largest = max(boxes[rank].size // mine.extent[0] for rank in group)
        self._buffer("piece", (count, largest), array.data.dtype)

    @staticmethod
    def _group(mine: Box, boxes: list[Box]) -> list[int]:
        """The ranks that share planes, the writer first."""
        return [rank for rank, box in enumerate(boxes) if box.size and box.planes == mine.planes]

    def planes(self, array: DistributedArray, boxes: list[Box]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (index of the first plane, whole planes) on the writer, nothing elsewhere.

        Every rank must exhaust the iterator, else others wait. The planes are valid until the next
        ones are asked for.
        """
        mine = boxes[self._comm.rank]
        if not mine.size:
            return
        group = self._group(mine, boxes)
        count = self._planes_at_once(array)
        for first in range(0, mine.extent[0], count):
            part = slice(first, min(first + count, mine.extent[0]))
            if self._comm.rank != group[0]:
                self._comm.Send(self._copy(array.data[part]), group[0], _TAG)
            elif len(group) == 1:
                yield mine.start[0] + first, array.data[part]
            else:
                yield mine.start[0] + first, self._together(array, part, group, boxes)

    def _together(
        self, array: DistributedArray, part: slice, group: list[int], boxes: list[Box]
    ) -> np.ndarray:
        """Put the group's pieces of some planes side by side."""
        extent = part.stop - part.start
        whole = self._buffer("whole", (extent, *array.shape[1:]), array.data.dtype)
        for rank in group:
            box = boxes[rank]
            if rank == self._comm.rank:
                piece = array.data[part]
            else:
                piece = self._buffer("piece", (extent, *box.extent[1:]), array.data.dtype)
                self._comm.Recv(piece.reshape(-1).view(np.uint8), rank, _TAG)
            across = zip(box.start[1:], box.extent[1:], strict=True)
            whole[(slice(None), *(slice(s, s + e) for s, e in across))] = piece
        return whole

    def _copy(self, values: np.ndarray) -> np.ndarray:
        """The values' bytes, contiguous."""
        if not values.flags.c_contiguous:
            copy = self._buffer("piece", values.shape, values.dtype)
            copy[...] = values
            values = copy
        return values.reshape(-1).view(np.uint8)

    def _buffer(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A view of a buffer that is kept and grows when it must."""
        size = math.prod(shape) * dtype.itemsize
        held = self._scratch.get(name)
        if held is None or held.size < size:
            held = self._scratch[name] = np.empty(size, np.uint8)
        return held[:size].view(dtype).reshape(shape)

    @staticmethod
    def _planes_at_once(array: DistributedArray) -> int:
        plane = math.prod(array.shape[1:]) * array.data.dtype.itemsize
        return max(1, BUDGET // (2 * max(1, plane)))
