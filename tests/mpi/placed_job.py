"""Ranks that `parallel.placement` exchanges.

Run as: mpiexec -n N python placed_job.py FILE; the file has the rank of each rank of the launcher.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mpi4py import MPI

from uzushio._job.placed import placed
from uzushio.case.model import load_case
from uzushio.errors import UzushioError
from uzushio.placement.launchers import read_permutation

CASE = {
    "solver": "channel",
    "grid": {"nx": 8, "ny": 8, "nz": 12, "lx": 1.0, "ly": 1.0},
    "flow": {"reynolds_tau": 100},
    "time": {"steps": 1, "cfl": 0.4},
}

world = MPI.COMM_WORLD
try:
    comm = placed(load_case({**CASE, "parallel": {"placement": sys.argv[1]}}), world)
except UzushioError as error:
    print(f"refused: {error}", flush=True)
else:
    assert comm.size == world.size
    assert comm.rank == read_permutation(Path(sys.argv[1]))[world.rank]
    assert placed(load_case(CASE), world) is world
    print("in order", flush=True)
