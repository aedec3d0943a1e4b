"""Arrays that the ranks of a job hold together, and states made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uzushio._base.array_values import unmasked
from uzushio.domain.box import Box


@dataclass(frozen=True)
class DistributedArray:
    """This rank's parts of an array that the ranks of a job hold together.

    Attributes:
        shape: global shape.
        dtype: type of the values, the same on all ranks.
        parts: start and values of each box that this rank holds, if any. A start has one global
            index per axis. Values may be strided; they are views, valid until the next step. The
            boxes of all ranks cover the array once.
        dims: names of the axes for xarray; none if not known.
        chunks: extents of a chunk in a store, one per axis; planes of the first axis if not given.
            One rank writes a chunk.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parts: Sequence[tuple[tuple[int, ...], np.ndarray]]
    dims: tuple[str, ...] = ()
    chunks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for values in self.values:
            unmasked(values, "a part of an array")

    @property
    def boxes(self) -> list[Box]:
        """Boxes of the parts."""
        return [Box(tuple(start), values.shape) for start, values in self.parts]

    @property
    def values(self) -> list[np.ndarray]:
        """Values of the parts."""
        return [values for _, values in self.parts]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class State:
    """Distributed arrays, and small values equal on all ranks, from which a solver continues.

    `attributes` is plain JSON (numbers round-trip exactly; strings, lists, dicts). `coordinates`
    are those of axes by name, whole, for xarray; no restart needs them.
    """

    arrays: Mapping[str, DistributedArray]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    coordinates: Mapping[str, np.ndarray] = field(default_factory=dict)


#: Reads the box [start, start + shape) of the stored array `name`; raises `CheckpointError`.
BoxReader = Callable[[str, tuple[int, ...], tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class StoredState:
    """State in a checkpoint, for `Solver.restore`; any number of ranks reads it.

    `read` reads a box on this rank alone. `fill_parts` reads for all ranks together, which then
    read each chunk once in the whole job; None: each rank reads its parts.
    """

    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, Any]
    read: BoxReader
    fill_parts: Callable[[str, DistributedArray], None] | None = None

    def fill(self, name: str, array: DistributedArray) -> None:
        """Read the parts of an array of the same shape, on all ranks (collective).

        Raises:
            CheckpointError: on all ranks.
        """
        if self.fill_parts is not None:
            self.fill_parts(name, array)
            return
        for start, values in array.parts:
            values[...] = self.read(name, start, values.shape)
