"""Heat equation in a cylinder on an O-grid of five zones, whose kernels are an extension module."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from uzushio._base.config.section import Section
from uzushio.case.model import Case
from uzushio.solvers import BlockSolver

BUILT = sorted(
    Path(__file__).parents[2].glob("build/release*/tests/cylinder_heat*.so"),
    key=lambda path: path.stat().st_mtime,
)


class Grid(Section):
    n: int = 6
    nz: int = 5


class CylinderCase(Case):
    grid: Grid = Grid()


class CylinderHeat(BlockSolver):
    case_model = CylinderCase

    @classmethod
    def compiled(cls, case: CylinderCase) -> Any:
        return module().HeatSolver(case.grid.n, case.grid.nz)


def module() -> Any:
    """Return the extension module that the C++ tests' build has made."""
    if BUILT and str(BUILT[-1].parent) not in sys.path:
        sys.path.append(str(BUILT[-1].parent))
    import cylinder_heat

    return cylinder_heat
