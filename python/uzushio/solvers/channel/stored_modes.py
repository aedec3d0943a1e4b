"""Fourier modes of velocity and pressure as arrays of a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from uzushio.solvers.channel.case import Grid
from uzushio.solvers.contract import DistributedArray

COMPONENTS = ("u", "v", "w", "p")


def arrays(core: Any, grid: Grid) -> dict[str, DistributedArray]:
    """Return this rank's modes of each component, (z, re/im, y, x)."""
    shape = (grid.nz, 2, 2 * core.modes_y - 1, core.modes_x)
    start = (core.planes[0], 0, 0, core.waves[0])
    return {
        name: DistributedArray(
            shape,
            np.dtype(np.float64),
            [(start, core.spectral(name))],
            ("z_faces" if name == "w" else "z", "part", "ky", "kx"),
        )
        for name in COMPONENTS
    }


def axes(core: Any, grid: Grid) -> dict[str, np.ndarray]:
    """Return the coordinates of the arrays; wave numbers are in radians per length."""
    faces, my = grid.wall_faces(), core.modes_y
    ky = np.concatenate([np.arange(my), np.arange(1 - my, 0)])
    return {
        "z": 0.5 * (faces[1:] + faces[:-1]),
        "z_faces": faces[1:],
        "ky": 2 * np.pi / grid.ly * ky,
        "kx": 2 * np.pi / grid.lx * np.arange(core.modes_x),
    }
