"""Numbers and names of a summary as text."""

from __future__ import annotations

import math
from typing import Any

from uzushio._base.config.quantities import show_duration, show_size

_NAMES = {
    "seconds": "wall time",
    "seconds_per_step": "wall time a step",
    "seconds_waited": "the solver waited",
    "seconds_waiting": "waiting for steps",
    "seconds_working": "working on steps",
    "seconds_total": "wall time",
    "peak_bytes": "maximum memory of the queue",
    "bytes_read": "read from the stream",
    "bytes_kept": "memory for derived fields",
    "bytes_copied": "copied for the function",
    "max_held": "maximum held at once",
    "passed": "passed on",
    "steps_done": "steps done",
    "steps_used": "steps used",
    "steps": "steps seen",
}


def name(key: str) -> str:
    """Return a key of a summary in words."""
    return _NAMES.get(key, key.replace("_", " "))


def value(key: str, given: Any) -> str:
    """Format a value of a summary, with a unit if the key implies one."""
    if given is None:
        return "–"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, (int, float)):
        if key.startswith("seconds") or key.endswith("_seconds"):
            return duration(float(given))
        if "bytes" in key or key in ("passed", "held", "max_held"):
            return show_size(float(given))
        return number(given)
    if isinstance(given, (list, tuple)):
        return ", ".join(value("", element) for element in given)
    return str(given)


def number(given: float) -> str:
    """Format a number with four digits; integers with all, in groups of three digits."""
    if isinstance(given, float) and not math.isfinite(given):
        return "NaN" if math.isnan(given) else "infinite"
    if float(given).is_integer() and abs(given) < 1e15:
        return f"{int(given):,}".replace(",", "\u202f")
    return f"{given:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−", 1)


def duration(seconds: float) -> str:
    """Format seconds like `show_duration`."""
    return show_duration(seconds) if math.isfinite(seconds) else number(seconds)
