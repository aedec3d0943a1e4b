"""Order of axes.

Arrays, boxes, counts, ghost widths and the coordinates of a mesh's points are along z, y, x, so
that x is contiguous; along k, j, i where a zone is curvilinear. Positions, directions, bounds and
the components of vectors are along x, y, z. `reverse_axes` is the conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

#: Coordinates along z, y and x: three 1-D arrays.
Lines: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Lower and upper ends along x, y and z.
Bounds: TypeAlias = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]

T = TypeVar("T")


def reverse_axes(values: Iterable[T]) -> tuple[T, T, T]:
    """Return values along z, y, x in the order x, y, z, or those along x, y, z in z, y, x."""
    a, b, c = values
    return c, b, a


def bounds_of(lines: Sequence[Any]) -> Bounds:
    """Return the bounds along x, y and z of a mesh with coordinates along z, y and x."""
    return reverse_axes((float(np.min(line)), float(np.max(line))) for line in lines)
