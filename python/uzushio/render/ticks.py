"""Ticks of axes: round numbers and their labels.

matplotlib's locators are not used, since they count the intervals of an extended range, not the
ticks within the limits: from -0.37 to 0.92 with room for six ticks `MaxNLocator` gives two, here
there are six, and from 3 to 40 `LogLocator` gives one. They also take 7 times the processor time,
and 0.2 s to import.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from uzushio.render.typeface import raised

#: Steps between ticks, times a power of ten.
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MINUS = "\N{MINUS SIGN}"


class Ticks(NamedTuple):
    """Values of ticks, their labels, and their common factor."""

    values: list[float]
    labels: list[str]
    factor: str
    """Such as ×10⁻⁴; empty for 1. Behind it, if any, what all labels leave out: + 101325."""


def ticks(lo: float, hi: float, max_count: int, scale: str = "linear") -> Ticks:
    """Return ticks from `lo` to `hi`, at most `max_count`, and two or more if possible.

    Args:
        lo: finite, above zero on a logarithmic scale.
        hi: above `lo`.
        max_count: at least 2.
        scale: ``linear`` or ``log``.
    """
    if scale == "log":
        values = _log_values(lo, hi, max_count)
        if len(values) >= 2:
            return Ticks(values, [_power(value, lo, hi) for value in values], "")
    values, step = _linear_values(lo, hi, max_count)
    return _labelled(values, step)


def _linear_values(lo: float, hi: float, max_count: int) -> tuple[list[float], float]:
    """Return the multiples of the smallest round step that gives at most `max_count`, and it."""
    magnitude = 10.0 ** math.floor(math.log10((hi - lo) / max_count))
    slack = 1e-6 * (hi - lo)
    step = magnitude
    for factor in (*STEPS, *(10 * s for s in STEPS)):
        step = factor * magnitude
        first, last = math.ceil((lo - slack) / step), math.floor((hi + slack) / step)
        if last - first + 1 <= max_count:
            break
    return [n * step for n in range(first, last + 1)], step


def _log_values(lo: float, hi: float, max_count: int) -> list[float]:
    """Return powers of ten, every n-th if needed, with 2 and 5 between if they fit."""
    slack = 1e-9
    first, last = math.ceil(math.log10(lo) - slack), math.floor(math.log10(hi) + slack)
    powers = range(first, last + 1)
    if len(powers) > max_count:
        every = -(-len(powers) // max_count)
        return [10.0**n for n in powers if n % every == 0]
    finer = [
        m * 10.0**n
        for n in range(first - 1, last + 1)
        for m in (1, 2, 5)
        if lo * (1 - slack) <= m * 10.0**n <= hi * (1 + slack)
    ]
    return finer if len(powers) < 3 and len(finer) <= max_count else [10.0**n for n in powers]


def _power(value: float, lo: float, hi: float) -> str:
    """Return the label of a value on a logarithmic axis."""
    if lo >= 0.99e-3 and hi <= 1.01e4:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    mantissa = round(value / 10.0**exponent)
    power = f"10{raised(exponent)}"
    return power if mantissa == 1 else f"{mantissa}·{power}"


def _labelled(values: list[float], step: float) -> Ticks:
    """Return ticks with as many digits as their step needs, and the common factor."""
    if not values:
        return Ticks([], [], "")
    if step < 1e-7 * max(abs(value) for value in values):
        return _labelled_by_difference(values, step)
    largest = max(abs(value) for value in values)
    exponent = math.floor(math.log10(largest)) if largest > 0 else 0
    common = exponent if exponent >= 5 or exponent <= -4 else 0
    unit = 10.0**common
    decimals = max(0, -math.floor(math.log10(step / unit * 1.0000001)))
    if round(step / unit * 10**decimals, 6) % 1 > 1e-6:
        decimals += 1  # 0.25
    labels = [f"{value / unit:.{decimals}f}" for value in values]
    zero = f"{0:.{decimals}f}"
    labels = [zero if label == f"-{zero}" else label.replace("-", _MINUS) for label in labels]
    return Ticks(values, labels, f"×10{raised(common)}" if common else "")


def _labelled_by_difference(values: list[float], step: float) -> Ticks:
    """Return ticks that are labelled by the difference from a round value among them."""
    unit = 10.0 ** math.ceil(math.log10(20.0 * step))
    offset = unit * round(values[len(values) // 2] / unit)
    differences = _labelled([step * round((value - offset) / step) for value in values], step)
    sign = "+" if offset > 0.0 else _MINUS
    return differences._replace(
        values=values, factor=f"{differences.factor} {sign} {abs(offset):.15g}".strip()
    )


def number(value: float) -> str:
    """Format one number with up to four digits."""
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        front = "" if mantissa == "1" else f"{mantissa}·"
        text = f"{front}10{raised(int(exponent))}"
        if mantissa == "-1":
            text = f"-10{raised(int(exponent))}"
    return text.replace("-", _MINUS)
