"""Incompressible flow with temperature and other scalars in a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.thermal.case import ThermalCase as ThermalCase
    from uzushio.thermal.solver import ThermalSolver as ThermalSolver

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
