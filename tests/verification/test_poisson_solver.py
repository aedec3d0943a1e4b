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


def widening(cells: int, stretching: float) -> np.ndarray:
    """Positions of faces from the middle of which cells widen to both sides."""
    s = np.linspace(-1, 1, cells + 1)
    return 0.5 + 0.5 * np.sinh(stretching * s) / np.sinh(stretching)


def blocked_problem(faces, is_open, seed=0):
    """Return the coefficient of faces that are open or not, a solution, and its right-hand side.

    `is_open(axis, shape)`: whether the faces along an axis (0: x) are open.
    """
    shape = tuple(len(line) - 1 for line in reversed(faces))
    exact = np.random.default_rng(seed).standard_normal(shape)
    coefficient, f = [], np.zeros(shape)
    for axis, line in enumerate(faces):
        along = len(faces) - 1 - axis
        wide = tuple(n + (a == along) for a, n in enumerate(shape))
        coefficient.append(is_open(axis, wide).astype(float))
        column = [1] * len(faces)
        column[along] = -1
        inside = [slice(None)] * len(faces)
        inside[along] = slice(1, -1)
        distance = np.diff(centres(line)).reshape(column)
        flux = coefficient[-1][tuple(inside)] * np.diff(exact, axis=along) / distance
        ends = [(int(a == along),) * 2 for a in range(len(faces))]
        f += np.diff(np.pad(flux, ends), axis=along) / np.diff(line).reshape(column)
    return coefficient, f


@pytest.mark.parametrize("stretching", [1.0, 4.0, 6.0])
def test_the_automatic_solver_converges_around_a_body_on_stretched_grids(stretching):
    # Cells are 1.5, 27 and 200 times as wide at the ends as in the middle.
    faces = [widening(72, stretching), widening(60, stretching)]
    y, x = np.meshgrid(centres(faces[1]), centres(faces[0]), indexing="ij")
    inside = (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.05**2

    def is_open(axis, shape):
        along = 1 - axis
        padded = np.pad(inside, [(int(a == along),) * 2 for a in range(2)])
        below, above = (padded.take(range(n, n + shape[along]), along) for n in (0, 1))
        return ~(below | above)

    coefficient, f = blocked_problem(faces, is_open)
    solver = PoissonSolver(
        MPI.COMM_SELF, faces=faces, conditions=("neumann",) * 2, b=lambda box: coefficient
    )
    _, report = solver.solve(f)
    assert report.converged and report.iterations < 25
    assert stretching < 4 or report.solver == "cg/fft"


@pytest.mark.parametrize("seed", range(4))
def test_the_automatic_solver_converges_where_a_fifth_of_the_faces_is_blocked(seed):
    generator = np.random.default_rng(seed)
    faces = []
    for cells in (40, 7):
        s = np.linspace(-1, 1, cells + 1)
        faces.append(np.tanh(1.8 * s) / np.tanh(1.8))
    coefficient, f = blocked_problem(faces, lambda axis, shape: generator.random(shape) > 0.2, seed)
    solver = PoissonSolver(
        MPI.COMM_SELF, faces=faces, conditions=("neumann",) * 2, b=lambda box: coefficient
    )
    _, report = solver.solve(f)
    assert report.converged, report


def test_fluxes_between_narrow_cells_leave_no_mean_that_the_direct_solver_refuses():
    faces = []
    for cells, length in ((64, 1.0), (48, 1.3)):
        t = np.linspace(0, 1, cells + 1)
        faces.append(length * (t - 0.12 * np.sin(2 * np.pi * t)))

    def is_open(axis, shape):
        """Walls from both sides in turn, with fluid on both of theirs."""
        open_faces = np.ones(shape, dtype=bool)
        if axis == 0:
            open_faces[8:, 8::32] = False
            open_faces[:40, 24::32] = False
        return open_faces

    coefficient, _ = blocked_problem(faces, is_open)
    solver = PoissonSolver(
        MPI.COMM_SELF,
        faces=faces,
        conditions=("neumann",) * 2,
        b=lambda box: coefficient,
        solver="cg/fft",
        tolerance=1e-6,
    )
    for seed in range(100):
        _, report = solver.solve(blocked_problem(faces, is_open, seed)[1])
        assert report.converged and report.iterations < 120
