"""Poisson and Helmholtz equations on uniform and stretched boxes.

::

    solver = PoissonSolver(
        comm,
        cells=(128, 128, 64),
        lengths=(2.0, 2.0, 1.0),
        conditions=("periodic", "periodic", ("neumann", "dirichlet")),
    )
    f = right_hand_side(solver.box)  # (z, y, x) of this rank's cells
    x, report = solver.solve(f)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.linalg.poisson import PoissonSolver as PoissonSolver
    from uzushio.linalg.poisson import SolveReport as SolveReport
    from uzushio.linalg.poisson import solver_names as solver_names
else:
    __getattr__, __dir__ = lazy.names(__name__)
