"""The phase field: forward sweeps, discrete adjoint, tangent-linear model, second-order adjoint.

`docs/theory/phasefield.md` has the equations, whose numbers docstrings name. The kernels are in
`src/phasefield`, on top of the time-blocked sweeps of `src/stencil`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uzushio.phasefield.model import Blocking, Counters, Model, Trajectory, schemes
    from uzushio.phasefield.parameters import Boundary, Parameters

_WHERE = {
    "Blocking": "model",
    "Boundary": "parameters",
    "Counters": "model",
    "Model": "model",
    "Parameters": "parameters",
    "Trajectory": "model",
    "schemes": "model",
}

__all__ = [
    "Blocking",
    "Boundary",
    "Counters",
    "Model",
    "Parameters",
    "Trajectory",
    "schemes",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
