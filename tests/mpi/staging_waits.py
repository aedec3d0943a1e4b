"""Roles of `staging_peers` that wait until they are interrupted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from staging_peers import SHAPE, Report

from uzushio import staging
from uzushio.errors import StagingError

if TYPE_CHECKING:
    from mpi4py import MPI


@contextmanager
def reporting_end(report: Report) -> Iterator[None]:
    """Report the error that ended the wait in the block, and its time."""
    try:
        yield
    except (KeyboardInterrupt, StagingError) as error:
        report("ended", [type(error).__name__, str(error), time.monotonic()])


def attach(report: Report, contact: str, comm: MPI.Comm | None = None, **options: Any) -> None:
    """Wait for a writer."""
    with reporting_end(report):
        report("waits")
        staging.attach(contact, comm, **options)


def next_step(report: Report, contact: str, comm: MPI.Comm | None = None) -> None:
    """Wait for the second step."""
    with reporting_end(report), staging.attach(contact, comm) as reader:
        reader.next()
        report("waits")
        reader.next()


def read(report: Report, contact: str, stopped: str, comm: MPI.Comm | None = None) -> None:
    """Wait for values after the file `stopped` exists."""
    with reporting_end(report), staging.attach(contact, comm) as reader:
        step = reader.next()
        assert step is not None
        report("has")
        while not Path(stopped).exists():
            time.sleep(0.01)
        report("waits")
        step.read("u")


def publish(
    report: Report, options: dict[str, Any], close: bool = False, comm: MPI.Comm | None = None
) -> None:
    """Wait for space in the queue or for readers; with `close`, for readers at the end."""
    rank = 0 if comm is None else comm.rank
    with reporting_end(report), staging.open("flow", comm, options) as writer:
        writer.uniform_mesh("box", (2 * SHAPE[0], *SHAPE[1:]))
        writer.field("u", "box")
        writer.block(rank, "box", ((SHAPE[0] * rank, 0, 0), SHAPE))
        for index in range(1 if close else 100):
            report("waits", index)
            with writer.step(index, 0.0):
                writer.put("u", np.zeros(SHAPE))
        report("waits")
