"""Conjugate gradients with multigrid on stretched cells and blocked faces."""

import numpy as np
import pytest
from mpi4py import MPI
from stretched_poisson import problem, widening

from uzushio.linalg import PoissonSolver

MOST = 32  # iterations to 1e-10, on any mesh


def solved(faces, conditions, blocked, solver="cg", seed=3):
    """Solve to 1e-10; return the solution, the random values, and the report."""
    b, exact, f = problem(faces, conditions, blocked, seed)
    this = PoissonSolver(
        MPI.COMM_SELF,
        faces=faces,
        conditions=conditions,
        b=(lambda box: b) if blocked else None,
        solver=solver,
        tolerance=1e-10,
        max_iterations=200,
    )
    x, report = this.solve(f)
    return x, exact, report


@pytest.mark.parametrize("blocked", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("ratio", [1.0, 10.0, 1e3, 1e4])
@pytest.mark.parametrize("conditions", [("neumann", "neumann"), ("dirichlet", "periodic")])
def test_iterations_depend_neither_on_the_size_nor_on_the_stretching(conditions, ratio, blocked):
    for cells in (16, 48, 112):
        faces = [widening(cells, ratio), widening(cells + 3, ratio)]
        x, exact, report = solved(faces, conditions, blocked)
        assert report.converged and report.iterations <= MOST, (cells, report)
        if conditions[0] == "dirichlet" and blocked == 0:
            assert abs(x - exact).max() < 1e-6


@pytest.mark.parametrize("ratio", [10.0, 1e3, 1e4])
def test_in_three_dimensions_too(ratio):
    conditions = ("neumann", "dirichlet", "periodic")
    for cells in (12, 20, 32):
        faces = [widening(n, r) for n, r in ((cells, ratio), (cells + 3, ratio), (cells - 1, 1))]
        for blocked in (0.0, 0.2):
            _, _, report = solved(faces, conditions, blocked)
            assert report.converged and report.iterations <= MOST + 4, (cells, blocked, report)


@pytest.mark.parametrize("aspect", [3.0, 30.0, 1e3, 1e4])
def test_equal_cells_that_are_long_along_one_axis(aspect):
    for cells in (16, 64):
        faces = [np.linspace(0, aspect, cells + 1), np.linspace(0, 1, cells + 1)]
        for blocked in (0.0, 0.2):
            _, _, report = solved(faces, ("neumann", "neumann"), blocked)
            assert report.converged and report.iterations <= MOST, (cells, blocked, report)


@pytest.mark.parametrize("solver", ["cg", "pipelined_cg", "bicgstab", "multigrid", "auto"])
def test_no_method_stalls_where_a_fifth_of_the_faces_is_blocked(solver):
    most = {"cg": 30, "pipelined_cg": 45, "bicgstab": 30, "multigrid": 150, "auto": 60}[solver]
    for seed in range(3):
        faces = []
        for cells in (40, 7):
            s = np.linspace(-1, 1, cells + 1)
            faces.append(np.tanh(1.8 * s) / np.tanh(1.8))
        conditions = ("neumann", "neumann")
        _, _, report = solved(faces, conditions, 0.2, solver, seed)
        assert report.converged and report.iterations <= most, report
