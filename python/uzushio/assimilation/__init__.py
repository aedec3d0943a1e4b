"""Assimilation: estimates of a model's initial state and parameters from observations.

`uzushio.assimilate` runs one from its case to its results, uncertainties included. To add a model,
subclass `Model` and name its file in the case: docs/how-to/own-model.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio._base.observations import Observations as Observations
    from uzushio.assimilation.case import AssimilationCase as AssimilationCase
    from uzushio.assimilation.case import load_assimilation as load_assimilation
    from uzushio.assimilation.derivative_tests import GradientCheck as GradientCheck
    from uzushio.assimilation.gradient_check import check_gradient as check_gradient
    from uzushio.assimilation.model import Guess as Guess
    from uzushio.assimilation.model import Model as Model
    from uzushio.assimilation.model import Quantity as Quantity
    from uzushio.assimilation.model import Trajectory as Trajectory
    from uzushio.assimilation.running import AssimilationResult as AssimilationResult
    from uzushio.assimilation.running import ParameterEstimate as ParameterEstimate
    from uzushio.assimilation.running import assimilate as assimilate
else:
    __getattr__, __dir__ = lazy.names(__name__)
