"""Limits of colours that follow the values over time."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable

from uzushio.render.colors import LARGEST, Colors

#: Minimum and maximum of a field.
Range = tuple[float, float]
#: Range without a value.
EMPTY_RANGE: Range = (math.inf, -math.inf)

#: Weight of a new step in smoothed limits.
SMOOTHING = 0.2
#: Width of a range over its largest value, below which a field is constant up to rounding.
MIN_RELATIVE_WIDTH = 1e-12
#: Maximum number of decades of a logarithmic scale that follows the values.
MAX_DECADES = 6
#: Minimum value on a logarithmic scale: `MAX_DECADES` below it doubles become subnormal.
MIN_POSITIVE = sys.float_info.min * 10.0**MAX_DECADES


class LimitTracker:
    """Limits of a view's colour scales from picture to picture.

    Results are the same on every rank if ranges are.
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, Range] = {}

    def follow(self, key: Hashable, colors: Colors, values: Range) -> tuple[float, float]:
        """Return the limits for this step.

        Args:
            key: identifies the colour scale.
            colors: colours of the scale, with the rule for its limits.
            values: finite minimum and maximum of this step; (inf, -inf) if there is none.
        """
        if colors.fixed:
            lo, hi = colors.limits
            assert lo is not None and hi is not None
            return lo, hi
        if values[0] <= values[1]:
            now = _within_largest(values)
            self._seen[key] = self._next(self._seen.get(key), colors, now)
        return drawable_limits(colors, self._seen.get(key, EMPTY_RANGE))

    @staticmethod
    def _next(before: Range | None, colors: Colors, now: Range) -> Range:
        if before is None or colors.follow == "step":
            return now
        if colors.follow == "widen":
            return min(before[0], now[0]), max(before[1], now[1])
        return (
            before[0] + SMOOTHING * (now[0] - before[0]),
            before[1] + SMOOTHING * (now[1] - before[1]),
        )

    def is_known(self, key: Hashable, colors: Colors) -> bool:
        """Return whether the limits of a colour scale are given, or follow values."""
        return colors.fixed or key in self._seen

    def state(self) -> dict[Hashable, Range]:
        """Return the state, so that a restarted run keeps its colours."""
        return dict(self._seen)

    def restore(self, state: dict[Hashable, Range]) -> None:
        """Restore a result of `state`."""
        self._seen = dict(state)


def _within_largest(values: Range) -> Range:
    """Return a range with its ends within `LARGEST`."""
    lo, hi = (min(max(end, -LARGEST), LARGEST) for end in values)
    return lo, hi


def drawable_limits(colors: Colors, values: Range) -> tuple[float, float]:
    """Return limits that can be drawn: finite, increasing, positive on a logarithmic scale."""
    lo, hi = _within_largest(values) if values[0] <= values[1] else (0.0, 0.0)
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
        return _logarithmic_limits(lo, hi, given_lo, given_hi)
    # Limits of a field that is constant up to rounding are apart in proportion to its value.
    min_width = MIN_RELATIVE_WIDTH * max(abs(lo), abs(hi)) or 1.0
    if hi - lo >= min_width:
        return lo, hi
    width = max(0.1 * max(abs(lo), abs(hi)), hi - lo) or 1.0
    if given_lo is not None:
        return lo, lo + width
    if given_hi is not None:
        return hi - width, hi
    return (lo + hi) / 2 - width, (lo + hi) / 2 + width


def _logarithmic_limits(
    lo: float, hi: float, given_lo: float | None, given_hi: float | None
) -> tuple[float, float]:
    """Return limits of a logarithmic scale."""
    if hi < MIN_POSITIVE:
        hi = given_lo * 10 if given_lo is not None else 1.0
    if given_lo is None:
        lo = max(lo, hi * 10.0**-MAX_DECADES)
    if hi / lo >= 1.0 + MIN_RELATIVE_WIDTH:
        return lo, hi
    if given_lo is not None:
        return lo, lo * 10
    if given_hi is not None:
        return hi / 10, hi
    return lo / 1.1, min(hi * 1.1, LARGEST)
