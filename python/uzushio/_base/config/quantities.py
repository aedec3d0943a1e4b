"""Sizes, rates and times with a unit: "30 GB", "256 MiB", "12.5 GB/s", "100 Gbit/s", "10 s".

A plain number is in bytes, bytes per second or seconds. GB is 10⁹ bytes, GiB is 2³⁰.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

#: Range of positive numbers that have finite squares and finite inverse squares.
SMALLEST, LARGEST = 1e-100, 1e100

_SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_SIZES |= {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_RATES = {f"{unit}/s": factor for unit, factor in _SIZES.items()}
# "Gb/s" is not accepted: it is used for both bits and bytes.
_RATES |= {"kbit/s": 1e3 / 8, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8, "Tbit/s": 1e12 / 8}
_TIMES = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}

_QUANTITY = re.compile(r"\s*(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>\S*)\s*")


def _parser(units: dict[str, float], example: str) -> Callable[[object], object]:
    """Return a function that converts text to SI units and returns other values unchanged."""

    def parse(value: object) -> object:
        if isinstance(value, bool):  # pydantic would take `yes` for 1
            raise ValueError(f'must be a number with a unit such as "{example}"')
        if not isinstance(value, str):
            return value
        match = _QUANTITY.fullmatch(value)
        if match is None:
            raise ValueError(f'must be a number with a unit such as "{example}"')
        unit = match["unit"]
        if unit and unit not in units:
            raise ValueError(f"the unit '{unit}' is not known (allowed: {', '.join(units)})")
        result = float(match["number"]) * units.get(unit, 1.0)
        if not math.isfinite(result):
            raise ValueError("must be finite")
        return result

    return parse


parse_size = _parser(_SIZES, "30 GB")
parse_rate = _parser(_RATES, "12.5 GB/s")
parse_time = _parser(_TIMES, "10 s")


def _positive_or_text(units: dict[str, float]) -> object:
    """Return the type of a quantity in a case, for JSON schemas."""
    number = _QUANTITY.pattern.replace("?P<number>", "?:").replace(r"(?P<unit>\S*)", "{unit}")
    allowed = "|".join(re.escape(unit) for unit in units)
    pattern = "^" + number.replace("{unit}", f"(?:{allowed})?") + "$"
    return Annotated[float, Field(gt=0.0)] | Annotated[str, Field(pattern=pattern)]


#: Type of a positive number of bytes.
Size = Annotated[
    float,
    BeforeValidator(parse_size, json_schema_input_type=_positive_or_text(_SIZES)),
    Field(gt=0.0, allow_inf_nan=False),
]


def within_magnitude(value: float) -> float:
    """Return a positive number, or raise `ValueError` if its square or inverse square overflows."""
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"must be from {SMALLEST:g} to {LARGEST:g}")
    return value


#: Type of a positive number whose square and inverse square are finite.
Magnitude = Annotated[float, Field(gt=0.0), AfterValidator(within_magnitude)]
#: Type of a positive number of bytes per second.
Rate = Annotated[
    float,
    BeforeValidator(parse_rate, json_schema_input_type=_positive_or_text(_RATES)),
    Field(gt=0.0, allow_inf_nan=False),
]
#: Type of a positive number of seconds.
Seconds = Annotated[
    float,
    BeforeValidator(parse_time, json_schema_input_type=_positive_or_text(_TIMES)),
    Field(gt=0.0, allow_inf_nan=False),
]


def show_size(size: float) -> str:
    """Format bytes with four digits and a decimal unit that suits them."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if round(size, 1) < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} PB"


def show_rate(rate: float) -> str:
    """Format bytes per second like `show_size`."""
    return f"{show_size(rate)}/s"


def show_time(seconds: float) -> str:
    """Format seconds with four digits."""
    return f"{seconds:.4g} s"


def show_duration(seconds: float) -> str:
    """Format a duration as hours, minutes, seconds, milliseconds or microseconds."""
    if seconds >= 3600.0:
        hours, rest = divmod(round(seconds), 3600)
        return f"{hours:,} h {rest // 60} min"
    if seconds >= 60.0:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    if seconds >= 1.0 or seconds == 0.0:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def with_unit(name: str, unit: str) -> str:
    """Return a name with its unit, as everywhere in figures, pictures and pages: time [s]."""
    return name if unit in ("", "1") else f"{name} [{unit}]"
