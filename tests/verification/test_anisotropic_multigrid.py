"""Conjugate gradients with multigrid on stretched cells and blocked faces."""

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.linalg import PoissonSolver

MOST = 32  # iterations to 1e-10, on any mesh


def widening(cells: int, ratio: float) -> np.ndarray:
    """Return faces on [-1, 1] of cells that are `ratio` times as wide at the ends as inside."""
    s = np.linspace(-1, 1, cells + 1)
    return s if ratio == 1 else np.sinh(np.arccosh(ratio) * s) / np.sinh(np.arccosh(ratio))


def problem(faces, conditions, blocked, seed=3):
    """Return b on faces, of which a share is blocked, random values, and A of them by fluxes."""
    generator = np.random.default_rng(seed)
    shape = tuple(len(line) - 1 for line in reversed(faces))
    exact, f, coefficient = generator.standard_normal(shape), np.zeros(shape), []
    for axis, (line, condition) in enumerate(zip(faces, conditions, strict=True)):
        along = len(faces) - 1 - axis
        wide = tuple(n + (a == along) for a, n in enumerate(shape))
        b = np.moveaxis((generator.random(wide) >= blocked).astype(float), along, 0)
        x, widths = np.moveaxis(exact, along, 0), np.diff(line)
        distance = 0.5 * (np.append(widths, widths[0]) + np.append(widths[-1], widths))
        if condition == "periodic":
            b[-1] = b[0]
            x = np.concatenate([x[-1:], x, x[:1]])
        else:  # the value at the boundary is 0, or the cell's own
            ends = 0.0 if condition == "dirichlet" else 1.0
            distance[[0, -1]] = 0.5 * widths[[0, -1]]
            x = np.concatenate([ends * x[:1], x, ends * x[-1:]])
        column = (-1,) + (1,) * (len(faces) - 1)
        flux = b * np.diff(x, axis=0) / distance.reshape(column)
        f += np.moveaxis(np.diff(flux, axis=0) / widths.reshape(column), 0, along)
        coefficient.append(np.moveaxis(b, 0, along))
    return coefficient, exact, f


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
