"""Plates: flat meshes, which pictures show with a small thickness."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Thickness of a flat mesh in pictures, relative to the geometric mean of its sides.
_THICKNESS = 1e-3


def thickened(lines: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], ...]:
    """Return the coordinates of a mesh along z, y and x, with two points along axes with one."""
    sides = [float(np.ptp(line)) for line in lines if len(line) > 1]
    half = 0.5 * _THICKNESS * math.prod(sides) ** (1 / max(len(sides), 1))
    return tuple(
        line if len(line) > 1 else line[0] + half * np.array([-1.0, 1.0]) for line in lines
    )
