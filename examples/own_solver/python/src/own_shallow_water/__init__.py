"""Rotating shallow water in a doubly periodic plane: two opposite jets break up into vortices.

Depth in cells, velocity at faces, vorticity at vertices (C grid): the enstrophy-conserving scheme
of R. Sadourny, J. Atmos. Sci. 32 (1975), second order. The unit of length is such that the plane
is 2 pi wide, that of time such that gravity is 1.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from uzushio.case import Count
from uzushio.domain.multiblock import (
    Block,
    Coordinates,
    Declaration,
    Field,
    Mesh,
    Zone,
    connect_periodic,
)
from uzushio.solvers import BlockCase, BlockSolver, Parameter

WIDTH, CORIOLIS = 2 * np.pi, 0.8


class ShallowWaterCase(BlockCase):
    """Case file of the solver."""

    flow: Literal["jets", "vortex"]
    cells: Count
    viscosity: float = 0.0


class ShallowWater(BlockSolver):
    """Rotating shallow-water equations."""

    case_model = ShallowWaterCase
    viscosity: float | None = None

    @classmethod
    def declare(cls, case: ShallowWaterCase) -> Declaration:
        """Return the mesh and the fields."""
        n, d = case.cells, WIDTH / case.cells
        plane = Zone("plane", (n, n, 1), Coordinates.uniform((0, 0, 0), (d, d, 1)))
        connect_periodic(plane, "i", (WIDTH, 0, 0))
        connect_periodic(plane, "j", (0, WIDTH, 0))
        fields = [
            Field("depth", ghosts=2),
            Field("velocity", ghosts=2, centring="face"),
            Field("vorticity", ghosts=0, centring="vertex", kind="output"),
        ]
        return Declaration(Mesh([plane], dimension=2), fields, reach="edges")

    def initial(self, block: Block) -> None:
        """Set a balanced flow: a vortex that is an exact solution, or disturbed jets."""
        d = WIDTH / self.case.cells
        start = jets if self.case.flow == "jets" else vortex
        for name, axis in (("depth", 0), ("velocity", 0), ("velocity", 1)):
            values = block.field(name, axis)[0, 0]
            rows, columns = np.indices(values.shape)
            at_face = np.array([axis == 0, axis == 1]) * (name == "velocity")
            x = d * (columns - 2 + block.lower[0] + (0 if at_face[0] else 0.5))
            y = d * (rows - 2 + block.lower[1] + (0 if at_face[1] else 0.5))
            values[...] = start(x, y)[axis + (name == "velocity")]

    def derive(self, block: Block, field: str, time: float) -> None:
        """Set the vorticity."""
        u, v = block.field("velocity", 0)[0, 0], block.field("velocity", 1)[0, 0]
        block.field("vorticity")[0, 0] = self.curl(u, v)[1:-1, 1:-1]

    def curl(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the vorticity at vertices, with one layer of ghosts."""
        return (along_x(v)[1:-1] - along_y(u)[:, 1:-1]) * (self.case.cells / WIDTH)

    def rhs(self, block: Block, time: float) -> None:
        """Set the time derivatives."""
        per, viscosity = self.case.cells / WIDTH, self.parameters()["viscosity"].value
        h = block.field("depth")[0, 0]
        u, v = block.field("velocity", 0)[0, 0], block.field("velocity", 1)[0, 0]
        flux_x, flux_y = mean_x(h) * u[:, 1:-1], mean_y(h) * v[1:-1]
        potential = (CORIOLIS + self.curl(u, v)) / mean_x(mean_y(h))  # vorticity over depth
        head = h + 0.5 * (mean_x(u**2) + mean_y(v**2))
        du = mean_y(potential) * mean_x(mean_y(flux_y)) - per * along_x(head)[1:-1]
        dv = -mean_x(potential) * mean_x(mean_y(flux_x)) - per * along_y(head)[:, 1:-1]
        dh = -per * (along_x(flux_x)[2:-2, 1:-1] + along_y(flux_y)[1:-1, 2:-2])
        block.derivative("depth")[0, 0] = dh
        for axis, (velocity, change) in enumerate(((u, du), (v, dv))):
            curved = along_x(along_x(velocity))[2:-2, 1:-1] + along_y(along_y(velocity))[1:-1, 2:-2]
            friction = viscosity * per**2 * curved
            block.derivative("velocity", axis)[0, 0] = change[1:-1, 1:-1] + friction

    def stable_dt(self, block: Block) -> float:
        """Return the step at which the fastest wave of the grid is on the limit of stability."""
        u, v = mean_x(owned(block, "velocity", 0)), mean_y(owned(block, "velocity", 1))
        speed = np.sqrt(owned(block, "depth", 0)) + np.abs(u) + np.abs(v)
        return float(0.6 * WIDTH / self.case.cells / speed.max())

    def parameters(self) -> Mapping[str, Parameter]:
        """Return the viscosity, besides the parameters of every solver of blocks."""
        now = self.case.viscosity if self.viscosity is None else self.viscosity
        mine = Parameter(now, 0.0, 0.1, "1", "kinematic viscosity")
        return {**super().parameters(), "viscosity": mine}

    def _steer(self, name: str, value: float) -> None:
        if name == "viscosity":
            self.viscosity = value
        else:
            super()._steer(name, value)


def jets(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return depth and velocity of two jets in geostrophic balance; waves disturb v."""
    speed, width = 0.25, 0.3
    low, high = (y - 0.25 * WIDTH) / width, (y - 0.75 * WIDTH) / width
    u = speed * (np.cosh(low) ** -2 - np.cosh(high) ** -2)
    h = 1 - CORIOLIS * speed * width * (np.tanh(low) - np.tanh(high) - 1)
    v = 0.01 * (np.sin(3 * x) + np.sin(4 * x + 1) + np.sin(5 * x + 2)) * np.sin(y) ** 2
    return h, u, v


def vortex(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return depth and velocity of a steady vortex, in which pressure balances all forces."""
    x, y = x - WIDTH / 2, y - WIDTH / 2
    rate, width2 = 0.5, 0.25
    bell = np.exp(-(x**2 + y**2) / (2 * width2))
    h = 1 - rate * width2 * bell * (CORIOLIS + 0.5 * rate * bell)
    return h, -rate * y * bell, rate * x * bell


def owned(block: Block, field: str, axis: int) -> np.ndarray:
    """Return the values without ghosts, which are valid in `rhs` and `derive` only."""
    return block.field(field, axis)[0, 0, 2:-2, 2:-2]


def mean_x(f: np.ndarray) -> np.ndarray:
    """Return the means of neighbours along x."""
    return 0.5 * (f[:, 1:] + f[:, :-1])


def mean_y(f: np.ndarray) -> np.ndarray:
    """Return the means of neighbours along y."""
    return 0.5 * (f[1:] + f[:-1])


def along_x(f: np.ndarray) -> np.ndarray:
    """Return the differences of neighbours along x."""
    return f[:, 1:] - f[:, :-1]


def along_y(f: np.ndarray) -> np.ndarray:
    """Return the differences of neighbours along y."""
    return f[1:] - f[:-1]
