"""Estimate a model's initial state and its parameters from observations, with their uncertainty.

A model of one's own is a subclass of `Model`, which `uzushio.registry.register_model` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.assimilation.case import AssimilationCase, load_assimilation
    from uzushio.assimilation.model import Guess, Model, Quantity, Trajectory
    from uzushio.assimilation.observations import Observations

__all__ = [
    "AssimilationCase",
    "Guess",
    "Model",
    "Observations",
    "Quantity",
    "Trajectory",
    "load_assimilation",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(
        __name__,
        {
            "AssimilationCase": "case",
            "Guess": "model",
            "Model": "model",
            "Observations": "observations",
            "Quantity": "model",
            "Trajectory": "model",
            "load_assimilation": "case",
        },
    )
