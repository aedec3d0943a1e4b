"""Errors of renderers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from uzushio._base.error_text import capitalised
from uzushio.errors import RenderError


@contextmanager
def render_errors() -> Iterator[None]:
    """Convert a `ValueError` of the block to a `RenderError` of one sentence."""
    try:
        yield
    except ValueError as error:
        raise RenderError(capitalised(error)) from error
