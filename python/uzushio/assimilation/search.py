"""Line search along a direction projected on the bounds, with several step lengths at once.

A step length is accepted if J decreases by a share of the decrease that the slope predicts
(L. Armijo, 1966; along a path that is projected on the bounds: D. P. Bertsekas, 1976). A value of J
that is not finite is rejected. Slopes at the new point are not used, since each needs an adjoint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from uzushio.assimilation.space import ControlSpace

#: Minimum share of the predicted decrease.
ENOUGH = 1e-4
#: Ratio of the lengths of successive candidates in a round.
_SHRINK = 0.5
#: Range of the first length of a next round over the shortest length of the last one.
_MIN_RATIO, _MAX_RATIO = 0.1, 0.5
#: Maximum growth factor of an accepted step, and maximum number of times that it may grow.
_GROW, _GROWTHS = 3.0, 8


@dataclass(frozen=True)
class LineSearchStep:
    """Step that decreases J.

    Attributes:
        length: length of the step in multiples of the direction.
        point: end point.
        value: J at the end point.
    """

    length: float
    point: np.ndarray
    value: float


#: Function that returns J at each of several points, or infinity (collective). The second argument
#: is whether one of the points will probably be accepted.
Values = Callable[[Sequence[np.ndarray], bool], list[float]]


class LineSearch:
    """Line search along projected directions.

    Args:
        space: space of the vectors, with bounds.
        values: function that evaluates J.
        candidates: number of step lengths that are tried at once.
        tries: maximum number of values of J in a search.
    """

    def __init__(self, space: ControlSpace, values: Values, candidates: int, tries: int) -> None:
        self._space, self._values = space, values
        self._candidates, self._tries = candidates, tries
        self._first_was_good = True  # of the last search

    def search(
        self,
        point: np.ndarray,
        value: float,
        gradient: np.ndarray,
        direction: np.ndarray,
        longest: float,
        grow: bool,
    ) -> LineSearchStep | None:
        """Find a step that decreases J (collective).

        The result is the accepted candidate of a round with the minimum of J. It depends on the
        number of candidates, but not on the number of ranks.

        Args:
            point: start of the search.
            value: J at the start.
            gradient: gradient of J at the start.
            direction: direction of descent.
            longest: first step length to try.
            grow: whether to try longer steps while J decreases, if the direction has no natural
                length.

        Returns:
            The step; None if no step decreases J.
        """
        length, spent = longest, 0
        while spent < self._tries:
            lengths = [length * _SHRINK**i for i in range(self._candidates)]
            likely = spent == 0 and not grow and self._first_was_good
            accepted, results = self._round(point, value, gradient, direction, lengths, likely)
            self._first_was_good = spent == 0 and accepted is not None
            spent += len(lengths)
            if accepted is not None:
                if grow and accepted.length == longest:
                    return self._grown(point, value, gradient, direction, accepted)
                return accepted
            length = self._shorter(lengths[-1], value, results[-1])
        return None

    def _round(
        self,
        point: np.ndarray,
        value: float,
        gradient: np.ndarray,
        direction: np.ndarray,
        lengths: Sequence[float],
        likely: bool = False,
    ) -> tuple[LineSearchStep | None, list[tuple[float, float]]]:
        """Try step lengths; return the best accepted step, and (J, slope) of each."""
        points, slopes = self._space.moved(point, direction, gradient, lengths)
        values = self._values(points, likely)
        good = [
            LineSearchStep(length, there, J)
            for length, there, J, slope in zip(lengths, points, values, slopes, strict=True)
            if slope < 0.0 and math.isfinite(J) and value + ENOUGH * slope >= J and value > J
        ]
        best = min(good, key=lambda candidate: candidate.value) if good else None
        self._space.release(
            *(candidate for candidate in points if best is None or candidate is not best.point)
        )
        return best, list(zip(values, slopes, strict=True))

    def _grown(
        self,
        point: np.ndarray,
        value: float,
        gradient: np.ndarray,
        direction: np.ndarray,
        accepted: LineSearchStep,
    ) -> LineSearchStep:
        """Try longer steps while they are accepted and J decreases."""
        for _ in range(_GROWTHS):
            lengths = [accepted.length * _GROW ** (1 + i) for i in range(self._candidates)]
            longer, _ = self._round(point, value, gradient, direction, lengths)
            if longer is None:
                return accepted
            if longer.value >= accepted.value:
                self._space.release(longer.point)
                return accepted
            self._space.release(accepted.point)
            accepted = longer
        return accepted

    @staticmethod
    def _shorter(length: float, value: float, result: tuple[float, float]) -> float:
        """Return the next step length: the minimum of a parabola through the known values."""
        end_value, slope = result
        if not math.isfinite(end_value):
            return _MIN_RATIO * length
        bend = end_value - value - slope
        share = -slope / (2.0 * bend) if bend > 0.0 else _MAX_RATIO
        return min(max(share, _MIN_RATIO), _MAX_RATIO) * length
