"""Vibration of a membrane with fixed edges, on any number of ranks, instrumented for Uzushio.

    d2u/dt2 = d2u/dx2 + d2u/dy2,  0 <= x, y <= 1

Central differences, leapfrog, points divided among the ranks in rows. The initial mode is an
eigenvector of the scheme, so that the exact solution is known: u = cos(w n) sin(2 pi x) sin(pi y)
after n steps, with sin(w / 2)^2 = dt^2 (sin(pi hx)^2 / hx^2 + sin(pi hy / 2)^2 / hy^2). The program
fails unless it reproduces that.

    mpiexec -n 2 python wave.py [nx ny steps every]
"""

import sys

import numpy as np
from mpi4py import MPI

from uzushio import staging

numbers = [int(word) for word in sys.argv[1:]]
nx, ny, steps, every = numbers + [256, 192, 2000, 20][len(numbers) :]  # cells, points are one more
# Communicator of the ranks that run this program of the launch.
comm = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.Get_attr(MPI.APPNUM) or 0)

# Rows of points of this rank, and one of its neighbours' on either side.
first = (ny + 1) * comm.rank // comm.size
last = (ny + 1) * (comm.rank + 1) // comm.size
above = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
below = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL

hx, hy = 1 / nx, 1 / ny
dt = 0.5 * min(hx, hy)
omega = 2 * np.arcsin(dt * np.hypot(np.sin(np.pi * hx) / hx, np.sin(np.pi * hy / 2) / hy))
x = np.arange(nx + 1) * hx
y = np.arange(first - 1, last + 1) * hy
mode = np.sin(np.pi * y)[:, np.newaxis] * np.sin(2 * np.pi * x)
inside = np.zeros_like(mode, dtype=bool)  # points that move
inside[1:-1, 1:-1] = ((y > hy / 2) & (y < 1 - hy / 2))[1:-1, np.newaxis]


def exchange(u: np.ndarray) -> None:
    """Exchange the ghost rows with the neighbours."""
    comm.Sendrecv(u[-2], above, recvbuf=u[0], source=below)
    comm.Sendrecv(u[1], below, recvbuf=u[-1], source=above)


def leap(u: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Compute the step after `u` in the memory of `before`."""
    exchange(u)
    new = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1]
    new += (dt / hx) ** 2 * (u[1:-1, 2:] - 2 * u[1:-1, 1:-1] + u[1:-1, :-2])
    new += (dt / hy) ** 2 * (u[2:, 1:-1] - 2 * u[1:-1, 1:-1] + u[:-2, 1:-1])
    before[1:-1, 1:-1] = np.where(inside[1:-1, 1:-1], new, 0)
    return before


u, before = mode.copy(), mode * np.cos(omega)

# ---- Uzushio: description. Axes are z, y, x. ----
with staging.open("wave", comm, "staging.yaml") as writer:
    writer.uniform_mesh("membrane", elements=(1, ny, nx), spacing=(1, hy, hx), dimension=2)
    writer.field("u", "membrane", "vertex", units="m")
    writer.block(
        comm.rank, "membrane", ((0, first, 0), (1, last - first, nx + 1)), association="vertex"
    )
    for n in range(steps + 1):
        if n % every == 0:
            # ---- Uzushio: a step. ----
            with writer.step(n, n * dt):
                writer.put("u", u[1:-1])
        if n < steps:
            u, before = leap(u, before), u

error = np.abs(u - mode * np.cos(omega * steps))[1:-1].max()
error = comm.allreduce(error, MPI.MAX)
if comm.rank == 0:
    print(f"wave: {'correct' if error < 1e-9 else 'WRONG'}; maximum error {error:.1e}")
sys.exit(0 if error < 1e-9 else 1)
