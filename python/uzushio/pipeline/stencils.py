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
        turn: where the line of the result is periodic: points after which it begins again; else 0.
        source_turn: the same of the line that is taken from.
    """

    start: int
    first: np.ndarray
    weights: np.ndarray
    turn: int = 0
    source_turn: int = 0

    @property
    def width(self) -> int:
        """Values that a point takes."""
        return len(self.weights)

    def reach(self, start: int, count: int) -> tuple[int, int]:
        """Index of the first value, and number of values, that a range of points takes."""
        first, _ = self._part(start, count)
        low = int(first.min())
        return low, int(first.max()) + self.width - low

    def table(self, start: int, count: int, origin: int) -> tuple[np.ndarray, np.ndarray]:
        """As the kernels take it, for a range of points, of an array that begins at `origin`."""
        first, weights = self._part(start, count)
        return np.ascontiguousarray(first - origin), np.ascontiguousarray(weights)

    def _part(self, start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """First values and weights of a range of points."""
        low = start - self.start
        if not self.turn:
            return self.first[low : low + count], self.weights[:, low : low + count]
        rounds, places = np.divmod(np.arange(low, low + count), self.turn)
        return self.first[places] + rounds * self.source_turn, self.weights[:, places]


def derivative(line: np.ndarray, start: int = 0, turn: int = 0, period: float = 0.0) -> AxisStencil:
    """The derivative along a line of points, from three of them.

    Args:
        line: coordinates, all of the grid; one point alone has the derivative 0.
        start: index of the first.
        turn: points after which a periodic line begins again; 0: it is one-sided at the ends.
        period: the length of so many.
    """
    if turn:
        line = line[:turn]
        first, width = np.arange(turn) - 1, _DERIVATIVE
        around = _around(line, width, period)
        points = around[first + width + np.arange(width)[:, np.newaxis]]
    else:
        width = min(_DERIVATIVE, len(line))
        first = np.clip(np.arange(len(line)) - 1, 0, len(line) - width)
        points = line[first + np.arange(width)[:, np.newaxis]]
    n = len(line)
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
    return AxisStencil(start, (first + start).astype(np.int64), weights, turn, turn)


def interpolation(
    source: np.ndarray,
    target: np.ndarray,
    source_start: int = 0,
    start: int = 0,
    turns: tuple[int, int] = (0, 0),
    period: float = 0.0,
) -> AxisStencil:
    """Values at points of one line from the four nearest of another.

    Points outside of the source's line are extrapolated, unless it is periodic: whoever calls looks
    to how far.

    Args:
        source: coordinates of the points that are taken from.
        target: coordinates of the result's.
        source_start: index of the first point of the source.
        start: of the result.
        turns: of source and target: points after which they begin again; 0 if they do not.
        period: the length of so many.
    """
    turn, target_turn = turns
    if turn:
        width = _INTERPOLATION
        line = source[:turn]
        target = target[:target_turn] if target_turn else target
        rounds = np.floor((target - line[0]) / period)
        places, around = target - rounds * period, _around(line, width, period)
        low = np.searchsorted(line, places, side="right") - (width + 1) // 2
        points = around[low + width + np.arange(width)[:, np.newaxis]]
        points += rounds * period
        first = low + rounds.astype(np.int64) * turn
    else:
        width = min(_INTERPOLATION, len(source))
        first = np.searchsorted(source, target, side="right") - (width + 1) // 2
        first = np.clip(first, 0, len(source) - width)
        points = source[first + np.arange(width)[:, np.newaxis]]
    weights = np.ones((width, len(target)))
    for m in range(width):
        for k in range(width):
            if k != m:
                weights[m] *= (target - points[k]) / (points[m] - points[k])
    first = (first + source_start).astype(np.int64)
    return AxisStencil(start, first, weights, target_turn if turn else 0, turn)


def _around(line: np.ndarray, width: int, period: float) -> np.ndarray:
    """A periodic line with `width` points more at each of its ends."""
    rounds, places = np.divmod(np.arange(-width, len(line) + width), len(line))
    return np.asarray(line[places] + rounds * period)
