"""Multiblock meshes and the declarations of solvers on them, of the compiled core.

Indices are in the order i, j, k, positions in the order x, y, z, and arrays have the shape
(component, k, j, i).
"""

from uzushio._core.domain import Block as Block
from uzushio._core.domain import BoundaryCondition as BoundaryCondition
from uzushio._core.domain import BoundaryGhosts as BoundaryGhosts
from uzushio._core.domain import Coordinates as Coordinates
from uzushio._core.domain import Declaration as Declaration
from uzushio._core.domain import Field as Field
from uzushio._core.domain import Mesh as Mesh
from uzushio._core.domain import Zone as Zone
from uzushio._core.domain import connect as connect
from uzushio._core.domain import connect_periodic as connect_periodic
from uzushio._core.domain import fixed_value as fixed_value
from uzushio._core.domain import zero_gradient as zero_gradient
