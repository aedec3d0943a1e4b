"""Gaussian noise that depends on the point and the step, and not on the decomposition.

Each number is a function of (seed, stream, step, row, column), with rows counted through all
planes: the counter of Philox (J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
SC 2011) is set to the stream, row and column, its key to seed and step. The method of Box and
Muller (1958) converts pairs of uniform numbers to normal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

#: Numbers of 64 bits for each value of Philox's counter.
_EACH = 4
_UNIT = 2.0**-53
#: Numbers per call of Philox: the temporaries stay in the cache.
_BLOCK = 16384


class Stream(NamedTuple):
    """Stream of random numbers of a seed, independent of other streams.

    Attributes:
        member: member of an ensemble, from 1; 0 for a twin's own observations.
        of: quantity to which the noise is added.
    """

    member: int
    of: Literal["observations", "state", "parameters"]

    @property
    def words(self) -> tuple[int, int]:
        """Return the words of the counter that do not depend on points."""
        return self.member, ("observations", "state", "parameters").index(self.of)


#: Stream of a twin's observations.
TWIN = Stream(0, "observations")


def normal(
    seed: int,
    step: int,
    shape: tuple[int, ...],
    own: tuple[slice, ...],
    stream: Stream = TWIN,
) -> np.ndarray:
    """Return standard normal numbers on a part of a grid.

    Args:
        seed: seed of the noise.
        step: step of the model.
        shape: shape of the whole grid, of one or more axes.
        own: the part of each axis.
        stream: stream of the seed.

    Returns:
        An array of the shape of the part. A point has the same number in any part.
    """
    *above, rows = own[:-1] or (slice(0, 1),)
    height = shape[-2] if len(shape) > 1 else 1
    made = [
        _rows(seed, step, shape[-1], slice(first + rows.start, first + rows.stop), own[-1], stream)
        for first in _first_rows(above, shape[:-2], height)
    ]
    if len(shape) == 2:
        return made[0]
    planes = [part.stop - part.start for part in own[:-1]]
    return np.reshape(made, (*planes, -1))


def _first_rows(above: Sequence[slice], counts: Sequence[int], height: int) -> np.ndarray:
    """Return the first row of each plane of a part, if rows of all planes are counted."""
    if not above:
        return np.zeros(1, dtype=np.int64)
    indices = np.meshgrid(*(np.arange(part.start, part.stop) for part in above), indexing="ij")
    return np.ravel_multi_index([index.reshape(-1) for index in indices], tuple(counts)) * height


def _rows(
    seed: int, step: int, width: int, rows: slice, columns: slice, stream: Stream
) -> np.ndarray:
    """Return the numbers of some rows, each of `width` points, and columns."""
    out = np.empty((rows.stop - rows.start, columns.stop - columns.start))
    # A value of the counter gives numbers 4k … 4k + 3 of a row.
    first = columns.start // _EACH
    count = -(-columns.stop // _EACH) - first
    of_row = -(-width // _EACH)
    # Whole rows are contiguous in the counter; several are computed at once.
    together = max(1, _BLOCK // (of_row * _EACH)) if count == of_row else 1
    key = np.array([seed, step], dtype=np.uint64)
    skip = columns.start - first * _EACH
    for row in range(rows.start, rows.stop, together):
        some = min(together, rows.stop - row)
        counter = np.array([row * of_row + first, *stream.words, 0], dtype=np.uint64)
        raw = np.random.Philox(key=key, counter=counter).random_raw(some * count * _EACH)
        made = _box_muller(raw).reshape(some, -1)
        out[row - rows.start : row - rows.start + some] = made[:, skip : skip + out.shape[1]]
    return out


def _box_muller(raw: np.ndarray) -> np.ndarray:
    """Return normal numbers from pairs of 64 random bits."""
    uniform = ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * _UNIT
    radius, angle = np.sqrt(-2.0 * np.log(uniform[0::2])), 2.0 * np.pi * uniform[1::2]
    out = np.empty(raw.size)
    out[0::2], out[1::2] = radius * np.cos(angle), radius * np.sin(angle)
    return out
