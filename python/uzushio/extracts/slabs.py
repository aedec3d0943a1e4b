"""Slabs of bounded size, in which values are gathered and copied."""

from __future__ import annotations

import numpy as np

from uzushio._base.store.schema import StoreSchema
from uzushio.domain.box import Box
from uzushio.domain.fields import Field

#: Maximum bytes that rank 0 receives at a time, or one plane.
MAX_SLAB_BYTES = 64 << 20


def bytes_per_step(schema: StoreSchema, variable: Field) -> int:
    """Return the bytes of one step."""
    return schema.whole.size * variable.components * variable.dtype.itemsize


def slab_boxes(schema: StoreSchema, variable: Field, limit: int) -> list[Box]:
    """Divide all points along the first axis with several of them, at most `limit` bytes each."""
    axis = next((a for a, count in enumerate(schema.count) if count > 1), 0)
    each = bytes_per_step(schema, variable) // schema.count[axis]
    boxes, step = [], max(1, limit // max(each, 1))
    for first in range(0, schema.count[axis], step):
        start, count = [0, 0, 0], [*schema.count]
        start[axis], count[axis] = first, min(step, schema.count[axis] - first)
        boxes.append(Box(tuple(start), tuple(count)))
    return boxes


def slabs(size: tuple[int, ...], dtype: np.dtype, limit: int = MAX_SLAB_BYTES) -> list[slice]:
    """Divide the first axis into ranges of at most `limit` bytes."""
    if not size:
        return [slice(None)]
    each = int(np.prod(size[1:], initial=1)) * dtype.itemsize
    step = max(1, limit // max(each, 1))
    return [slice(at, at + step) for at in range(0, size[0], step)]
