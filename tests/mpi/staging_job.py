"""Writers and readers in one MPI job, each with ranks of its own; every reader checks all it reads.

python staging_job.py WRITERS ENGINE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio import _core, staging
from uzushio.staging import Box

SHAPE = (9, 6, 8)
STEPS = 5


def value(step: int) -> np.ndarray:
    """The whole field of a step."""
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1000.0 * step


def write(comm: MPI.Comm, chosen: dict[str, Any]) -> None:
    """Slabs along z, two blocks a rank but for the last rank, which has one."""
    cuts = np.linspace(0, SHAPE[0], 2 * comm.size, dtype=int)
    mine = range(2 * comm.rank, min(2 * comm.rank + 2, 2 * comm.size - 1))
    with staging.open("slabs", comm, chosen) as writer:
        writer.uniform_mesh("box", SHAPE)
        writer.field("u", "box")
        for n in mine:
            writer.block(n, "box", ((cuts[n], 0, 0), (cuts[n + 1] - cuts[n], *SHAPE[1:])))
        for step in range(STEPS):
            u = np.pad(value(step), 1, constant_values=-1.0)
            with writer.step(step, 0.1 * step):
                for n in mine:
                    writer.put("u", u[cuts[n] : cuts[n + 1] + 2], block=n, ghosts=1)


def read(comm: MPI.Comm, contact: Path) -> None:
    """Each rank reads its share of the box; together they see every step, or the latest ones."""
    share = _core.staging.share(((0, 0, 0), SHAPE), comm.size, comm.rank)
    mine = Box(tuple(share[0]), tuple(share[1]))
    seen = []
    limits = {"attach_limit": 100.0, "step_limit": 100.0}
    with staging.attach(contact, comm, **limits) as reader:
        for step in reader:
            assert comm.allgather(step.index) == [step.index] * comm.size
            whole = value(step.index)
            np.testing.assert_array_equal(step.read("u", mine), whole[mine.slices()])
            np.testing.assert_array_equal(step.read("u", np.s_[:, 3, 2:5]), whole[:, 3, 2:5])
            for block in step.blocks:
                np.testing.assert_array_equal(block.values("u"), whole[block.elements.slices()])
            seen.append(step.index)
    assert seen == list(range(STEPS)), seen


def main(writers: int, engine: str, folder: Path) -> None:
    world = MPI.COMM_WORLD
    writing = world.rank < writers
    comm = world.Split(0 if writing else 1)
    chosen: dict[str, Any] = {
        "engine": "adios2" if engine in ("sst", "bp5") else engine,
        "contact": str(folder / "slabs.contact"),
        "queue": {"policy": "block", "depth": 2, "time_limit": 100},
        "wait_for_readers": 1,
        "wait_limit": 100,
    }
    if engine in ("sst", "bp5"):
        chosen["adios2"] = {"kind": engine}
    if writing:
        write(comm, chosen)
    else:
        read(comm, folder / "slabs.contact")
    world.Barrier()
    if world.rank == 0:
        print("all read")


main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
