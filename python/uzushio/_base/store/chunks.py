"""Regular chunks of an array, and the rank that writes each of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby, product
from pathlib import Path

import numpy as np

from uzushio.domain.box import Box, union

#: Maximum bytes that a rank receives at a time, or one chunk if that is larger.
MAX_BYTES = 16 << 20


def consolidate(path: Path) -> None:
    """Copy the metadata of all arrays of a group into one file, without which xarray warns."""
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr warns that its specification lacks this
        zarr.consolidate_metadata(str(path))


class ChunkGrid:
    """Regular chunks of an array."""

    def __init__(self, shape: Sequence[int], chunk: Sequence[int]) -> None:
        """Set the extents of the array and of a chunk, which may be larger."""
        self.shape = tuple(shape)
        self.chunk = tuple(max(1, min(n, c)) for n, c in zip(shape, chunk, strict=True))

    @property
    def indices(self) -> Iterator[tuple[int, ...]]:
        """Indices of all chunks."""
        return self.within(Box((0,) * len(self.shape), self.shape))

    def within(self, box: Box) -> Iterator[tuple[int, ...]]:
        """Return the indices of the chunks that a box overlaps."""
        return product(*self._ranges(box))

    def box(self, index: Sequence[int], chunks: int = 1) -> Box:
        """Return the box of a chunk, or of several that follow each other along the first axis."""
        start = tuple(i * n for i, n in zip(index, self.chunk, strict=True))
        extent = (chunks * self.chunk[0], *self.chunk[1:])
        ends = zip(self.shape, start, extent, strict=True)
        return Box(start, tuple(min(n, whole - s) for whole, s, n in ends))

    def owned(
        self,
        table: Sequence[Sequence[Box]],
        value_bytes: int,
        covered: bool = False,
        every: bool = False,
    ) -> list[list[Box]]:
        """Assign each chunk to the rank with its largest share, the lowest of several.

        Args:
            table: boxes of each rank.
            value_bytes: size of a value.
            covered: whether the boxes must cover the array once.
            every: whether rank 0 gets the chunks of which no rank has values.

        Returns:
            For each rank, boxes of its chunks, of at most `MAX_BYTES` or one chunk.

        Raises:
            ValueError: the boxes do not cover the array once.
        """
        whole = Box((0,) * len(self.shape), self.shape)
        sizes = self._shares(whole, whole)
        owner, most, total = (np.full_like(sizes, value) for value in (-1, 0, 0))
        for rank, own in enumerate(table):
            boxes = [box for box in own if box.size]
            if not boxes:
                continue
            around = reduce(union, boxes)
            shares = np.sum([self._shares(box, around) for box in boxes], axis=0)
            region = tuple(slice(r.start, r.stop) for r in self._ranges(around))
            total[region] += shares
            larger = shares > most[region]
            owner[region][larger], most[region][larger] = rank, shares[larger]
        if covered and not np.array_equal(total, sizes):
            raise ValueError(f"the ranks' boxes do not make up the array of shape {self.shape}")
        if every:
            owner[owner < 0] = 0
        each = max(1, MAX_BYTES // (int(np.prod(self.chunk)) * value_bytes))
        owned: list[list[Box]] = [[] for _ in table]
        for across in np.ndindex(*owner.shape[1:]):
            column = owner[(slice(None), *across)].tolist()
            for rank, same in groupby(range(len(column)), key=column.__getitem__):
                run = [*same] if rank >= 0 else []
                for first in run[::each]:
                    chunks = min(each, run[-1] + 1 - first)
                    owned[rank].append(self.box((first, *across), chunks))
        return owned

    def _ranges(self, box: Box) -> list[range]:
        """Return the range of chunks along each axis that a box overlaps."""
        ends = zip(box.start, box.stop, self.chunk, strict=True)
        return [range(start // n, -(-stop // n)) for start, stop, n in ends]

    def _shares(self, box: Box, around: Box) -> np.ndarray:
        """Return how many values of a box each chunk of the larger box `around` has."""
        lengths = []
        for axis, indices in enumerate(self._ranges(around)):
            first = self.chunk[axis] * np.array(indices, int)
            last = np.minimum(first + self.chunk[axis], box.stop[axis])
            lengths.append(np.maximum(last - np.maximum(first, box.start[axis]), 0))
        return np.asarray(reduce(np.multiply.outer, lengths))
