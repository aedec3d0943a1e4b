"""Print what a step of a jet sends, and the estimate: `jet_traffic_job.py SUBGRID`."""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/support")

from jet_flow import Flow, core, one_gas

from uzushio.grids import box_grid

mesh = box_grid((12, 10, 8), zones=(2, 2, 1), periodic="z", orientations="any").mesh()
wall = core.PatchCondition("slip_wall", core.State((0, 0, 0), 1, 1, [1]))
flow = Flow(
    mesh,
    one_gas(viscosity=0.01),
    lambda x, y, z: [1, 0, 0, 0, 1, 1],
    dict.fromkeys(("x-min", "x-max", "y-min", "y-max"), wall),
    comm=MPI.COMM_WORLD,
    scheme="upwind",
    subgrid=sys.argv[1],
)
before = np.array(flow.core.halo_traffic())
flow.step(0.5)
sent = np.array(flow.core.halo_traffic()) - before
MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, sent, MPI.MAX)
estimate = flow.core.estimate(MPI.COMM_WORLD.size)
if MPI.COMM_WORLD.rank == 0:
    print(*sent, estimate["halo_messages"], estimate["halo_bytes"])
