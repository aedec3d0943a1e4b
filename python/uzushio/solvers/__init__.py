"""Solvers, the interface between a solver and the framework, and the base of solvers of blocks.

A solver of one's own is a subclass of `Solver`, or, on structured zones, of `BlockSolver`; its case
file is described by a subclass of `uzushio.case.Case` or of `BlockCase`. An author declares mesh
and fields and writes functions for one block at a time, in Python or in C++. Decomposition, halo
exchange, boundary conditions and integration in time are those of `src/domain`.
docs/how-to/own-solver.md shows examples. The solvers `uzushio.solvers.channel`,
`uzushio.solvers.thermal` and the sweeps `uzushio.solvers.phasefield` can be used from Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.solvers import channel as channel
    from uzushio.solvers import phasefield as phasefield
    from uzushio.solvers import thermal as thermal
    from uzushio.solvers.block_solver.case import BlockCase as BlockCase
    from uzushio.solvers.block_solver.case import BlockStatistics as BlockStatistics
    from uzushio.solvers.block_solver.case import BlockTime as BlockTime
    from uzushio.solvers.block_solver.solver import BlockSolver as BlockSolver
    from uzushio.solvers.contract import DistributedArray as DistributedArray
    from uzushio.solvers.contract import Estimate as Estimate
    from uzushio.solvers.contract import Field as Field
    from uzushio.solvers.contract import Mesh as Mesh
    from uzushio.solvers.contract import Offer as Offer
    from uzushio.solvers.contract import Parameter as Parameter
    from uzushio.solvers.contract import Reading as Reading
    from uzushio.solvers.contract import Sample as Sample
    from uzushio.solvers.contract import Solver as Solver
    from uzushio.solvers.contract import SolverDivergedError as SolverDivergedError
    from uzushio.solvers.contract import State as State
    from uzushio.solvers.contract import StoredState as StoredState
    from uzushio.solvers.contract import Traffic as Traffic
    from uzushio.solvers.contract import next_step as next_step
else:
    __getattr__, __dir__ = lazy.names(__name__)
