"""Set up the thermal case of the first argument, and print how often each rank read a file."""

import sys

from mpi4py import MPI

from uzushio import _core
from uzushio.case import load_case
from uzushio.solvers.thermal import ThermalSolver

COMM = MPI.COMM_WORLD
reads = 0
read = _core.thermal.stl


def counted(*arguments: object) -> object:
    global reads
    reads += 1
    return read(*arguments)


_core.thermal.stl = counted
case = load_case(sys.argv[1], comm=COMM)
ThermalSolver.estimate(case, COMM.size)
solver = ThermalSolver(case, COMM).begin()
gathered = COMM.gather((reads, [*solver.body_forces()]))
if gathered is not None:
    print([count for count, _ in gathered], *gathered[-1][1])
