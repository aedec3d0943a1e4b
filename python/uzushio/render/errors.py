"""Errors of renderers, on one rank or all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uzushio.errors import RenderError
from uzushio.parallel.collective import collective

if TYPE_CHECKING:
    from mpi4py import MPI


@contextmanager
def collective_errors(comm: MPI.Comm) -> Iterator[None]:
    """Run a block without communication; if it fails on one rank, raise the error on all."""
    with collective(comm), render_errors():
        yield


@contextmanager
def render_errors() -> Iterator[None]:
    """Convert a `ValueError` of the block to a `RenderError` of one sentence."""
    try:
        yield
    except ValueError as error:
        text = str(error).rstrip(".")
        raise RenderError(f"{text[:1].upper()}{text[1:]}.") from error
