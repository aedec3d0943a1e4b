"""Gaussian noise that belongs to a point and a step, whichever rank asks for it.

Each number is a function of (seed, stream, step, row, column): the counter of Philox (J. K. Salmon
et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011) is set to the stream, row and column,
its key to seed and step; Box and Muller (1958) make pairs of uniform numbers normal.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

#: Numbers of 64 bits that Philox makes for each value of its counter.
_EACH = 4
_UNIT = 2.0**-53
#: Numbers made at once: their temporaries stay in the cache.
_BLOCK = 16384


class Stream(NamedTuple):
    """What of a seed's numbers are for: no number of a stream is that of another one.

    Attributes:
        member: of an ensemble, from 1; 0 for a twin's own observations.
        of: what the noise is added to.
    """

    member: int
    of: Literal["observations", "state", "parameters"]

    @property
    def words(self) -> tuple[int, int]:
        """The words of the counter that the points leave."""
        return self.member, ("observations", "state", "parameters").index(self.of)


#: Of a twin's observations.
TWIN = Stream(0, "observations")


def normal(
    seed: int,
    step: int,
    shape: tuple[int, int],
    own: tuple[slice, slice],
    stream: Stream = TWIN,
) -> np.ndarray:
    """Standard normal numbers on a part of a grid.

    Args:
        seed: which noise.
        step: of the model.
        shape: rows and columns of the whole grid.
        own: rows and columns of the part.
        stream: what it is for.

    Returns:
        An array of the shape of the part, the same numbers in whatever part they are asked for.
    """
    rows, columns = own
    out = np.empty((rows.stop - rows.start, columns.stop - columns.start))
    # Whole counters: numbers 4k … 4k + 3 of a row belong together.
    first = columns.start // _EACH
    count = -(-columns.stop // _EACH) - first
    of_row = -(-shape[1] // _EACH)
    # Whole rows follow each other in the counter, and are made several at a time.
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
    """Normal numbers from pairs of 64 random bits."""
    uniform = ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * _UNIT
    radius, angle = np.sqrt(-2.0 * np.log(uniform[0::2])), 2.0 * np.pi * uniform[1::2]
    out = np.empty(raw.size)
    out[0::2], out[1::2] = radius * np.cos(angle), radius * np.sin(angle)
    return out
