"""The Tollmien–Schlichting wave of plane Poiseuille flow at Re = 10000, alpha = 1."""

from __future__ import annotations

from functools import cache

import numpy as np
from channel_cases import centres, core, faces, make
from numpy.polynomial import chebyshev
from scipy.linalg import eig

#: Eigenvalue: S. A. Orszag, J. Fluid Mech. 50 (1971), 689.
ORSZAG = 0.23752649 + 0.00373967j


def orr_sommerfeld(n: int = 120) -> tuple[complex, np.ndarray, np.ndarray]:
    """Return the unstable eigenvalue c and its stream function at Chebyshev points."""
    k = np.arange(n + 1)
    y = np.cos(np.pi * k / n)
    weight = np.where((k == 0) | (k == n), 2.0, 1.0) * (-1.0) ** k
    difference = y[:, None] - y[None, :] + np.eye(n + 1)
    d = np.outer(weight, 1 / weight) / difference
    d -= np.diag(d.sum(axis=1))
    d2 = d @ d
    unit = np.eye(n + 1)
    laplace = d2 - unit
    profile = np.diag(1 - y**2)
    a = profile @ laplace + 2 * unit - (laplace @ laplace) / (1j * 1e4)
    b = laplace.astype(complex)
    # No slip: the stream function and its slope vanish on both walls.
    for row, condition in ((0, unit[0]), (n, unit[n]), (1, d[0]), (n - 1, d[n])):
        a[row], b[row] = condition, 0.0
    values, vectors = eig(a, b)
    usable = np.isfinite(values) & (abs(values) < 2)
    best = np.flatnonzero(usable)[np.argmax(values[usable].imag)]
    return values[best], y, vectors[:, best]


def advanced(solver: core.Solver, dt: float, steps: int) -> np.ndarray:
    """Advance a solver; return the wave's mode of w."""
    for _ in range(steps):
        assert solver.step(float("inf"), dt) == dt
    values = solver.spectral("w")
    return np.asarray(values[:, 0, 0, 1] + 1j * values[:, 1, 0, 1])


@cache
def wave_speed(nz: int, precision: str = "double") -> complex:
    """Return the complex phase speed of the wave that grows out of the exact eigenfunction.

    Args:
        nz: cells between the walls.
        precision: `transpose_precision` of the solver.
    """
    _, y, stream = orr_sommerfeld()
    series = chebyshev.chebfit(y, stream, len(y) - 1)
    z = faces(nz, 1.2)
    solver = make((8, 4, nz), z, viscosity=1e-4, drive=2e-4, transpose_precision=precision)
    nothing = np.zeros(nz, complex)
    exact = (lambda s: s * (2 - s))(centres(z))
    solver.add_mode(0, 0, exact.astype(complex), nothing, nothing)
    u = chebyshev.chebval(centres(z) - 1, chebyshev.chebder(series))
    w = -1j * chebyshev.chebval(z[1:] - 1, series)
    scale = 1e-7 / abs(u).max()
    solver.add_mode(1, 0, scale * u, nothing, scale * w)
    solver.project()
    dt = 0.025
    before, after = (advanced(solver, dt, steps) for steps in (200, 400))
    growth = np.log(np.vdot(before, after) / np.vdot(before, before)) / (dt * 400)
    return complex(1j * growth)
