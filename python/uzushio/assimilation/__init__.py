"""Assimilation: estimates of a model's initial state and parameters from observations.

`uzushio.assimilate` runs one from its case to its results, uncertainties included. To add a model,
subclass `Model` and register it by `uzushio.case.registry.register_model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.assimilation.case import AssimilationCase, load_assimilation
    from uzushio.assimilation.model import Guess, Model, Quantity, Trajectory
    from uzushio.assimilation.running import AssimilationResult, ParameterEstimate, assimilate
    from uzushio.observations import Observations

__all__ = [
    "AssimilationCase",
    "AssimilationResult",
    "Guess",
    "Model",
    "Observations",
    "ParameterEstimate",
    "Quantity",
    "Trajectory",
    "assimilate",
    "load_assimilation",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
