"""Solvers on multiblock meshes: methods of `Solver` derived from declarations.

An author declares mesh and fields and writes functions for one block at a time, in Python or in
C++. Decomposition, halo exchange, boundary conditions and integration in time are those of
`src/domain`; docs/how-to/own-solver.md shows examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.solvers.block_solver.case import BlockCase as BlockCase
    from uzushio.solvers.block_solver.case import BlockStatistics as BlockStatistics
    from uzushio.solvers.block_solver.case import BlockTime as BlockTime
    from uzushio.solvers.block_solver.solver import BlockSolver as BlockSolver

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
