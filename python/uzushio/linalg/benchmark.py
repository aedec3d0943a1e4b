"""Times of the solvers of one Poisson equation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from uzushio._base.parallel.roofline import triad_rate
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
        conditions: conditions at the boundaries of x, y, z.
        variable: whether the coefficient varies tenfold.
        stretching: stretching of the axes that are not periodic, finer at both ends (tanh); 0:
            cubes.
        tolerance: limit of the relative residual.
        repeats: number of solves of each solver; the fastest counts.
    """

    cells: list[int]
    conditions: Sequence[Ends]
    variable: bool
    stretching: float
    tolerance: float
    repeats: int

    def solver(self, comm: MPI.Comm, name: str) -> PoissonSolver:
        """Return a solver of the equation in a box whose cells are cubes but for stretching."""
        return PoissonSolver(
            comm,
            faces=self.faces(),
            conditions=self.conditions,
            b=_coefficient if self.variable else None,
            solver=name,
            tolerance=self.tolerance,
        )

    def faces(self) -> list[Array]:
        """Return the positions of the cell faces along x, y, z."""
        result = []
        for count, ends in zip(self.cells, self.conditions, strict=True):
            place = np.linspace(0.0, 1.0, count + 1)
            if self.stretching and "periodic" not in ends:
                g = self.stretching
                place = 0.5 * (1.0 + np.tanh(g * (2.0 * place - 1.0)) / np.tanh(g))
            result.append(place * count / max(self.cells))
        return result


@dataclass(frozen=True)
class Timing:
    """Time of one solver.

    Attributes:
        solver: name.
        seconds: duration of the fastest solve, maximum of the ranks.
        rate: cells a second for each thread of each rank.
        moved: bytes that a solve moves between memory and processors by theory, for each cell.
        predicted: seconds in which STREAM's triad moves them.
        sections: share of the seconds of the solves by section, mean of the ranks.
        iterations: number; 0 for a direct solver.
        residual: norm of f - A x over the norm of f; 0 for a direct solver.
        converged: whether the tolerance was reached.
        bytes: size of the arrays of all ranks, for each cell.
        efficiency: seconds of one rank alone over the product of ranks and their seconds.
    """

    solver: str
    seconds: float
    rate: float
    moved: float
    predicted: float
    sections: dict[str, float]
    iterations: int
    residual: float
    converged: bool
    bytes: float
    efficiency: float


@dataclass(frozen=True)
class _Solves:
    """Solves of one solver on some ranks."""

    seconds: float  # of the fastest
    report: SolveReport
    size: int  # bytes of the arrays
    moved: float  # bytes by theory in one solve, all ranks
    sections: dict[str, float]


def measure(
    comm: MPI.Intracomm,
    problem: Problem,
    names: list[str],
    threads: int,
    say: Callable[[str], None],
) -> tuple[list[Timing], float]:
    """Return the times of solvers by their names, and the rate of STREAM's triad (collective).

    With several ranks, rank 0 solves the same equation alone while the others sleep. The triad runs
    on all ranks before and after the solvers; the larger rate, in bytes a second, counts.
    `threads`: OpenMP threads of a rank.

    Raises:
        ValueError: A solver does not exist or does not apply.
    """
    from mpi4py import MPI

    triad = triad_rate(comm)
    measured: list[tuple[_Solves, float]] = []
    for name in names:
        solves = _time(comm, problem, name)
        alone = solves.seconds
        if comm.size > 1:
            if comm.rank == 0:
                alone = _time(MPI.COMM_SELF, problem, name).seconds
            others = comm.Ibarrier()
            while not others.Test():
                time.sleep(0.01)
            alone = comm.bcast(alone)
        measured.append((solves, alone))
        if comm.rank == 0:
            say(f"uzushio: {name}: {solves.seconds:.3g} s")
    triad = max(triad, triad_rate(comm))
    cells = math.prod(problem.cells)
    timings = [
        Timing(
            solver=name,
            seconds=solves.seconds,
            rate=cells / solves.seconds / comm.size / threads,
            moved=solves.moved / cells,
            predicted=solves.moved / triad,
            sections=solves.sections,
            iterations=solves.report.iterations,
            residual=solves.report.residual,
            converged=solves.report.converged,
            bytes=solves.size / cells,
            efficiency=alone / solves.seconds / comm.size,
        )
        for name, (solves, alone) in zip(names, measured, strict=True)
    ]
    return timings, triad


def _time(comm: MPI.Comm, problem: Problem, name: str) -> _Solves:
    """Solve `problem.repeats` times (collective)."""
    from mpi4py import MPI

    solver = problem.solver(comm, name)
    f = _right_hand_side(solver.box, problem.faces())
    x = np.zeros(solver.box.count)
    fastest, whole = math.inf, 0.0
    solver.sections.reset()
    for _ in range(problem.repeats):
        x[:] = 0
        comm.Barrier()
        begin = time.perf_counter()
        _, report = solver.solve(f, x)
        taken = time.perf_counter() - begin
        whole += comm.allreduce(taken)
        fastest = min(fastest, comm.allreduce(taken, MPI.MAX))
    totals = solver.sections.totals()
    moved = comm.allreduce(sum(section.bytes for path, section in totals.items() if len(path) == 1))
    seconds: dict[str, float] = {}
    for of_rank in comm.allgather(solver.sections.seconds()):
        for section, spent in of_rank.items():
            seconds[section] = seconds.get(section, 0.0) + spent
    return _Solves(
        seconds=fastest,
        report=report,
        size=comm.allreduce(solver.bytes),
        moved=moved / problem.repeats,
        sections={section: spent / whole for section, spent in seconds.items()},
    )


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


def _right_hand_side(box: Box, faces: list[Array]) -> Array:
    """Return values of long and short waves with zero mean over the whole box."""
    result = np.ones(())
    for start, count, positions in zip(box.start, box.count, reversed(faces), strict=True):
        total = len(positions) - 1
        widths = np.diff(positions)[start : start + count]
        centres = np.arange(start, start + count) + 0.5
        phase = np.pi * centres / total
        wave = np.cos(2 * phase) + 0.5 * np.cos((total // 3 * 2) * phase)
        result = np.multiply.outer(result, wave * (positions[-1] / total / widths))
    return result
