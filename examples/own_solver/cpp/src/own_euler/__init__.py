"""Compressible Euler equations in the plane; its kernels are in euler.cpp beside this package."""

from typing import Any, Literal

from own_euler import _euler
from uzushio.case import Count
from uzushio.solvers import BlockCase, BlockSolver


class EulerCase(BlockCase):
    """Case file of the solver."""

    flow: Literal["bubble", "vortex"]
    cells: Count  # across the box


class Euler(BlockSolver):
    """The solver of euler.cpp."""

    case_model = EulerCase

    @classmethod
    def compiled(cls, case: EulerCase) -> Any:
        """Return the solver in C++ of a case."""
        return _euler.Euler(case.flow == "vortex", case.cells)
