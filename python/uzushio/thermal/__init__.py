"""Incompressible flow with temperature and other scalars in a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.thermal.case import ThermalCase
    from uzushio.thermal.solver import ThermalSolver

__all__ = ["ThermalCase", "ThermalSolver"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
