"""Array distributed over ranks in boxes, and its redistribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from uzushio.domain.box import Box, intersection

if TYPE_CHECKING:
    from mpi4py import MPI

_TAG = 71
_ALIGNMENT = 64  #: of arrays in scratch memory, in bytes


class Distribution:
    """Boxes of an array on each rank.

    Made collectively; afterwards every rank has the boxes of all ranks, and only values are
    exchanged. Where boxes overlap, the values of the lowest rank are used.
    """

    def __init__(
        self, comm: MPI.Comm, boxes: Sequence[Box] = (), table: Sequence[list[Box]] | None = None
    ) -> None:
        """Exchange the boxes of all ranks (collective).

        Args:
            comm: the ranks; referenced, not freed.
            boxes: boxes of this rank, zero or more.
            table: boxes of all ranks, if they are known already; then nothing is exchanged.
        """
        self.comm = comm
        self.table = comm.allgather(list(boxes)) if table is None else [*table]

    @property
    def own_boxes(self) -> list[Box]:
        """Boxes of this rank."""
        return self.table[self.comm.rank]


#: Number of a box of the source, and the part of it that is sent.
_Piece: TypeAlias = tuple[int, Box]


@dataclass
class _Round:
    """Requested box of this rank, and pieces that it receives and sends, by rank."""

    box: Box | None = None
    received: dict[int, list[_Piece]] = field(default_factory=dict)
    sent: dict[int, list[_Piece]] = field(default_factory=dict)


class Transfer:
    """Redistribution of values to the boxes that ranks request, one box of each rank in a round.

    The constructor allocates all memory and does not communicate: where it fails on one rank, no
    other rank waits. A rank sends one message a round to each rank that needs its values.
    """

    def __init__(
        self,
        distribution: Distribution,
        values: Sequence[np.ndarray],
        wanted: Sequence[Sequence[Box]],
        dtype: np.dtype[Any],
        components: tuple[int, ...] = (),
        covered: bool = False,
    ) -> None:
        """Plan the messages of all rounds.

        Args:
            distribution: boxes of the values.
            values: arrays of this rank's boxes, with `components` as last axes, any strides.
            wanted: for each rank, the boxes that it requests; the same on all ranks.
            dtype: type of the values.
            components: shape of one value, () for a scalar.
            covered: whether ranks have a value for each index.
        """
        self._covered = covered
        self._comm, self._held = distribution.comm, distribution.own_boxes
        self._values, self._dtype, self._components = values, np.dtype(dtype), components
        self._rounds = [_Round(box) for box in wanted[self._comm.rank]]
        self._rounds += [_Round() for _ in range(max(map(len, wanted)) - len(self._rounds))]
        held = BoxTable(distribution.table)
        for this_round in self._rounds:
            for rank, number, overlap in held.overlaps(this_round.box):
                this_round.received.setdefault(rank, []).append((number, overlap))
        requests = BoxTable(wanted)
        for number, box in enumerate(self._held):
            for rank, place, overlap in requests.overlaps(box):
                if rank != self._comm.rank:
                    self._rounds[place].sent.setdefault(rank, []).append((number, overlap))
        self._scratch = Scratch(max(map(self._scratch_bytes, self._rounds), default=0))

    def run(self) -> Iterator[tuple[Box, np.ndarray]]:
        """Yield this rank's requested boxes with values, valid until the next box (collective).

        Every rank must exhaust the iterator, or others wait. Values are NaN (0 for integers) where
        no rank has a value.
        """
        for this_round in self._rounds:
            self._scratch.clear()
            messages = self._exchange(this_round)
            if this_round.box is not None:
                values = self._view(this_round)
                yield (
                    this_round.box,
                    self._joined(this_round, this_round.box, messages)
                    if values is None
                    else values,
                )

    def _view(self, this_round: _Round) -> np.ndarray | None:
        """Return the requested values without a copy if they are those of one own box."""
        own = this_round.received.get(self._comm.rank, [])
        if len(this_round.received) > 1 or len(own) != 1 or own[0][1] != this_round.box:
            return None
        values = self._own(*own[0])
        return values if values.dtype == self._dtype else None

    def _exchange(self, this_round: _Round) -> dict[int, np.ndarray]:
        """Send and receive the messages of a round; returns the received ones by rank."""
        from mpi4py import MPI

        requests, messages = [], {}
        for source, pieces in this_round.received.items():
            if source != self._comm.rank:
                messages[source] = self._message(pieces)
                requests.append(self._comm.Irecv(as_bytes(messages[source]), source, _TAG))
        for target, pieces in this_round.sent.items():
            message, end = self._message(pieces), 0
            for number, overlap in pieces:
                begin, end = end, end + overlap.size
                message[begin:end].reshape(self._shape(overlap))[...] = self._own(number, overlap)
            requests.append(self._comm.Isend(as_bytes(message), target, _TAG))
        MPI.Request.Waitall(requests)
        return messages

    def _joined(
        self, this_round: _Round, box: Box, messages: Mapping[int, np.ndarray]
    ) -> np.ndarray:
        """Return the values of a requested box, put together from its pieces."""
        values = self._scratch.take(self._shape(box), self._dtype)
        if not self._covered:
            values[...] = np.nan if np.issubdtype(self._dtype, np.inexact) else 0
        for source in sorted(this_round.received, reverse=True):  # the lowest rank is written last
            end = sum(overlap.size for _, overlap in this_round.received[source])
            for number, overlap in reversed(this_round.received[source]):
                place = values[overlap.slices(box.start)]
                if source == self._comm.rank:
                    place[...] = self._own(number, overlap)
                    continue
                begin = end - overlap.size
                place[...] = messages[source][begin:end].reshape(place.shape)
                end = begin
        return values

    def _own(self, number: int, part: Box) -> np.ndarray:
        """Return a part of the values of an own box."""
        return self._values[number][part.slices(self._held[number].start)]

    def _shape(self, box: Box) -> tuple[int, ...]:
        return (*box.count, *self._components)

    def _message(self, pieces: Sequence[_Piece]) -> np.ndarray:
        """Return memory for the values of pieces, one after the other."""
        size = sum(overlap.size for _, overlap in pieces)
        return self._scratch.take((size, *self._components), self._dtype)

    def _scratch_bytes(self, this_round: _Round) -> int:
        """Return an upper bound of the memory of a round in bytes."""
        received = [
            pieces for rank, pieces in this_round.received.items() if rank != self._comm.rank
        ]
        sizes = [
            sum(overlap.size for _, overlap in pieces)
            for pieces in [*received, *this_round.sent.values()]
        ]
        sizes += (
            [this_round.box.size]
            if this_round.box is not None and self._view(this_round) is None
            else []
        )
        each = self._dtype.itemsize * math.prod(self._components)
        return sum(size * each + _ALIGNMENT for size in sizes)


def receive_all(transfer: Transfer, take: Callable[[Box, np.ndarray], object]) -> None:
    """Pass each requested box to `take` (collective).

    A rank whose `take` fails receives the rest nevertheless, so that no rank waits for it.

    Raises:
        Exception: the first failure of `take`, on this rank alone.
    """
    failure: Exception | None = None
    for box, values in transfer.run():
        try:
            if failure is None:
                take(box, values)
        except Exception as error:
            failure = error
    if failure is not None:
        raise failure


class Scratch:
    """Memory for arrays of one round after the other."""

    def __init__(self, size: int) -> None:
        self._memory, self._used = np.empty(size, np.uint8), 0

    def clear(self) -> None:
        """Release all arrays."""
        self._used = 0

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an array without values."""
        size = math.prod(shape) * dtype.itemsize
        view = self._memory[self._used : self._used + size].view(dtype).reshape(shape)
        self._used += -(-size // _ALIGNMENT) * _ALIGNMENT
        return view


class BoxTable:
    """Boxes of all ranks, for a fast search of those that overlap a box."""

    def __init__(self, boxes: Sequence[Sequence[Box]]) -> None:
        self._boxes = [
            (rank, number, box)
            for rank, own in enumerate(boxes)
            for number, box in enumerate(own)
            if box.size
        ]
        self._by_number = {number: box for _, number, box in self._boxes}
        self._starts = np.array([box.start for *_, box in self._boxes])
        self._stops = np.array([box.stop for *_, box in self._boxes])

    def box(self, place: int) -> Box:
        """Return a box of the only rank, by its number."""
        return self._by_number[place]

    def overlaps(self, box: Box | None) -> Iterator[tuple[int, int, Box]]:
        """Yield rank, number and intersection of each box that overlaps `box`, in order."""
        if box is None or not box.size or not self._boxes:
            return
        overlapping = ((self._starts < box.stop) & (self._stops > box.start)).all(axis=1)
        for place in np.flatnonzero(overlapping):
            rank, number, other = self._boxes[place]
            yield rank, number, intersection(other, box)


def as_bytes(array: np.ndarray) -> list[Any]:
    """Return an array as the buffer of a message."""
    from mpi4py import MPI

    return [array, array.nbytes, MPI.BYTE]
