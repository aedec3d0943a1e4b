"""Acts of `staging_sides` that wait until somebody interrupts them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from staging_sides import SHAPE, Tell

from uzushio import staging
from uzushio.errors import StagingError

if TYPE_CHECKING:
    from mpi4py import MPI


@contextmanager
def told(tell: Tell) -> Iterator[None]:
    """Tell how the wait inside ended, and when."""
    try:
        yield
    except (KeyboardInterrupt, StagingError) as error:
        tell("ended", [type(error).__name__, str(error), time.monotonic()])


def attach(tell: Tell, contact: str, comm: MPI.Comm | None = None, **options: Any) -> None:
    """Wait for a writer."""
    with told(tell):
        tell("waits")
        staging.attach(contact, comm, **options)


def next_step(tell: Tell, contact: str, comm: MPI.Comm | None = None) -> None:
    """Wait for the second step."""
    with told(tell), staging.attach(contact, comm) as reader:
        reader.next()
        tell("waits")
        reader.next()


def read(tell: Tell, contact: str, stopped: str, comm: MPI.Comm | None = None) -> None:
    """Wait for values, once there is a file `stopped`."""
    with told(tell), staging.attach(contact, comm) as reader:
        step = reader.next()
        assert step is not None
        tell("has")
        while not Path(stopped).exists():
            time.sleep(0.01)
        tell("waits")
        step.read("u")


def publish(
    tell: Tell, options: dict[str, Any], close: bool = False, comm: MPI.Comm | None = None
) -> None:
    """Wait in the second step for room, or in the first for readers; or for them at the end."""
    rank = 0 if comm is None else comm.rank
    with told(tell), staging.open("flow", comm, options) as writer:
        writer.uniform_mesh("box", (2 * SHAPE[0], *SHAPE[1:]))
        writer.field("u", "box")
        writer.block(rank, "box", ((SHAPE[0] * rank, 0, 0), SHAPE))
        for index in range(1 if close else 100):
            tell("waits", index)
            with writer.step(index, 0.0):
                writer.put("u", np.zeros(SHAPE))
        tell("waits")
