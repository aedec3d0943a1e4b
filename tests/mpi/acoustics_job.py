"""Sound of a dipole on a flow cut over these ranks: acoustics_job.py FOLDER PZ PY PX."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from made_stream import Made
from mpi4py import MPI
from sound import PRESSURE, dipole

from uzushio._base.store.array import State, StoredState

MACH = (0.3, 0.0, 0.1)


def stored(comm: MPI.Comm, state: State) -> StoredState:
    """Return what a checkpoint holds of a state; rank 0 has all of it."""
    whole = {
        name: array.parts[0][1] if array.parts else None for name, array in state.arrays.items()
    }
    whole = comm.bcast(whole)
    shapes = {name: array.shape for name, array in state.arrays.items()}

    def read(name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
        return whole[name][tuple(slice(a, a + n) for a, n in zip(start, shape, strict=True))].copy()

    return StoredState(shapes, json.loads(json.dumps(state.attributes)), read)


def main() -> None:
    comm, folder = MPI.COMM_WORLD, Path(sys.argv[1])
    line = np.linspace(-1.0, 1.0, 17)
    sound = dipole(MACH, wavelength=1.5)
    settings = {
        "ambient": {"density": 1, "sound_speed": 1, "pressure": PRESSURE, "velocity": MACH},
        "surface": {"spacing": 0.2, "sphere": {"center": (0, 0, 0), "radius": 0.7}},
        "points": {"near": (2, 0, 0)},
        "arcs": {"arc": {"radius": 9.0, "angles": (0, 180), "observers": 3}},
    }
    made = Made(
        (line, line, line), sound.formulas, comm, tuple(map(int, sys.argv[2:5])), empty=True
    )
    times = np.cumsum(0.15 + 0.03 * np.sin(np.arange(66)))
    steps = list(zip(range(0, 132, 2), times.tolist(), strict=True))
    whole = made.action("acoustics", folder / "whole", **settings)
    made.run(whole, steps)
    # The first part of a run, a checkpoint, steps that are lost, and a restart with other cuts.
    first = made.action("acoustics", folder / "restarted", **settings)
    made.run(first, steps[:50], close=False)
    state = first.state()
    assert state is not None
    checkpoint = stored(comm, state)
    made.run(first, steps[50:54])
    made.cuts = made.cuts[::-1]
    second = made.action("acoustics", folder / "restarted", **settings)
    second.restore(checkpoint)
    if comm.rank == 0:
        second.truncate(steps[49][0])
    comm.Barrier()
    made.run(second, steps[50:])
    if comm.rank == 0:
        print("all done")


main()
