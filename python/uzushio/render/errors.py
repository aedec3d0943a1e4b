"""Errors of renderers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from uzushio.errors import RenderError


@contextmanager
def render_errors() -> Iterator[None]:
    """Convert a `ValueError` of the block to a `RenderError` of one sentence."""
    try:
        yield
    except ValueError as error:
        text = str(error).rstrip(".")
        raise RenderError(f"{text[:1].upper()}{text[1:]}.") from error
