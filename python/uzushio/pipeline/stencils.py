"""Weights of derivatives and of interpolation along the axes of a grid.

They come from the coordinates of the whole grid, so that no value depends on its decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Points that a derivative is made of: second order on stretched meshes, exact for quadratics.
_DERIVATIVE = 3
#: Points that an interpolated value is made of: exact for cubics.
_INTERPOLATION = 4


@dataclass(frozen=True, eq=False)
class AxisStencil:
    """What each index of a line takes of another line, or of its own.

    Attributes:
        start: index of the first point of the result.
        first: index of the first value that each point takes, global.
        weights: (width, number of points).
    """

    start: int
    first: np.ndarray
    weights: np.ndarray

    @property
    def width(self) -> int:
        """Values that a point takes."""
        return len(self.weights)

    def reach(self, start: int, count: int) -> tuple[int, int]:
        """Index of the first value, and number of values, that a range of points takes."""
        part = self.first[start - self.start : start - self.start + count]
        low = int(part.min())
        return low, int(part.max()) + self.width - low

    def table(self, start: int, count: int, origin: int) -> tuple[np.ndarray, np.ndarray]:
        """As the kernels take it, for a range of points, of an array that begins at `origin`."""
        part = slice(start - self.start, start - self.start + count)
        return (
            np.ascontiguousarray(self.first[part] - origin),
            np.ascontiguousarray(self.weights[:, part]),
        )


def derivative(line: np.ndarray, start: int = 0) -> AxisStencil:
    """The derivative along a line of points, from three of them: one-sided at the ends.

    Args:
        line: coordinates, all of the grid; one point alone has the derivative 0.
        start: index of the first.
    """
    n, width = len(line), min(_DERIVATIVE, len(line))
    first = np.clip(np.arange(n) - 1, 0, n - width)
    points = line[first + np.arange(width)[:, np.newaxis]]
    weights = np.zeros((width, n))
    for m in range(width):
        # Derivative of Lagrange's polynomial that is 1 at point m and 0 at the others.
        others = [k for k in range(width) if k != m]
        for left_out in others:
            product = 1.0 / (points[m] - points[left_out])
            for k in others:
                if k != left_out:
                    product = product * (line - points[k]) / (points[m] - points[k])
            weights[m] += product
    return AxisStencil(start, (first + start).astype(np.int64), weights)


def interpolation(
    source: np.ndarray, target: np.ndarray, source_start: int = 0, start: int = 0
) -> AxisStencil:
    """Values at points of one line from the four nearest of another.

    Points outside of the source's line are extrapolated: whoever calls looks to how far.
    """
    width = min(_INTERPOLATION, len(source))
    first = np.searchsorted(source, target, side="right") - (width + 1) // 2
    first = np.clip(first, 0, len(source) - width)
    points = source[first + np.arange(width)[:, np.newaxis]]
    weights = np.ones((width, len(target)))
    for m in range(width):
        for k in range(width):
            if k != m:
                weights[m] *= (target - points[k]) / (points[m] - points[k])
    return AxisStencil(start, (first + source_start).astype(np.int64), weights)
