"""Initial fields as profiles of Fourier modes, independent of the number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uzushio.solvers import wall_law
from uzushio.solvers.channel.case import ChannelCase, InitialField


@dataclass(frozen=True)
class Mode:
    """Profiles of a Fourier mode: u, v at cell centres, w at upper faces, complex, shape (nz,)."""

    kx: int
    ky: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray


def modes(case: ChannelCase) -> Iterator[Mode]:
    """Yield the modes of the initial field; the solver then removes their divergence."""
    faces = case.grid.wall_faces()
    centres = 0.5 * (faces[1:] + faces[:-1])
    nothing = np.zeros(case.grid.nz, complex)
    turbulent = case.initial.field is InitialField.turbulent
    mean = reichardt(case, centres) if turbulent else laminar(case)
    yield Mode(0, 0, mean.astype(complex), nothing, nothing)
    if case.initial.field is not InitialField.laminar:
        size = case.flow.expected_u_tau if turbulent else 0.01 * float(mean.max())
        yield from _waves(case, centres, faces[1:], case.initial.amplitude * size)


def laminar(case: ChannelCase) -> np.ndarray:
    """Return the steady profile of the discrete equations, shape (nz,).

    In the cells at the walls the second difference of the parabola is not exact. The profile
    therefore follows from the fluxes: nu du/dz at a face balances the drive of the cells above it.
    """
    faces = case.grid.wall_faces()
    centres = 0.5 * (faces[1:] + faces[:-1])
    gradient = case.flow.drive if not case.flow.reynolds_bulk else 1.0
    slope = gradient / case.flow.viscosity * (1.0 - faces[:-1])
    distance = np.diff(centres, prepend=0.0)
    profile = np.cumsum(slope * distance)
    if case.flow.reynolds_bulk:
        profile *= 1.0 / (0.5 * float(np.sum(profile * np.diff(faces))))
    return profile


def reichardt(case: ChannelCase, z: np.ndarray) -> np.ndarray:
    """Return Reichardt's mean profile of a turbulent wall layer at heights z, shape of z."""
    u_tau = case.flow.expected_u_tau
    plus = np.minimum(z, 2.0 - z) * u_tau / case.flow.viscosity
    return np.asarray(u_tau * wall_law.reichardt(plus))


def _waves(
    case: ChannelCase, centres: np.ndarray, faces: np.ndarray, size: float
) -> Iterator[Mode]:
    """Yield random waves with spanwise wave lengths down to the spacing of wall streaks."""
    rng = np.random.default_rng(case.initial.seed)
    kept_x, kept_y = case.grid.nx // 3, case.grid.ny // 3
    # Streaks are about 100 wall units apart.
    streaks = case.grid.ly * case.flow.expected_u_tau / case.flow.viscosity / 100.0
    max_ky = max(1, min(kept_y - 1, 24, round(streaks)))
    max_kx = max(1, min(kept_x - 1, 8))
    orders = np.arange(1, 9)[:, np.newaxis]
    along = np.sin(0.5 * np.pi * orders * centres)
    across = 1.0 - np.cos(np.pi * orders * faces)
    for kx in range(max_kx + 1):
        for ky in range(-max_ky, max_ky + 1):
            amplitudes = rng.normal(size=(3, len(orders))) + 1j * rng.normal(size=(3, len(orders)))
            if kx == 0 and ky <= 0:
                continue
            amplitudes *= (
                size / np.hypot(1.0 + 2.0 * kx, ky) / np.sqrt(max_ky) / orders[:, 0] ** 0.5
            )
            u, v, w = amplitudes[0] @ along, amplitudes[1] @ along, 0.5 * amplitudes[2] @ across
            yield Mode(kx, ky, u, v, w)
