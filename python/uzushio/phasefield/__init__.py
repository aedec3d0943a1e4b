"""The phase field: forward sweeps, discrete adjoint, tangent-linear model, second-order adjoint.

`docs/theory/phasefield.md` has the equations whose numbers docstrings cite. The kernels are in
`src/phasefield`, on top of the time-blocked sweeps of `src/stencil`. `Boundary` is the type of the
names of boundary conditions. `Model` implements the sweeps of the contract in
`uzushio.assimilation.model`, and uses nothing of that package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.phasefield.blocking import Blocking, schemes
    from uzushio.phasefield.model import Counters, Model
    from uzushio.phasefield.parameters import Boundary, Parameters
    from uzushio.phasefield.trajectory import Trajectory

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
    __getattr__, __dir__ = lazy.names(__name__)
