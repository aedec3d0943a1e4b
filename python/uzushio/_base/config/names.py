"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib


def unknown(name: str, allowed: list[str]) -> str:
    """Return the end of a message about an unknown `name`, with the nearest allowed name.

    A name with a parenthesis that is not closed, or not opened, is a part of a list's entry.
    """
    if name.count("(") != name.count(")"):
        return "is cut at a comma; put quotes around a text with commas"
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"is not known{hint} (allowed: {', '.join(allowed)})"
