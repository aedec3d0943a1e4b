"""Slabs of bounded size, in which values are written and copied."""

from __future__ import annotations

import numpy as np

from uzushio._base.store.chunks import MAX_BYTES
from uzushio._base.store.schema import StoreSchema
from uzushio.domain.fields import Field

#: Maximum bytes that are copied at a time, or one plane.
MAX_SLAB_BYTES = 64 << 20


def bytes_per_step(schema: StoreSchema, variable: Field) -> int:
    """Return the bytes of one step."""
    return schema.whole.size * variable.components * variable.dtype.itemsize


def slab_chunk(schema: StoreSchema, variable: Field, ranks: int) -> tuple[int, ...]:
    """Return the extents of slabs that are contiguous in a file, at least one for each rank.

    They divide the first axis with several points; a slab has at most `MAX_BYTES`, or one plane.
    """
    axis = next((a for a, count in enumerate(schema.count) if count > 1), 0)
    plane = bytes_per_step(schema, variable) // schema.count[axis]
    planes = max(1, min(schema.count[axis] // ranks, MAX_BYTES // max(1, plane)))
    return tuple(planes if a == axis else n for a, n in enumerate(schema.count))


def slabs(size: tuple[int, ...], dtype: np.dtype, limit: int = MAX_SLAB_BYTES) -> list[slice]:
    """Divide the first axis into ranges of at most `limit` bytes."""
    if not size:
        return [slice(None)]
    each = int(np.prod(size[1:], initial=1)) * dtype.itemsize
    step = max(1, limit // max(each, 1))
    return [slice(at, at + step) for at in range(0, size[0], step)]
