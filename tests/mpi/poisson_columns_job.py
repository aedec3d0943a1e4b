"""Solutions of the direct Poisson solver in shared memory, by messages, and on one rank."""

from __future__ import annotations

import os
import sys

import numpy as np
from mpi4py import MPI

from uzushio.linalg import PoissonSolver

SHAPE = (9, 10, 12)  # z, y, x
CONDITIONS = ("periodic", "neumann", "dirichlet")


def solver(comm: MPI.Comm) -> PoissonSolver:
    """Return the solver of a box whose axis z is stretched."""
    z, y, x = SHAPE
    faces = [np.linspace(0.0, 1.0, x + 1), np.linspace(0.0, 2.0, y + 1), np.arange(z + 1.0) ** 1.5]
    return PoissonSolver(comm, faces=faces, conditions=CONDITIONS, solver="fft")


def main() -> None:
    """Write, for several right-hand sides, whether all solutions have the same bits."""
    comm = MPI.COMM_WORLD
    shared = solver(comm)
    os.environ["UZUSHIO_TRAFFIC"] = "counted.mtx"  # then ranks send messages
    messages = solver(comm)
    alone = solver(MPI.COMM_SELF)
    rng = np.random.default_rng(3)  # the same on all ranks
    equal = True
    for _ in range(20):
        f = rng.standard_normal(SHAPE)
        mine = tuple(
            slice(start, start + count)
            for start, count in zip(shared.box.start, shared.box.count, strict=True)
        )
        right, whole = np.ascontiguousarray(f[mine]), alone.solve(f)[0]
        for poisson in (shared, messages):
            equal = equal and bool(np.array_equal(poisson.solve(right)[0], whole[mine]))
    waits = shared.sections.seconds()["transposes"]
    equal = comm.allreduce(equal, MPI.LAND)
    if comm.rank == 0:
        print("the same" if equal and waits > 0.0 else "different", file=sys.stdout)


if __name__ == "__main__":
    main()
