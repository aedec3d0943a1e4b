"""Conjugate gradients with algebraic multigrid on all ranks beside one rank: the same solutions."""

from mpi4py import MPI
from stretched_poisson import problem, widening

from uzushio.linalg import PoissonSolver

WORLD = MPI.COMM_WORLD


def solve(comm, faces, conditions, blocked):
    """Return this rank's box, its solution and the report."""
    b, _, f = problem(faces, conditions, blocked)

    def coefficient(box):
        own = []
        for along, values in zip(reversed(range(f.ndim)), b, strict=True):
            start, count = box.pair
            count = (n + (axis == along) for axis, n in enumerate(count))
            own.append(values[tuple(slice(s, s + n) for s, n in zip(start, count, strict=True))])
        return own

    solver = PoissonSolver(
        comm,
        faces=faces,
        conditions=conditions,
        b=coefficient if blocked else None,
        solver="cg",
        tolerance=1e-10,
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
    _, alone, single = solve(MPI.COMM_SELF, faces, conditions, blocked)
    box, x, many = solve(WORLD, faces, conditions, blocked)
    assert single.converged and many.converged, (single, many)
    error = abs(x - alone[box.slices()]).max() if x.size else 0.0
    error = WORLD.allreduce(error, MPI.MAX) / abs(alone).max()
    if WORLD.rank == 0:
        print(f"{cells}: {single.iterations} and {many.iterations} iterations, {error:.1e}")
    assert abs(single.iterations - many.iterations) <= 4, (single, many)
    assert error < 1e-7, error
if WORLD.rank == 0:
    print("the same solutions")
