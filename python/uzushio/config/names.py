"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib


def unknown(name: str, allowed: list[str]) -> str:
    """End a sentence on `name`, which is not among `allowed`: name the nearest of them."""
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"is not known{hint} (allowed: {', '.join(allowed)})"
