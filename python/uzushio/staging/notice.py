"""Notices of waits, on the standard error."""

from __future__ import annotations

import sys


def notice(text: str) -> None:
    """Print a sentence on the standard error."""
    print(f"uzushio: {text}", file=sys.stderr, flush=True)
