"""Direct numerical simulation of incompressible flow between two walls.

`reference` has published profiles of such flows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.channel import reference as reference
    from uzushio.channel.case import ChannelCase as ChannelCase
    from uzushio.channel.solver import ChannelSolver as ChannelSolver

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
