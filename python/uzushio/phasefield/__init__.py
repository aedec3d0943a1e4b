"""The phase field: forward sweeps, discrete adjoint, tangent-linear model, second-order adjoint.

`docs/theory/phasefield.md` has the equations, whose numbers docstrings name. The kernels are in
`src/phasefield`, on top of the time-blocked sweeps of `src/stencil`. `Boundary` is the type of the
names of boundary conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.phasefield.model import Blocking, Counters, Model, Trajectory, schemes
    from uzushio.phasefield.parameters import Boundary, Parameters

__all__ = [
    "Blocking",
    "Boundary",
    "Counters",
    "Model",
    "Parameters",
    "Trajectory",
    "schemes",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(
        __name__,
        {
            "Blocking": "model",
            "Boundary": "parameters",
            "Counters": "model",
            "Model": "model",
            "Parameters": "parameters",
            "Trajectory": "model",
            "schemes": "model",
        },
    )
