"""Limits of colours that follow the values over time."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable

from uzushio.render.colors import Colors

#: Least and greatest value of a field.
Range = tuple[float, float]
#: The range where there is no value.
NOTHING: Range = (math.inf, -math.inf)

#: Share of a new step in limits that are smoothed.
NEW = 0.2
#: A logarithmic scale that follows the values shows no more decades than these.
DECADES = 6
#: Values below this are none on a logarithmic scale: so many decades less is no normal double.
LEAST = sys.float_info.min * 10.0**DECADES


class LimitTracker:
    """Limits of each of a view's colourings, picture after picture.

    It gives the same on every rank, if ranges are the same.
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, Range] = {}

    def follow(self, key: Hashable, colors: Colors, values: Range) -> tuple[float, float]:
        """Return the limits for this step.

        Args:
            key: what tells this colouring from others.
            colors: how it follows.
            values: finite least and greatest value of this step; (inf, -inf) if there is none.
        """
        if colors.fixed:
            lo, hi = colors.limits
            assert lo is not None and hi is not None
            return lo, hi
        if values[0] <= values[1]:
            self._seen[key] = self._next(self._seen.get(key), colors, values)
        return settle(colors, self._seen.get(key, NOTHING))

    @staticmethod
    def _next(before: Range | None, colors: Colors, now: Range) -> Range:
        if before is None or colors.follow == "step":
            return now
        if colors.follow == "widen":
            return min(before[0], now[0]), max(before[1], now[1])
        return (
            before[0] + NEW * (now[0] - before[0]),
            before[1] + NEW * (now[1] - before[1]),
        )

    def state(self) -> dict[Hashable, Range]:
        """Return what is remembered, so that a run that goes on later keeps its colours."""
        return dict(self._seen)

    def restore(self, state: dict[Hashable, Range]) -> None:
        """Go on from what `state` returned."""
        self._seen = dict(state)


def settle(colors: Colors, values: Range) -> tuple[float, float]:
    """Return limits that can be drawn: finite, increasing, positive on a logarithmic scale."""
    lo, hi = values if values[0] <= values[1] else (0.0, 0.0)
    symmetric = colors.symmetric
    if symmetric is None:
        symmetric = colors.diverging and lo < 0.0 < hi and colors.scale == "linear"
    if symmetric:
        hi = max(abs(lo), abs(hi))
        lo = -hi
    given_lo, given_hi = colors.limits
    lo = lo if given_lo is None else given_lo
    hi = hi if given_hi is None else given_hi
    if colors.scale == "log":
        return _positive(lo, hi, given_lo, given_hi)
    # A constant field has limits as far apart as its value is large; the least doubles that differ
    # would give steps in the legend that cannot be told apart.
    least = 1e-6 * max(abs(lo), abs(hi)) or 1.0
    if hi - lo >= least:
        return lo, hi
    width = 0.1 * max(abs(lo), abs(hi)) or 1.0
    if given_lo is not None:
        return lo, lo + width
    if given_hi is not None:
        return hi - width, hi
    return (lo + hi) / 2 - width, (lo + hi) / 2 + width


def _positive(
    lo: float, hi: float, given_lo: float | None, given_hi: float | None
) -> tuple[float, float]:
    """Limits of a logarithmic scale."""
    if hi < LEAST:
        hi = given_lo * 10 if given_lo is not None else 1.0
    if given_lo is None:
        lo = max(lo, hi * 10.0**-DECADES)
    if hi / lo >= 1.01:
        return lo, hi
    if given_hi is not None:
        return hi / 10, hi
    return lo, lo * 10
