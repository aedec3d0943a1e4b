"""Direct numerical simulation of incompressible flow between two walls.

`reference` has published profiles of such flows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.solvers.channel import reference as reference
    from uzushio.solvers.channel.case import ChannelCase as ChannelCase
    from uzushio.solvers.channel.solver import ChannelSolver as ChannelSolver
else:
    __getattr__, __dir__ = lazy.names(__name__)
