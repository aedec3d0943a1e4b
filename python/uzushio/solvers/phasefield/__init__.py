"""The phase field: forward sweeps, discrete adjoint, tangent-linear model, second-order adjoint.

`docs/theory/phasefield.md` has the equations whose numbers docstrings cite. The kernels are in
`src/solvers/phasefield`, on top of the time-blocked sweeps of `src/stencil`. `Boundary` is the type
of the names of boundary conditions. `Model` implements the sweeps of the contract in
`uzushio.assimilation.model`, and uses nothing of that package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.solvers.phasefield.blocking import Blocking as Blocking
    from uzushio.solvers.phasefield.blocking import schemes as schemes
    from uzushio.solvers.phasefield.model import Counters as Counters
    from uzushio.solvers.phasefield.model import Model as Model
    from uzushio.solvers.phasefield.parameters import Boundary as Boundary
    from uzushio.solvers.phasefield.parameters import Parameters as Parameters
    from uzushio.solvers.phasefield.trajectory import Trajectory as Trajectory
else:
    __getattr__, __dir__ = lazy.names(__name__)
