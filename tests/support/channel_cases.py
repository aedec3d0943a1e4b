"""Small channels for tests of the compiled solver, with simple fields."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from uzushio import _core
from uzushio._base.parallel.section_monitor import SectionMonitor

core = _core.channel


def faces(nz: int, stretching: float = 1.6) -> np.ndarray:
    """Return positions of cell faces from 0 to 2, shape (nz + 1,), clustered at the walls."""
    s = np.linspace(-1.0, 1.0, nz + 1)
    result = 1.0 + (np.tanh(stretching * s) / np.tanh(stretching) if stretching else s)
    result[0], result[-1] = 0.0, 2.0
    return result


def centres(z: np.ndarray) -> np.ndarray:
    """Return the centres of the cells between the faces `z`."""
    return 0.5 * (z[1:] + z[:-1])


def make(
    n: tuple[int, int, int],
    z: np.ndarray | None = None,
    *,
    viscosity: float,
    drive: float = 0.0,
    forcing: str = "pressure_gradient",
    dealiasing: str = "three_halves",
    scheme: str = "pipelined",
    transpose_precision: str = "double",
    transposes: str = "shared_memory",
    box: tuple[float, float] = (2 * np.pi, 2 * np.pi),
    ranks: tuple[int, int] = (1, 1),
    threads: int = 1,
    comm: MPI.Comm = MPI.COMM_SELF,
) -> core.Solver:
    """Return a solver with velocity zero on (nx, ny, nz) points."""
    chosen = parameters(n, ranks, scheme, transposes, threads)
    chosen.lx, chosen.ly = box
    if z is not None:
        chosen.faces = z.tolist()
    chosen.viscosity, chosen.drive = viscosity, drive
    chosen.forcing = getattr(core.Forcing, forcing)
    chosen.dealiasing = getattr(core.Dealiasing, dealiasing)
    chosen.transpose_precision = core.SentPrecision[transpose_precision]
    return core.Solver(chosen, comm.handle, SectionMonitor().core)


def parameters(
    n: tuple[int, int, int], ranks: tuple[int, int], scheme: str, transposes: str, threads: int = 1
) -> core.Parameters:
    """Return parameters of a channel of (nx, ny, nz) points on (py, pz) ranks."""
    chosen = core.Parameters()
    chosen.nx, chosen.ny = n[0], n[1]
    chosen.lx = chosen.ly = 6.0
    chosen.faces = faces(n[2]).tolist()
    chosen.viscosity = 0.02
    chosen.scheme = scheme
    chosen.transposes = core.Transposes[transposes]
    (chosen.py, chosen.pz), chosen.threads = ranks, threads
    return chosen


def stir(solver: core.Solver, z: np.ndarray, amplitude: float = 1.0, most: int = 3) -> None:
    """Add a mean flow and random waves, the same on any number of ranks, then project them."""
    rng = np.random.default_rng(5)
    middle, upper = centres(z), z[1:]
    nothing = np.zeros(len(middle), complex)
    solver.add_mode(0, 0, (10 * middle * (2 - middle)).astype(complex), nothing, nothing)
    wall, near_both_walls = middle * (2 - middle), (upper * (2 - upper)) ** 2
    for kx in range(most + 1):
        for ky in range(-most, most + 1):
            a = amplitude * (rng.normal(size=3) + 1j * rng.normal(size=3))
            if kx > 0 or ky > 0:
                waves = (a[0] * wall * np.cos(3 * middle), a[1] * wall, a[2] * near_both_walls)
                solver.add_mode(kx, ky, *(np.ascontiguousarray(w) for w in waves))
    solver.project()
