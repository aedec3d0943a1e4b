"""Exact fields of sources of sound in a uniform flow, whose state is density 1, sound speed 1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from made_stream import Formula

#: Ambient pressure.
PRESSURE = 0.7


@dataclass
class Sound:
    """Harmonic monopoles at rest in a flow: as they are seen when they move in a fluid at rest.

    The potential of one is A cos(ω (t − R / c)) / (4 π R*), with R and R* as in Garrick and
    Watkins (NACA report 1198, 1954). Two opposite ones close together are a dipole.

    Attributes:
        sources: positions and amplitudes A.
        mach: velocity of the flow.
        wavelength: of the sound without flow.
    """

    sources: list[tuple[tuple[float, float, float], float]]
    mach: tuple[float, float, float] = (0.0, 0.0, 0.0)
    wavelength: float = 1.0
    amplitude: float = 1e-6
    _amplitudes: dict[float, np.ndarray] = field(default_factory=dict)
    _values: dict[float, tuple[float, np.ndarray]] = field(default_factory=dict)

    def perturbations(self, points: np.ndarray) -> np.ndarray:
        """Return the complex amplitudes of p', u', v' and w' at points, (n, 3); shape (4, n)."""
        omega, mach = 2.0 * np.pi / self.wavelength, np.array(self.mach)
        beta = 1.0 - mach @ mach
        total = np.zeros((4, len(points)), complex)
        for place, amplitude in self.sources:
            r = points - np.array(place)
            along = r @ mach
            star = np.sqrt(along**2 + beta * (r**2).sum(axis=1))
            star_slope = (along[:, None] * mach + beta * r) / star[:, None]
            slope = (star_slope - mach) / beta
            phase = np.exp(-1j * omega * (star - along) / beta)
            potential = self.amplitude * amplitude * phase / (4.0 * np.pi * star)
            gradient = potential[:, None] * (-1j * omega * slope - star_slope / star[:, None])
            total[0] -= 1j * omega * potential + gradient @ mach
            total[1:] += gradient.T
        return total

    def at(self, time: float, amplitudes: np.ndarray) -> np.ndarray:
        """Return real values at a time."""
        omega = 2.0 * np.pi / self.wavelength
        return np.asarray((amplitudes * np.exp(1j * omega * time)).real)

    def formula(self, name: str) -> Formula:
        """Return density, velocity or pressure as a formula of `Made`."""

        def values(time: float, z: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
            points = np.stack([x, y, z], axis=-1)
            key = float(points.sum()) + points.size
            if key not in self._amplitudes:
                self._amplitudes[key] = self.perturbations(points.reshape(-1, 3))
            if self._values.get(key, (None,))[0] != time:
                self._values[key] = time, self.at(time, self._amplitudes[key])
            values = self._values[key][1]
            if name == "velocity":
                return values[1:].T.reshape(points.shape) + np.array(self.mach)
            return values[0].reshape(x.shape) + (1.0 if name == "density" else PRESSURE)

        return values

    @property
    def formulas(self) -> dict[str, Formula]:
        """Formulas of all fields, for `Made`."""
        return {name: self.formula(name) for name in ("density", "velocity", "pressure")}


def monopole(mach: tuple[float, float, float] = (0.0, 0.0, 0.0), **more: float) -> Sound:
    return Sound([((0.013, 0.017, -0.011), 1.0)], mach, **more)


def dipole(mach: tuple[float, float, float] = (0.0, 0.0, 0.0), **more: float) -> Sound:
    """Dipole along (1, 2, 1)."""
    half = np.array([1.0, 2.0, 1.0]) * 1e-3
    centre = np.array([0.013, 0.017, -0.011])
    pair = [(tuple(centre + half), 1.0), (tuple(centre - half), -1.0)]
    return Sound(pair, mach, **more)
