"""Volumes of hexahedral cells."""

from __future__ import annotations

import numpy as np

from uzushio.grids.mapped import Vertices

#: Cells of which the volumes are computed at a time: temporary arrays fit the cache.
_CHUNK = 1 << 15


def cell_volumes(vertices: Vertices) -> np.ndarray:
    """Return the volumes of all cells of a zone; negative where a cell is left-handed.

    The volume is exact for trilinear cells (J. Grandy, *Efficient computation of volume of
    hexahedral cells*, LLNL UCRL-ID-128886, 1997), whose faces neighbours share: the volumes of a
    grid add up to that of its boundary.

    Args:
        vertices: (k, j, i, 3).

    Returns:
        Volumes, (k, j, i).
    """
    k, j, i = (n - 1 for n in vertices.shape[:3])
    volumes = np.empty((k, j, i))
    step = max(1, _CHUNK // max(1, i * j))
    for start in range(0, k, step):
        volumes[start : start + step] = _slab(vertices[start : start + step + 1])
    return volumes


def _slab(x: np.ndarray) -> np.ndarray:
    low, high = slice(None, -1), slice(1, None)

    def corner(i: slice, j: slice, k: slice) -> np.ndarray:
        return x[k, j, i]

    x000, x111 = corner(low, low, low), corner(high, high, high)
    x100, x010, x001 = corner(high, low, low), corner(low, high, low), corner(low, low, high)
    x110, x101, x011 = corner(high, high, low), corner(high, low, high), corner(low, high, high)
    diagonal = x111 - x000
    total = _triple(diagonal + x011 - x100, x111 - x010, x110 - x000)
    total += _triple(x011 - x000, diagonal + x101 - x010, x111 - x001)
    total += _triple(x111 - x100, x101 - x000, diagonal + x110 - x001)
    return total / 12.0


def _triple(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a · (b × c)."""
    return np.asarray(
        a[..., 0] * (b[..., 1] * c[..., 2] - b[..., 2] * c[..., 1])
        + a[..., 1] * (b[..., 2] * c[..., 0] - b[..., 0] * c[..., 2])
        + a[..., 2] * (b[..., 0] * c[..., 1] - b[..., 1] * c[..., 0])
    )
