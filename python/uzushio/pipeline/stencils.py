"""Weights of derivatives and of interpolation along the axes of a grid.

They are computed from the coordinates of the whole grid, so values do not depend on the
decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Points of a derivative: second order on stretched meshes, exact for quadratics.
_DERIVATIVE_WIDTH = 3
#: Points of an interpolated value: exact for cubics.
_INTERPOLATION_WIDTH = 4


@dataclass(frozen=True, eq=False)
class AxisStencil:
    """Stencil of each point of a line, on another line or on the same one.

    Attributes:
        start: index of the first point of the result.
        first: global index of the first input of each point.
        weights: (width, number of points).
        period_points: number of points in a period of the result's line; 0 if not periodic.
        source_period_points: number of points in a period of the input's line.
    """

    start: int
    first: np.ndarray
    weights: np.ndarray
    period_points: int = 0
    source_period_points: int = 0

    @property
    def width(self) -> int:
        """Number of inputs of a point."""
        return len(self.weights)

    def reach(self, start: int, count: int) -> tuple[int, int]:
        """Return index of the first input, and number of inputs, of a range of points."""
        first, _ = self._part(start, count)
        low = int(first.min())
        return low, int(first.max()) + self.width - low

    def table(self, start: int, count: int, origin: int) -> tuple[np.ndarray, np.ndarray]:
        """Return first inputs and weights for the kernels, for an input array from `origin` on."""
        first, weights = self._part(start, count)
        return np.ascontiguousarray(first - origin), np.ascontiguousarray(weights)

    def _part(self, start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return first inputs and weights of a range of points."""
        low = start - self.start
        if not self.period_points:
            return self.first[low : low + count], self.weights[:, low : low + count]
        rounds, places = np.divmod(np.arange(low, low + count), self.period_points)
        return self.first[places] + rounds * self.source_period_points, self.weights[:, places]


def derivative(
    line: np.ndarray, start: int = 0, period_points: int = 0, period_length: float = 0.0
) -> AxisStencil:
    """Make the three-point stencil of the derivative along a line.

    Args:
        line: coordinates of the whole grid; the derivative of a single point is 0.
        start: index of the first point.
        period_points: number of points in a period; 0: not periodic, one-sided at the ends.
        period_length: length of a period.
    """
    if period_points:
        line = line[:period_points]
        first, width = np.arange(period_points) - 1, _DERIVATIVE_WIDTH
        wrapped = _wrapped_line(line, width, period_length)
        points = wrapped[first + width + np.arange(width)[:, np.newaxis]]
    else:
        width = min(_DERIVATIVE_WIDTH, len(line))
        first = np.clip(np.arange(len(line)) - 1, 0, len(line) - width)
        points = line[first + np.arange(width)[:, np.newaxis]]
    n = len(line)
    weights = np.zeros((width, n))
    for m in range(width):
        # Derivative of the Lagrange polynomial that is 1 at point m and 0 at the others.
        others = [k for k in range(width) if k != m]
        for left_out in others:
            product = 1.0 / (points[m] - points[left_out])
            for k in others:
                if k != left_out:
                    product = product * (line - points[k]) / (points[m] - points[k])
            weights[m] += product
    return AxisStencil(
        start, (first + start).astype(np.int64), weights, period_points, period_points
    )


def interpolation(
    source: np.ndarray,
    target: np.ndarray,
    source_start: int = 0,
    start: int = 0,
    periods_points: tuple[int, int] = (0, 0),
    period_length: float = 0.0,
) -> AxisStencil:
    """Make the four-point stencil of the interpolation from one line to another.

    Points outside the source's line are extrapolated unless it is periodic; the caller limits the
    distance.

    Args:
        source: coordinates of the input.
        target: coordinates of the result.
        source_start: index of the first point of the input.
        start: index of the first point of the result.
        periods_points: numbers of points in a period of source and target; 0 if not periodic.
        period_length: length of a period.
    """
    period_points, target_period_points = periods_points
    if period_points:
        width = _INTERPOLATION_WIDTH
        line = source[:period_points]
        target = target[:target_period_points] if target_period_points else target
        rounds = np.floor((target - line[0]) / period_length)
        places, wrapped = target - rounds * period_length, _wrapped_line(line, width, period_length)
        low = np.searchsorted(line, places, side="right") - (width + 1) // 2
        points = wrapped[low + width + np.arange(width)[:, np.newaxis]]
        points += rounds * period_length
        first = low + rounds.astype(np.int64) * period_points
    else:
        width = min(_INTERPOLATION_WIDTH, len(source))
        first = np.searchsorted(source, target, side="right") - (width + 1) // 2
        first = np.clip(first, 0, len(source) - width)
        points = source[first + np.arange(width)[:, np.newaxis]]
    weights = np.ones((width, len(target)))
    for m in range(width):
        for k in range(width):
            if k != m:
                weights[m] *= (target - points[k]) / (points[m] - points[k])
    first = (first + source_start).astype(np.int64)
    return AxisStencil(
        start, first, weights, target_period_points if period_points else 0, period_points
    )


def _wrapped_line(line: np.ndarray, width: int, period_length: float) -> np.ndarray:
    """Extend a periodic line by `width` points at each end."""
    rounds, places = np.divmod(np.arange(-width, len(line) + width), len(line))
    return np.asarray(line[places] + rounds * period_length)
