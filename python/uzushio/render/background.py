"""Background of pictures, blended after compositing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio import _core
from uzushio.render.colors import rgba

#: Rows that are averaged at a time, so that intermediate sums stay in the cache.
ROWS = 24


def on_background(image: NDArray[Any] | None, behind: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Blend an image over a background; return shape (height, width, 3), rounded once.

    Args:
        image: bytes or floats, premultiplied; shape (height, width, 4). None: empty.
        behind: the background, shape (height, width, 3).
    """
    if image is None:
        return behind.copy()
    if image.dtype != np.uint8:
        clear = 1.0 - np.clip(image[..., 3:], 0.0, 1.0)
        mixed = image[..., :3] * np.float32(255.0) + behind * clear
        return np.asarray(np.clip(mixed + 0.5, 0, 255), np.uint8)
    result = np.empty_like(behind)
    _core.compositing.blend_onto_background(np.ascontiguousarray(image), behind, result)
    return result


def averaged(image: NDArray[Any], samples: int) -> NDArray[Any]:
    """Return the means of samples × samples pixels; shapes (..., 4)."""
    if samples == 1:
        return np.ascontiguousarray(image)
    shape = image.shape[0] // samples, image.shape[1] // samples, 4
    result = np.empty(shape, image.dtype)
    kind = np.uint16 if image.dtype == np.uint8 else np.float32
    for top in range(0, shape[0], ROWS):
        rows = image[samples * top : samples * (top + ROWS)]
        sums: NDArray[Any] = np.zeros((len(rows) // samples, *shape[1:]), kind)
        for row in range(samples):
            for column in range(samples):
                sums += rows[row::samples, column::samples]
        if kind == np.uint16:
            sums += samples**2 // 2
            sums //= samples**2
        else:
            sums /= samples**2
        result[top : top + ROWS] = sums
    return result


@lru_cache(maxsize=8)
def plain(background: str | tuple[str, str], width: int, height: int) -> NDArray[np.uint8]:
    """Return a background of one colour, or a gradient from top to bottom; do not change it."""
    top, bottom = (background, background) if isinstance(background, str) else background
    upper, lower = (np.array(rgba(color)[:3]) for color in (top, bottom))
    share = ((np.arange(height) + 0.5) / height)[:, None, None]
    rows = 255 * (upper + (lower - upper) * share)
    return np.broadcast_to(np.round(rows), (height, width, 3)).astype(np.uint8, order="C")
