"""Estimates of the memory and the convergence of the pressure solver, without that of a case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from uzushio.linalg import PoissonSolver
from uzushio.linalg.poisson import Ends
from uzushio.solvers.thermal.case import AXES, ThermalCase

if TYPE_CHECKING:
    from uzushio.domain.box import Box

#: Maximum number of cells along an axis of the solver that is made.
_CELLS = 48
#: Maximum number of cells of the grid on which the convergence is tried.
_TRIAL_CELLS = 1 << 16
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
        conditions=_conditions(case),
        b=open_faces if case.bodies else None,
        solver=case.numerics.solver,
    )
    more = _TRANSPOSED if solver.name == "fft" and ranks > 1 else 0
    return solver.bytes / (8.0 * np.prod(shape)) + more


def stall_notes(case: ThermalCase) -> Iterator[str]:
    """Yield a warning if an iterative solver that the case names does not converge.

    It is tried with random values and without bodies, on the grid, or on a coarser one with the
    same stretching.
    """
    from mpi4py import MPI

    numerics = case.numerics
    if numerics.solver in ("auto", "fft", "cg/fft"):
        return
    faces = []
    longest = round(_TRIAL_CELLS ** (1 / len(case.grid.axes)))
    for axis in case.grid.axes:
        line = axis.positions()
        count = min(len(line), longest + 1)
        faces.append(line[np.linspace(0, len(line) - 1, count).round().astype(int)])
    solver = PoissonSolver(
        MPI.COMM_SELF,
        faces=faces,
        conditions=_conditions(case),
        solver=numerics.solver,
        tolerance=numerics.tolerance,
        max_iterations=numerics.max_iterations,
    )
    values = np.random.default_rng(0).standard_normal(solver.box.count)
    volumes = np.ones(())
    for line in reversed(faces):
        volumes = np.multiply.outer(volumes, np.diff(line))
    _, report = solver.solve(values - (values * volumes).sum() / volumes.sum())
    if report.converged:
        return
    yield (
        f"the pressure solver '{report.solver}' does not converge with cells that are so much "
        f"longer than wide: its residual is {report.residual:.1e} after {report.iterations} "
        "iterations, tried without bodies. Use numerics.solver: auto, a larger "
        "numerics.max_iterations, or a grid that is less stretched."
    )


def _conditions(case: ThermalCase) -> list[Ends]:
    """Return the conditions of the pressure at both ends of each axis."""
    axes = AXES[: len(case.grid.axes)]
    return ["periodic" if axis in case.periodic else "neumann" for axis in axes]
