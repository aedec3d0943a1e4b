"""Incompressible flow with temperature and other scalars in a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.solvers.thermal.case import ThermalCase as ThermalCase
    from uzushio.solvers.thermal.solver import ThermalSolver as ThermalSolver
else:
    __getattr__, __dir__ = lazy.names(__name__)
