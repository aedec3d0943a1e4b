"""Tofu interconnect D: units of 2 × 3 × 2 nodes in a three-dimensional torus or mesh.

Y. Ajima et al., "The Tofu Interconnect D", IEEE Cluster 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uzushio.errors import PlacementError
from uzushio.placement.machines.machine import Indices, Units
from uzushio.placement.machines.torus import Torus, snakes

#: Nodes of a unit along the axes a, b, c; b is a ring.
UNIT = (2, 3, 2)


class TofuD(Torus):
    """Tofu-D: a six-dimensional network with the axes x, y, z of the units and a, b, c in a unit.

    A job sees three logical axes, of 2 x, 3 y and 2 z nodes: (x, a), (y, b) and (z, c). Along each,
    position p lies in unit p // n, and the direction inside of a unit turns from unit to unit, so
    that neighbours along a logical axis are connected. A launcher fills the first logical axis
    first.

    Args:
        units: units along x, y, z.
        periodic: whether x, y and z are tori; one value for all, or one each.

    Raises:
        PlacementError: sizes that are no such machine.
    """

    def __init__(self, units: Sequence[int], periodic: bool | Sequence[bool] = True) -> None:
        if len(units) != 3:
            raise PlacementError(f"Tofu-D has units along x, y and z: three sizes, not {units}.")
        around = (periodic,) * 3 if isinstance(periodic, bool) else tuple(periodic)
        if len(around) != 3:
            raise PlacementError(
                "Tofu-D: x, y and z are each a torus or a mesh: give three values."
            )
        super().__init__(
            (*units, *UNIT), (*around, False, True, False), axes=("x", "y", "z", "a", "b", "c")
        )

    def __str__(self) -> str:
        return f"Tofu-D of {' × '.join(map(str, self.shape[:3]))} units"

    @property
    def logical(self) -> Indices:
        """Logical coordinates of each node, (nodes, 3)."""
        outer, inner, size = self.coordinates[:, :3], self.coordinates[:, 3:], np.array(UNIT)
        place: Indices = outer * size + np.where(outer % 2 == 1, size - 1 - inner, inner)
        return place

    def default_order(self) -> Indices:
        """Return the nodes with the first logical axis fastest."""
        return np.lexsort(self.logical.T)

    def units(self, size: int) -> Units:
        """Return the units of 12 nodes, for any size, and snakes through them."""
        return snakes(self.coordinates[:, :3], self.coordinates[:, 3:])
