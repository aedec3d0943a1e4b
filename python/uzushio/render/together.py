"""What renderers need of a communicator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from uzushio.errors import RenderError
from uzushio.parallel.collective import collective

if TYPE_CHECKING:
    from mpi4py import MPI


@contextmanager
def together(comm: MPI.Comm) -> Iterator[None]:
    """A block without communication that fails on all ranks, in one sentence, if it does on one."""
    with collective(comm), in_a_sentence():
        yield


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """A block whose `ValueError` becomes a `RenderError`, of one sentence."""
    try:
        yield
    except ValueError as error:
        text = str(error).rstrip(".")
        raise RenderError(f"{text[:1].upper()}{text[1:]}.") from error
