"""Line search along a direction, bent at the bounds: several step lengths are tried at once.

A step length is good if J falls by a fair share of what its slope promises (L. Armijo, 1966; along
a path that is projected on the bounds: D. P. Bertsekas, 1976). A J that is not a finite number is a
step that failed, like one that is too high. Slopes at the new point are not asked for: they cost
an adjoint each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from uzushio.assimilation.space import ControlSpace

#: Share of the promised decrease that is enough.
ENOUGH = 1e-4
#: Each further candidate of a round is so much shorter.
_SHRINK = 0.5
#: A next round begins at least so much, and at most so much, below the shortest step of the last.
_LEAST, _MOST = 0.1, 0.5
#: How much a good step may grow at once, and how often, while J still falls.
_GROW, _GROWTHS = 3.0, 8


@dataclass(frozen=True)
class LineSearchStep:
    """A step that makes J smaller.

    Attributes:
        length: of the step, in directions.
        point: where it leads.
        value: J there.
    """

    length: float
    point: np.ndarray
    value: float


#: J at each of several points, all at once; infinite where it is not finite (collective). And
#: whether one of them is likely to be the one that is taken.
Values = Callable[[Sequence[np.ndarray], bool], list[float]]


class LineSearch:
    """Searches along projected lines.

    Args:
        space: of the vectors, and their bounds.
        values: evaluates J.
        candidates: tried at once.
        tries: values of J that a search may cost.
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
        """Find a step that makes J smaller (collective).

        Of the candidates of a round that are good, the one with the least J is taken; so what is
        found depends on how many are tried at once, and not on how many ranks try them.

        Args:
            point: where to begin.
            value: J there.
            gradient: there.
            direction: of descent.
            longest: first step length to try.
            grow: whether to go on to longer steps while J falls, as where the direction's length
                says nothing.

        Returns:
            The step; None if there is none, as where J cannot be made smaller in its precision.
        """
        length, spent = longest, 0
        while spent < self._tries:
            lengths = [length * _SHRINK**i for i in range(self._candidates)]
            likely = spent == 0 and not grow and self._first_was_good
            found, told = self._round(point, value, gradient, direction, lengths, likely)
            self._first_was_good = spent == 0 and found is not None
            spent += len(lengths)
            if found is not None:
                if grow and found.length == longest:
                    return self._grown(point, value, gradient, direction, found)
                return found
            length = self._shorter(lengths[-1], value, told[-1])
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
        """Try step lengths; returns the best of those that are good, and (J, slope) of each."""
        points, slopes = self._space.moved(point, direction, gradient, lengths)
        values = self._values(points, likely)
        good = [
            LineSearchStep(length, there, J)
            for length, there, J, slope in zip(lengths, points, values, slopes, strict=True)
            if slope < 0.0 and math.isfinite(J) and value + ENOUGH * slope >= J and value > J
        ]
        best = min(good, key=lambda one: one.value) if good else None
        self._space.release(*(one for one in points if best is None or one is not best.point))
        return best, list(zip(values, slopes, strict=True))

    def _grown(
        self,
        point: np.ndarray,
        value: float,
        gradient: np.ndarray,
        direction: np.ndarray,
        found: LineSearchStep,
    ) -> LineSearchStep:
        """Go on to longer steps while they are good and J falls."""
        for _ in range(_GROWTHS):
            lengths = [found.length * _GROW ** (1 + i) for i in range(self._candidates)]
            longer, _ = self._round(point, value, gradient, direction, lengths)
            if longer is None:
                return found
            if longer.value >= found.value:
                self._space.release(longer.point)
                return found
            self._space.release(found.point)
            found = longer
        return found

    @staticmethod
    def _shorter(length: float, value: float, told: tuple[float, float]) -> float:
        """The next step length: where a parabola through what is known has its least value."""
        there, slope = told
        if not math.isfinite(there):
            return _LEAST * length
        bend = there - value - slope
        share = -slope / (2.0 * bend) if bend > 0.0 else _MOST
        return min(max(share, _LEAST), _MOST) * length
