"""Messages of which each kind is recorded once; run as: mpiexec -n 4 python traffic_job.py."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
parity = world.Split(world.rank % 2, -world.rank)  # the higher rank of the world is the first one
parity.Alltoall(np.zeros(6), np.zeros(6))
parity.Alltoallv([np.zeros(2), [0, 2]], [np.zeros(2 * parity.rank * 2), [2 * parity.rank] * 2])
world.Sendrecv(np.zeros(10), after, recvbuf=np.zeros(10), source=before)
requests = [world.Send_init(np.zeros(5), after), world.Recv_init(np.zeros(5), before)]
for _ in range(3):
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
world.Allreduce(np.zeros(3), np.zeros(3))  # not recorded
window = MPI.Win.Create(np.zeros(8), 8, comm=world)
window.Fence()
if world.rank == 0:
    window.Put(np.zeros(4), 2)
    window.Get(np.zeros(8), 3)
window.Fence()
window.Free()
