"""Times of the solvers of one Poisson equation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from uzushio.domain.box import Box
from uzushio.linalg.poisson import Ends, PoissonSolver, SolveReport

if TYPE_CHECKING:
    from mpi4py import MPI

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Equation to solve, and how often.

    Attributes:
        cells: along x, y, z.
        conditions: of x, y, z.
        variable: whether the coefficient varies tenfold.
        tolerance: of the relative residual.
        repeats: number of solves of each solver; the fastest counts.
    """

    cells: list[int]
    conditions: Sequence[Ends]
    variable: bool
    tolerance: float
    repeats: int

    def solver(self, comm: MPI.Comm, name: str) -> PoissonSolver:
        """Return a solver of the equation in a box whose cells are cubes."""
        longest = max(self.cells)
        return PoissonSolver(
            comm,
            self.cells,
            [count / longest for count in self.cells],
            conditions=self.conditions,
            b=_coefficient if self.variable else None,
            solver=name,
            tolerance=self.tolerance,
        )


@dataclass(frozen=True)
class Timing:
    """Time of one solver.

    Attributes:
        solver: name.
        seconds: of the fastest solve, maximum of the ranks.
        rate: cells a second for each rank.
        iterations: number; 0 for a direct solver.
        residual: norm of f - A x over the norm of f; 0 for a direct solver.
        converged: whether the tolerance was reached.
        bytes: of the arrays of all ranks, for each cell.
        efficiency: seconds of one rank alone over the product of ranks and their seconds.
    """

    solver: str
    seconds: float
    rate: float
    iterations: int
    residual: float
    converged: bool
    bytes: float
    efficiency: float


def measure(
    comm: MPI.Intracomm, problem: Problem, names: list[str], say: Callable[[str], None]
) -> list[Timing]:
    """Return the times of solvers by their names (collective).

    With several ranks, rank 0 solves the same equation alone while the others sleep.

    Raises:
        ValueError: A solver does not exist or does not apply.
    """
    from mpi4py import MPI

    timings = []
    for name in names:
        seconds, report, size = _time(comm, problem, name)
        alone = seconds
        if comm.size > 1:
            if comm.rank == 0:
                alone = _time(MPI.COMM_SELF, problem, name)[0]
            others = comm.Ibarrier()
            while not others.Test():
                time.sleep(0.01)
            alone = comm.bcast(alone)
        cells = math.prod(problem.cells)
        timings.append(
            Timing(
                solver=name,
                seconds=seconds,
                rate=cells / seconds / comm.size,
                iterations=report.iterations,
                residual=report.residual,
                converged=report.converged,
                bytes=size / cells,
                efficiency=alone / seconds / comm.size,
            )
        )
        if comm.rank == 0:
            say(f"uzushio: {name}: {seconds:.3g} s")
    return timings


def _time(comm: MPI.Comm, problem: Problem, name: str) -> tuple[float, SolveReport, int]:
    """Return the seconds of the fastest solve, its report, and the bytes of all ranks."""
    from mpi4py import MPI

    solver = problem.solver(comm, name)
    f = _right_hand_side(solver.box, problem.cells)
    x = np.zeros(solver.box.count)
    fastest = math.inf
    for _ in range(problem.repeats):
        x[:] = 0
        comm.Barrier()
        begin = time.perf_counter()
        _, report = solver.solve(f, x)
        fastest = min(fastest, comm.allreduce(time.perf_counter() - begin, MPI.MAX))
    return fastest, report, comm.allreduce(solver.bytes)


def _coefficient(box: Box) -> list[Array]:
    """Return a smooth coefficient between 1 and 10 on the faces of a box."""
    arrays = []
    for axis in reversed(range(len(box.count))):
        axes = [
            np.arange(start, start + count + (a == axis))
            for a, (start, count) in enumerate(zip(box.start, box.count, strict=True))
        ]
        grid = np.meshgrid(*axes, indexing="ij")
        arrays.append(5.5 + 4.5 * np.cos(0.1 * np.sum(grid, axis=0)))
    return arrays


def _right_hand_side(box: Box, cells: list[int]) -> Array:
    """Return values of long and short waves with zero mean over the whole box."""
    result = np.ones(())
    for start, count, total in zip(box.start, box.count, reversed(cells), strict=True):
        centres = np.arange(start, start + count) + 0.5
        phase = np.pi * centres / total
        wave = np.cos(2 * phase) + 0.5 * np.cos((total // 3 * 2) * phase)
        result = np.multiply.outer(result, wave)
    return result
