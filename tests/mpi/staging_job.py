"""Writers and readers on separate ranks of one MPI job; every reader checks all values.

python staging_job.py WRITERS ENGINE FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio import staging
from uzushio.staging import Box

STEPS = 4
ROUNDS = 6
TYPES = (np.float32, np.float64, np.int32, np.int64, np.uint8)


class Case:
    """A stream made of random numbers, the same on all ranks."""

    def __init__(self, number: int, ranks: int) -> None:
        rng = np.random.default_rng([int(os.environ.get("UZUSHIO_TEST_SEED", "1")), number])
        self.shape = tuple(int(n) for n in rng.integers(3, 12, 3))
        self.dtype = np.dtype(TYPES[rng.integers(len(TYPES))])
        boxes = [Box((0, 0, 0), self.shape)]
        for _ in range(int(rng.integers(1, 8))):
            boxes += _cut(boxes.pop(int(rng.integers(len(boxes)))), rng)
        self.boxes = boxes
        self.owners = rng.integers(ranks, size=len(boxes)).tolist()  # a rank may have none
        self.ghosts = rng.integers(0, 3, len(boxes)).tolist()
        self.looks = [_part(self.shape, rng) for _ in range(4)]

    def value(self, step: int) -> np.ndarray:
        """The whole field of a step."""
        whole = np.arange(np.prod(self.shape)).reshape(self.shape) + 37 * step
        return (whole % 251).astype(self.dtype)


def _cut(box: Box, rng: np.random.Generator) -> list[Box]:
    """The two parts of a box, or the box if it is too thin there."""
    axis = int(rng.integers(3))
    if box.count[axis] < 2:
        return [box]
    at = int(rng.integers(1, box.count[axis]))
    first, second, rest = list(box.count), list(box.start), list(box.count)
    first[axis], second[axis], rest[axis] = at, box.start[axis] + at, box.count[axis] - at
    return [Box(box.start, tuple(first)), Box(tuple(second), tuple(rest))]


def _part(shape: tuple[int, ...], rng: np.random.Generator) -> Box:
    start = [int(rng.integers(n)) for n in shape]
    count = [int(rng.integers(1, n - s + 1)) for n, s in zip(shape, start, strict=True)]
    return Box(tuple(start), tuple(count))


def write(comm: MPI.Comm, chosen: dict[str, Any], case: Case) -> None:
    """Any number of blocks per rank, with different ghost widths."""
    mine = [n for n, owner in enumerate(case.owners) if owner == comm.rank]
    with staging.open("boxes", comm, chosen) as writer:
        writer.uniform_mesh("box", case.shape)
        writer.field("u", "box", dtype=case.dtype)
        for n in mine:
            writer.block(n, "box", case.boxes[n])
        for step in range(STEPS):
            u = np.pad(case.value(step), 2, constant_values=255)
            with writer.step(step, 0.1 * step):
                for n in mine:
                    box, ghosts = case.boxes[n], case.ghosts[n]
                    stored = tuple(
                        slice(s + 2 - ghosts, s + c + 2 + ghosts)
                        for s, c in zip(box.start, box.count, strict=True)
                    )
                    writer.put("u", u[stored], block=n, ghosts=ghosts)


def read(comm: MPI.Comm, contact: Path, case: Case) -> None:
    """Each rank reads its share, random boxes and all blocks; all ranks get every step."""
    ends = [case.shape[0] * n // comm.size for n in (comm.rank, comm.rank + 1)]
    slab = Box((ends[0], 0, 0), (ends[1] - ends[0], *case.shape[1:]))
    looks = [slab, *case.looks]
    seen = []
    limits = {"attach_limit": 100.0, "step_limit": 100.0}
    with staging.attach(contact, comm, **limits) as reader:
        for step in reader:
            assert comm.allgather(step.index) == [step.index] * comm.size
            whole = case.value(step.index)
            for box in looks:
                np.testing.assert_array_equal(step.read("u", box), whole[box.slices()])
            assert len(step.blocks) == len(case.boxes)
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
        "queue": {"policy": "block", "depth": 2, "time_limit": 100},
        "wait_for_readers": 1,
        "wait_limit": 100,
    }
    if engine in ("sst", "bp5"):
        chosen["adios2"] = {"kind": engine}
    for number in range(ROUNDS):
        case, contact = Case(number, writers), folder / f"{number}.contact"
        if writing:
            write(comm, chosen | {"contact": str(contact)}, case)
        else:
            read(comm, contact, case)
        world.Barrier()
    if world.rank == 0:
        print("all read")


main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
