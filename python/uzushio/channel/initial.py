"""Initial fields, as profiles of Fourier modes that are the same on any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uzushio.channel.case import ChannelCase, InitialField

KAPPA = 0.41  #: von Kármán's constant in Reichardt's profile


@dataclass(frozen=True)
class Mode:
    """One Fourier mode: u and v at cell centres, w at upper faces, complex, shape (nz,) each."""

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
    """The steady profile of the discrete equations, shape (nz,).

    The discrete second difference of the parabola is exact but for the cells at the walls, so the
    profile is found from the fluxes: nu du/dz at a face balances the drive of the cells beyond it.
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
    """Reichardt's mean profile of a turbulent wall layer at heights z, shape of z.

    Source: H. Reichardt, Z. Angew. Math. Mech. 31 (1951).
    """
    u_tau = case.flow.expected_u_tau
    plus = np.minimum(z, 2.0 - z) * u_tau / case.flow.viscosity
    wall = 1.0 - np.exp(-plus / 11.0) - plus / 11.0 * np.exp(-plus / 3.0)
    return np.asarray(u_tau * (np.log1p(KAPPA * plus) / KAPPA + 7.8 * wall))


def _waves(
    case: ChannelCase, centres: np.ndarray, faces: np.ndarray, size: float
) -> Iterator[Mode]:
    """Random waves whose spanwise scale reaches down to that of wall streaks."""
    rng = np.random.default_rng(case.initial.seed)
    kept_x, kept_y = case.grid.nx // 3, case.grid.ny // 3
    # About 100 wall units apart are the streaks; longer than that is given a random start too.
    streaks = case.grid.ly * case.flow.expected_u_tau / case.flow.viscosity / 100.0
    most_y = max(1, min(kept_y - 1, 24, round(streaks)))
    most_x = max(1, min(kept_x - 1, 8))
    orders = np.arange(1, 9)[:, np.newaxis]
    along = np.sin(0.5 * np.pi * orders * centres)
    across = 1.0 - np.cos(np.pi * orders * faces)
    for kx in range(most_x + 1):
        for ky in range(-most_y, most_y + 1):
            amplitudes = rng.normal(size=(3, len(orders))) + 1j * rng.normal(size=(3, len(orders)))
            if kx == 0 and ky <= 0:
                continue
            amplitudes *= (
                size / np.hypot(1.0 + 2.0 * kx, ky) / np.sqrt(most_y) / orders[:, 0] ** 0.5
            )
            u, v, w = amplitudes[0] @ along, amplitudes[1] @ along, 0.5 * amplitudes[2] @ across
            yield Mode(kx, ky, u, v, w)
