"""Distributed arrays whose ranks hold any number of boxes: stored, and read on other ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zarr
from conftest import Run

SHAPE = (7, 9, 5)
#: Boxes cut a 7 x 9 x 5 array into bricks; rank r of n has those whose number is r modulo n, and
#: the ranks from the fourth on have none.
JOB = """
import sys
from itertools import product
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio._base.store.array import DistributedArray, State

comm, shape = MPI.COMM_WORLD, (7, 9, 5)
chunks = tuple(map(int, sys.argv[2].split(","))) if sys.argv[2] else ()
cuts = [(0, 3, 7), (0, 1, 5, 9), (0, 4, 5)]
sides = [list(zip(c, c[1:])) for c in cuts]
holders = min(comm.size, 3)
bricks = [tuple(slice(*side) for side in brick) for brick in product(*sides)]
mine = bricks[comm.rank :: holders] if comm.rank < holders else []

def array(values):
    parts = [(tuple(s.start for s in brick), values[brick]) for brick in mine]
    return DistributedArray(shape, values.dtype, parts, chunks=chunks)

whole = np.random.default_rng(3).normal(size=shape)
twice = np.arange(whole.size, dtype=np.int32).reshape(shape)
if sys.argv[1] == "write":
    state = State({"u": array(whole), "n": array(np.asfortranarray(twice))}, {"step": 5})
    checkpoint.write(Path("run"), checkpoint.Snapshot("toy", "", 5, 1.0, state), 1, comm)
else:
    stored = checkpoint.open_checkpoint(Path("run"), comm).state()
    for name, expected in (("u", whole), ("n", twice)):
        found = array(np.zeros_like(expected))
        stored.fill(name, found)
        for brick, values in zip(mine, found.values):
            assert values.tobytes() == expected[brick].tobytes()
    print("read", flush=True)
"""


@pytest.mark.parametrize(("ranks", "chunks"), [(1, "2,9,2"), (3, ""), (4, "3,2,3")])
def test_boxes_that_are_no_planes_are_read_on_any_number_of_ranks(
    mpi_run: Run, tmp_path: Path, ranks: int, chunks: str
) -> None:
    done = mpi_run(ranks, ["-c", JOB, "write", chunks], timeout=60)
    assert done.returncode == 0, done.stderr
    array = zarr.open_array(tmp_path / "run/checkpoints/step-00000005/state/u", mode="r")
    assert array.chunks == tuple(map(int, chunks.split(",")) if chunks else (1, *SHAPE[1:]))
    np.testing.assert_array_equal(array[...], np.random.default_rng(3).normal(size=SHAPE))
    readers = 5 - ranks
    done = mpi_run(readers, ["-c", JOB, "read", ""], timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("read") == readers


READ_ONCE = """
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio._base.store.array import DistributedArray, State

comm, shape = MPI.COMM_WORLD, (12, 4, 10)
whole = np.random.default_rng(3).normal(size=shape)
if comm.rank == 0:
    state = State({"u": DistributedArray(shape, whole.dtype, [((0, 0, 0), whole)])})
    checkpoint.write(
        Path("run"), checkpoint.Snapshot("toy", "", 5, 1.0, state), 1, MPI.COMM_SELF
    )
comm.Barrier()
opened = []
sys.addaudithook(
    lambda event, given: opened.append(str(given[0]))
    if event == "open" and "/u/c." in str(given[0]) else None
)
# All ranks need planes 2 to 8, each a piece of the rows.
first, end = (10 * r // comm.size for r in (comm.rank, comm.rank + 1))
mine = np.zeros((7, 4, end - first))
part = DistributedArray(shape, mine.dtype, [((2, 0, first), mine)])
checkpoint.open_checkpoint(
    Path("run"), comm, use=lambda found: found.state().fill("u", part)
)
assert mine.tobytes() == whole[2:9, :, first:end].tobytes()
read = sum(comm.allgather([(name, os.stat(name).st_size) for name in opened]), [])
assert len({name for name, _ in read}) == len(read) == 7, read
assert sum(size for _, size in read) == 7 * (8 * 4 * 10 + 4)
print("once", flush=True)
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_a_restart_reads_each_needed_chunk_once_in_the_whole_job(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, ["-c", READ_ONCE], timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("once") == ranks


OVERLAP = """
import numpy as np
from mpi4py import MPI

from uzushio.domain.box import Box
from uzushio._base.store.distribution import Distribution, Transfer

comm = MPI.COMM_WORLD
# Each rank has two boxes of 6 x 4; columns 2 and 3 are on all ranks, and the last row on none.
boxes = [Box((0, comm.rank), (3, 4)), Box((3, comm.rank), (2, 4))]
values = [np.full(box.count, 10.0 * comm.rank + n) for n, box in enumerate(boxes)]
whole = Box((0, 0), (6, 6))
wanted = [[whole, Box((2, 1), (2, 2))] if rank == 1 else [whole] for rank in range(comm.size)]
transfer = Transfer(Distribution(comm, boxes), values, wanted, np.dtype(float))
found = [array.copy() for _, array in transfer.run()]
for row, part in ((0, 0.0), (4, 1.0)):
    assert found[0][row].tolist() == [part, part, part, part, 10.0 + part, 20.0 + part]
assert np.isnan(found[0][5]).all()
assert comm.rank != 1 or found[1].tolist() == [[0.0, 0.0], [1.0, 1.0]]
print("same", flush=True)
"""


def test_where_boxes_overlap_the_lowest_rank_counts_and_gaps_are_nan(mpi_run: Run) -> None:
    done = mpi_run(3, ["-c", OVERLAP], timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("same") == 3


GAP = JOB.replace("mine = bricks[comm.rank", "mine = bricks[1 + comm.rank")


@pytest.mark.parametrize("ranks", [1, 3])
def test_boxes_with_a_gap_are_refused_on_all_ranks(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, ["-c", GAP, "write", "2,2,2"], timeout=60)
    assert done.returncode != 0
    assert "the ranks' boxes do not make up the array of shape (7, 9, 5)" in done.stderr


WAITS = """
import sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
from uzushio._base.store import checkpoint
from uzushio._base.store.array import DistributedArray, State


class Counted(MPI.Intracomm):
    calls = 0

    def allgather(self, value):
        Counted.calls += 1
        return super().allgather(value)

    def allreduce(self, value, op=MPI.SUM):
        Counted.calls += 1
        return super().allreduce(value, op)


comm = Counted(MPI.COMM_WORLD)
own = [((comm.rank, 0), np.full((1, 4), float(comm.rank)))]
calls = []
for count in (1, 5):
    array = DistributedArray((comm.size, 4), np.dtype(float), own, chunks=(comm.size, 4))
    state = State({f"values_{number}": array for number in range(count)})
    Counted.calls = 0
    checkpoint.write(Path(sys.argv[1]), checkpoint.Snapshot("", "", count, 0.0, state), 9, comm)
    calls.append(Counted.calls)
assert calls[0] == calls[1] > 0, calls
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_wait_for_all_no_more_often_for_more_arrays(
    mpi_run: Run, ranks: int, tmp_path: Path
) -> None:
    # Where other programs use the cores, each wait costs a time slice of the system.
    done = mpi_run(ranks, ["-c", WAITS, str(tmp_path)], timeout=60)
    assert done.returncode == 0, done.stderr
