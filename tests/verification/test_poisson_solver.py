"""The Poisson solvers of the Python API against exact solutions, on one rank."""

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.linalg import PoissonSolver, solver_names


def centres(faces):
    return 0.5 * (faces[1:] + faces[:-1])


def error(n: int, solver: str) -> float:
    """Return the largest error for a manufactured solution with b = 1 + x in a stretched box."""
    x, y = np.linspace(0, 1, n + 1), np.linspace(0, 2, n + 1)
    z = np.linspace(0, 1, n + 1)
    z = z - 0.08 * np.sin(2 * np.pi * z)

    def coefficient(box):
        at_x = np.broadcast_to(1 + x, (n, n, n + 1))
        at_y = np.broadcast_to(1 + centres(x), (n, n + 1, n))
        at_z = np.broadcast_to(1 + centres(x), (n + 1, n, n))
        return at_x, at_y, at_z

    varies = solver != "fft"
    this = PoissonSolver(
        MPI.COMM_SELF,
        faces=(x, y, z),
        conditions=("dirichlet", "periodic", "neumann"),
        s=2.0,
        b=coefficient if varies else None,
        solver=solver,
        tolerance=1e-10,
    )
    zz, yy, xx = np.meshgrid(centres(z), centres(y), centres(x), indexing="ij")
    exact = np.sin(np.pi * xx) * np.cos(np.pi * yy) * np.cos(2 * np.pi * zz)
    f = -(6 * np.pi**2 * (1 + xx if varies else 1) + 2) * exact
    if varies:
        f += np.pi * np.cos(np.pi * xx) * np.cos(np.pi * yy) * np.cos(2 * np.pi * zz)
    u, report = this.solve(f)
    assert report.converged
    assert report.solver == solver
    return float(abs(u - exact).max())


@pytest.mark.parametrize("solver", ["fft", "multigrid", "cg", "bicgstab"])
def test_the_error_falls_with_the_square_of_the_cells_width(solver):
    coarse, fine = error(16, solver), error(32, solver)
    assert np.log2(coarse / fine) == pytest.approx(2, abs=0.12)


def test_a_plane_is_solved_in_two_dimensions():
    n = 48
    solver = PoissonSolver(
        MPI.COMM_SELF, (n, n), (1.0, 1.0), conditions=(("dirichlet", "neumann"), "periodic")
    )
    assert solver.box.count == (n, n)
    at = (np.arange(n) + 0.5) / n
    exact = np.outer(np.cos(2 * np.pi * at), np.sin(0.5 * np.pi * at))
    u, report = solver.solve(-(4 + 0.25) * np.pi**2 * exact)
    assert report.solver == "fft"
    assert abs(u - exact).max() < 2e-3


def test_a_first_estimate_shortens_the_iteration():
    solver = PoissonSolver(
        MPI.COMM_SELF, (16, 16, 16), (1, 1, 1), conditions=("dirichlet",) * 3, solver="cg"
    )
    f = np.random.default_rng(1).standard_normal((16, 16, 16))
    x, first = solver.solve(f)
    again, second = solver.solve(f, x)
    assert again is x
    assert first.iterations > 3 >= second.iterations


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conditions": ("dirichlet", "open", "neumann")}, "conditions of an axis are"),
        ({"conditions": ("dirichlet", ("periodic", "neumann"), "neumann")}, "at both ends"),
        ({"conditions": ("dirichlet",)}, "1 conditions for 3 axes"),
        ({"cells": (8, 0, 8)}, "at least one cell"),
        ({"lengths": (1.0, 1.0)}, "give faces, or cells and lengths"),
        ({"solver": "gauss"}, "there is no linear solver 'gauss'; there are: auto"),
        ({"s": -1.0}, "not negative"),
        ({"b": lambda box: [np.ones((3, 3, 3))] * 3}, "b along x has the shape"),
        (
            {"b": lambda box: [-np.ones(np.add(box.count, e)) for e in np.eye(3, dtype=int)[::-1]]},
            "negative",
        ),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"max_iterations": 0}, "max_iterations 0: both are above 0"),
    ],
)
def test_what_is_wrong_is_said(arguments, message):
    valid = {"cells": (8, 8, 8), "lengths": (1.0, 1.0, 1.0), "conditions": ("neumann",) * 3}
    with pytest.raises(ValueError, match=message):
        PoissonSolver(MPI.COMM_SELF, **{**valid, **arguments})


def test_a_right_hand_side_without_solution_is_an_error():
    solver = PoissonSolver(MPI.COMM_SELF, (8, 8, 8), (1, 1, 1), conditions=("neumann",) * 3)
    with pytest.raises(ValueError, match="subtract its mean"):
        solver.solve(np.ones((8, 8, 8)))
    with pytest.raises(ValueError, match="f has the shape"):
        solver.solve(np.ones((8, 8, 7)))


@pytest.mark.parametrize("end", ["dirichlet", "neumann"])
@pytest.mark.parametrize("solver", ["fft", "cg", "multigrid", "sor"])
def test_a_right_hand_side_that_is_not_finite_is_an_error(solver, end):
    this = PoissonSolver(MPI.COMM_SELF, (6, 5, 4), (1, 1, 1), conditions=(end,) * 3, solver=solver)
    for value in (np.nan, np.inf):
        f = np.zeros(this.box.count)
        f[0, 1, 2] = value
        with pytest.raises(ValueError, match=r"not finite|it is nan|it is inf"):
            this.solve(f)


def test_the_names_are_those_of_the_core():
    assert {"auto", "fft", "multigrid", "cg", "pipelined_cg", "bicgstab", "sor"} <= set(
        solver_names()
    )
