"""Conjugate gradients with algebraic multigrid on all ranks beside one rank: the same solutions."""

import numpy as np
from mpi4py import MPI

from uzushio.linalg import PoissonSolver

WORLD = MPI.COMM_WORLD
TOLERANCE = 1e-10


def widening(cells: int, ratio: float) -> np.ndarray:
    """Return faces on [-1, 1] of cells that are `ratio` times as wide at the ends as inside."""
    s = np.linspace(-1, 1, cells + 1)
    return np.sinh(np.arccosh(ratio) * s) / np.sinh(np.arccosh(ratio))


def open_faces(shape: tuple[int, ...], share: float) -> list[np.ndarray]:
    """Return b, which is 0 on a share of the faces, for each axis, x first."""
    random, found = np.random.default_rng(7), []
    for along in reversed(range(len(shape))):
        wide = tuple(n + (axis == along) for axis, n in enumerate(shape))
        found.append((random.random(wide) >= share).astype(float))
    return found


def solve(comm, faces, conditions, blocked, f):
    """Return this rank's box, its solution and the report."""
    b = open_faces(f.shape, blocked)

    def coefficient(box):
        own = []
        for along, values in zip(reversed(range(f.ndim)), b, strict=True):
            ends = (
                (s, s + n + (a == along)) for a, (s, n) in enumerate(zip(*box.pair, strict=True))
            )
            own.append(values[tuple(slice(*end) for end in ends)])
        return own

    solver = PoissonSolver(
        comm,
        faces=faces,
        conditions=conditions,
        b=coefficient if blocked else None,
        solver="cg",
        tolerance=TOLERANCE,
        max_iterations=200,
    )
    x, report = solver.solve(f[solver.box.slices()])
    return solver.box, x, report


for conditions, cells, ratio, blocked in [
    (("dirichlet", "neumann"), (40, 37), 1e3, 0.2),
    (("neumann", "neumann"), (64, 21), 30.0, 0.0),
    (("neumann", "dirichlet", "neumann"), (12, 15, 10), 1e3, 0.1),
]:
    faces = [widening(n, ratio) for n in cells]
    widths = np.diff(faces[0])
    for line in faces[1:]:
        widths = np.multiply.outer(np.diff(line), widths)
    f = np.random.default_rng(3).standard_normal(widths.shape)
    if "dirichlet" not in conditions:
        f -= (f * widths).sum() / widths.sum()
    _, alone, one = solve(MPI.COMM_SELF, faces, conditions, blocked, f)
    box, x, many = solve(WORLD, faces, conditions, blocked, f)
    assert one.converged and many.converged, (one, many)
    error = abs(x - alone[box.slices()]).max() if x.size else 0.0
    error = WORLD.allreduce(error, MPI.MAX) / abs(alone).max()
    if WORLD.rank == 0:
        print(f"{cells}: {one.iterations} and {many.iterations} iterations, {error:.1e}")
    assert abs(one.iterations - many.iterations) <= 4, (one, many)
    assert error < 1e-7, error
if WORLD.rank == 0:
    print("the same solutions")
