"""Estimate of the memory of the pressure solver, without allocating that of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uzushio.linalg import PoissonSolver
from uzushio.thermal.case import AXES, ThermalCase

if TYPE_CHECKING:
    from uzushio.domain.box import Box

#: Maximum number of cells along an axis of the solver that is made.
_CELLS = 48
#: Arrays of a direct solver that ranks transpose besides that of a single rank.
_TRANSPOSED = 2


def pressure_arrays(case: ThermalCase, ranks: int) -> float:
    """Return the memory of the pressure solver in arrays of the size of a field of a rank.

    A solver with the first cells of each axis, on this process, has about the same memory per cell.
    """
    from mpi4py import MPI

    faces = [axis.positions()[: _CELLS + 1] for axis in case.grid.axes]
    shape = [len(line) - 1 for line in reversed(faces)]

    def open_faces(_: Box) -> list[np.ndarray]:
        return [
            np.ones([n + (axis == normal) for axis, n in enumerate(shape)])
            for normal in reversed(range(len(shape)))
        ]

    solver = PoissonSolver(
        MPI.COMM_SELF,
        faces=faces,
        conditions=[
            "periodic" if axis in case.periodic else "neumann" for axis in AXES[: len(faces)]
        ],
        b=open_faces if case.bodies else None,
        solver=case.numerics.solver,
    )
    _, report = solver.solve(np.zeros(shape))
    more = _TRANSPOSED if report.solver == "fft" and ranks > 1 else 0
    return solver.bytes / (8.0 * np.prod(shape)) + more
