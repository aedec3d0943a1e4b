"""Multiblock meshes and the declarations of solvers on them, of the compiled core.

Indices are in the order i, j, k, positions in the order x, y, z, and arrays have the shape
(component, k, j, i).
"""

from uzushio._core.domain import (
    Block,
    BoundaryCondition,
    BoundaryGhosts,
    Coordinates,
    Declaration,
    Field,
    Mesh,
    Zone,
    connect,
    connect_periodic,
    fixed_value,
    zero_gradient,
)

__all__ = [
    "Block",
    "BoundaryCondition",
    "BoundaryGhosts",
    "Coordinates",
    "Declaration",
    "Field",
    "Mesh",
    "Zone",
    "connect",
    "connect_periodic",
    "fixed_value",
    "zero_gradient",
]
