"""All ranks write chunks of a solver of blocks; checkpoints with chunks of planes are read too.

mpiexec -n N python block_checkpoint_job.py FOLDER
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio._base.store.array import State
from uzushio._base.store.chunks import ChunkGrid
from uzushio.case.model import Case
from uzushio.domain.box import Box
from uzushio.domain.multiblock import (
    Block,
    Coordinates,
    Declaration,
    Field,
    Mesh,
    Zone,
    zero_gradient,
)
from uzushio.solvers import BlockSolver


class Decay(BlockSolver):
    """du/dt = -u for two components at cells, beside values at faces, in one layer of cells."""

    case_model = Case

    @classmethod
    def declare(cls, case: Case) -> Declaration:
        zone = Zone("plate", (40, 30, 1), Coordinates.uniform((0, 0, 0), (1, 1, 1)))
        for face in ("i-min", "i-max", "j-min", "j-max"):
            zone.set_boundary(face, "wall")
        walls = {"wall": zero_gradient()}
        u = Field("u", components=2, ghosts=1, boundaries=walls)
        return Declaration(Mesh([zone], dimension=2), [u, Field("flux", ghosts=0, centring="face")])

    def initial(self, block: Block) -> None:
        x, y, _ = block.centres
        block.field("u")[:] = [np.sin(x + 7 * y), np.cos(3 * x - y)]
        for axis in (0, 1):
            values = block.field("flux", axis)
            i0, j0, _ = block.lower
            j, i = np.indices(values.shape[2:])
            values[0, 0] = 1000 * axis + 50.0 * (j + j0) + i + i0

    def rhs(self, block: Block, time: float) -> None:
        block.derivative("u")[:] = -block.field("u")[:, :, 1:-1, 1:-1]
        for axis in (0, 1):
            block.derivative("flux", axis)[:] = -block.field("flux", axis)

    def stable_dt(self, block: Block) -> float:
        return 0.1


folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
case = Case.model_validate({"solver": "decay", "time": {"steps": 4, "cfl": 0.5}})
solver = Decay(case, comm).begin()
for _ in range(2):
    solver.step()

state = solver.state()
assert set(state.arrays) == {"u", "flux_i", "flux_j"}
for name, array in state.arrays.items():
    owned = ChunkGrid(array.shape, array.chunks).owned(comm.allgather(array.boxes), 8, covered=True)
    assert all(owned), f"{name}: {owned}"
planes = {name: dataclasses.replace(array, chunks=()) for name, array in state.arrays.items()}
stored = {"blocks": state, "planes": State(planes, state.attributes)}
for name, content in stored.items():
    snapshot = checkpoint.Snapshot("decay", "", solver.step_index, solver.time, content)
    checkpoint.write(folder / name, snapshot, 1, comm)
for _ in range(2):
    solver.step()
expected = solver.state().arrays

for name in stored:  # on all ranks, and on one
    for ranks in (comm, MPI.COMM_SELF):
        again = Decay(case, ranks)
        again.restore(checkpoint.open_checkpoint(folder / name, ranks).state())
        for _ in range(2):
            again.step()
        arrays = again.state().arrays
        for which in expected:
            parts = dict(arrays[which].parts)
            for start, values in expected[which].parts:
                if ranks is comm:
                    got = parts[start]
                else:
                    (whole,) = parts.values()
                    got = whole[Box(start, values.shape).slices()]
                np.testing.assert_array_equal(got, values, err_msg=f"{name}: {which}")
if comm.rank == 0:
    print("all ranks wrote, all was read")
