"""A rank without memory in the middle of an exchange; the others wait for its message.

Run as: mpiexec -n N python sweep_failure_job.py
"""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio._base.observations import Observations
from uzushio.solvers.phasefield import Blocking, Model, Parameters

comm = MPI.COMM_WORLD
SHAPE, STEPS = (16 * comm.size, 20_000), 100


def no_more_memory() -> None:
    """Leave a megabyte of address space."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


model = Model(
    comm, SHAPE, Parameters(dt=0.01), Blocking(x_tile=1, y_tile=comm.size, fblt=8, scheme="pa1")
)
phi, values = np.zeros(model.own_shape), np.zeros((STEPS, *model.own_shape))
observations = Observations(tuple(range(1, STEPS + 1)), values, 1.0)
if comm.rank == comm.size - 1:
    no_more_memory()
# Their edges, megabytes of them, are sent to the neighbours first.
model.forward(phi, [0.5], 0, STEPS, observations=observations)
print("went well")
