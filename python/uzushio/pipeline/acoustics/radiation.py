"""Pressure at observers from a stationary permeable surface in a uniform flow.

Farassat's formulation 1A of the Ffowcs Williams–Hawkings equation without volume sources, and its
extension to a mean flow, 1C (Najafi-Yazdi, Brès and Mongeau, Proc. R. Soc. A 467, 2011): with
Q = ρ u_n − ρ0 U_n, L_i = (p − p0) n_i + ρ (u_i − U_i) u_n, Mach number M = U / c, r = x − y,
β² = 1 − M², R* = √((M·r)² + β² r²), R = (R* − M·r) / β²,

    4π p' = ∫ [(1 − M·∇R) Q̇ / R* − (U·∇R*) Q / R*² + L̇·∇R / (c R*) + L·∇R* / R*²] dS,

where Q and L are at the time of emission t − R / c. Each interval between two times of the surface
gives its contributions to the samples of the observers that it reaches (advanced time; Casalino,
J. Sound Vib. 261, 2003). Q and L are cubic in time through four levels, also where their distances
vary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Levels of the surface in time that are kept.
LEVELS = 4
#: Positions that are processed together, so that temporary arrays stay in cache.
_BLOCK = 8192
#: Shift of the borders between samples, so that rounding does not decide at equal intervals.
_SHIFT = 1e-9


@dataclass(frozen=True)
class Ambient:
    """Uniform state around the surface.

    Attributes:
        sound_speed: speed of sound.
        velocity: velocity of the mean flow, (3,).
    """

    sound_speed: float
    velocity: np.ndarray

    @property
    def mach(self) -> np.ndarray:
        """Velocity divided by the speed of sound."""
        return np.asarray(self.velocity / self.sound_speed)


def distances(observer: np.ndarray, points: np.ndarray, mach: np.ndarray) -> list[np.ndarray]:
    """Return r_x, r_y, r_z, M·r, R* and R of positions, (n, 3), for an observer, (3,)."""
    rx, ry, rz = (observer[axis] - points[:, axis] for axis in range(3))
    along = mach[0] * rx + mach[1] * ry + mach[2] * rz
    beta = 1.0 - float(mach @ mach)
    star = np.sqrt(along * along + beta * (rx * rx + ry * ry + rz * rz))
    return [rx, ry, rz, along, star, (star - along) / beta]


class Radiation:
    """Series of pressure at observers, summed while the surface moves on in time.

    Samples of all observers are at the times `origin` + m `interval`. This object has the
    contributions of some positions; sums over objects are the pressure.

    Attributes:
        times: times of the levels, oldest first.
        levels: Q and L times area at the levels, each (4, positions).
        first: sample of the first column of `sums`.
        sums: 4π p' of the positions so far, (observers, samples).
    """

    def __init__(
        self,
        observers: np.ndarray,
        reach: np.ndarray,
        ambient: Ambient,
        origin: float,
        interval: float,
    ) -> None:
        """Begin without levels.

        Args:
            observers: positions x, y, z, (n, 3).
            reach: least and greatest R of all positions of the surface, (n, 2).
            ambient: uniform state.
            origin: time of the first level and of sample 0.
            interval: time between samples.
        """
        self._observers, self._ambient = observers, ambient
        self.origin, self.interval = origin, interval
        self._delays = reach / (ambient.sound_speed * interval)
        self.times: list[float] = []
        self.levels: list[np.ndarray] = []
        self.points = np.empty((0, 3))  #: positions of the levels' values
        #: First sample of each observer to which all positions contribute.
        self.begins = self._sample(self._delays[:, 1])
        self.first = int(self.begins.min())
        self.sums = np.zeros((len(observers), 0))
        self.until = origin  #: end of the last interval whose contributions are in the sums

    @staticmethod
    def _sample(at: np.ndarray) -> np.ndarray:
        """Return the first sample at or after a time, in intervals since the origin."""
        return np.asarray(np.ceil(at - _SHIFT).astype(np.int64))

    def _since(self, time: float) -> float:
        return (time - self.origin) / self.interval

    def add(self, time: float, values: np.ndarray) -> None:
        """Add a level, and the contributions of the intervals that it completes.

        Args:
            time: after that of the level before.
            values: Q and L_x, L_y, L_z times area, (4, positions).
        """
        self.times.append(time)
        self.levels.append(values)
        if len(self.times) > LEVELS:
            del self.times[0], self.levels[0]
        if len(self.times) == LEVELS:
            if self.until == self.origin:
                self._radiate(0)
            self._radiate(1)

    def end(self) -> None:
        """Add the contributions of the last interval, from the levels before it."""
        if len(self.times) == LEVELS:
            self._radiate(LEVELS - 2)

    @property
    def complete(self) -> np.ndarray:
        """For each observer the sample at which those end to which all intervals contribute."""
        return np.asarray(
            np.maximum(self._sample(self._since(self.until) + self._delays[:, 0]), self.begins)
        )

    def take(self, stop: int) -> np.ndarray:
        """Remove and return the sums of the samples before `stop`, (observers, samples)."""
        count = max(stop - self.first, 0)
        self.extend(stop)
        taken = self.sums[:, :count].copy()
        self.sums = self.sums[:, count:].copy()
        self.first += count
        return np.asarray(taken)

    def extend(self, stop: int) -> None:
        """Make room for the samples before `stop`."""
        if (missing := stop - self.first - self.sums.shape[1]) > 0:
            self.sums = np.pad(self.sums, ((0, 0), (0, missing)))

    def _radiate(self, number: int) -> None:
        """Add the contributions of the interval after a level."""
        begin, end = self.times[number], self.times[number + 1]
        self.until = end
        last = self._sample(self._since(end) + self._delays[:, 1]).max()
        self.extend(int(last) + 1)
        span = end - begin
        powers = np.vander((np.array(self.times) - begin) / span, increasing=True)
        #: Coefficients of the polynomials of Q and L in (time − begin) / span, (power, 4, n).
        coefficients = np.tensordot(np.linalg.inv(powers), np.stack(self.levels), 1)
        for start in range(0, len(self.points), _BLOCK):
            block = slice(start, start + _BLOCK)
            self._radiate_block(self.points[block], coefficients[:, :, block], begin, end)

    def _radiate_block(
        self, points: np.ndarray, coefficients: np.ndarray, begin: float, end: float
    ) -> None:
        c, mach = self._ambient.sound_speed, self._ambient.mach
        mean = float(mach @ mach)
        mass, load = coefficients[:, 0], coefficients[:, 1:]
        along_flow = np.tensordot(load, mach, (1, 0))
        for number, observer in enumerate(self._observers):
            rx, ry, rz, along, star, radius = distances(observer, points, mach)
            delay = radius / (c * self.interval)
            first = self._since(begin) + delay
            sample, stop = self._sample(first), self._sample(self._since(end) + delay)
            ahead = load[:, 0] * rx + load[:, 1] * ry + load[:, 2] * rz  # L·r
            arrays: tuple[np.ndarray, ...] = (
                mass,
                along_flow,
                ahead,
                along,
                star,
                first,
                sample,
                stop,
            )
            while (use := arrays[6] < arrays[7]).any():
                if not use.all():
                    arrays = tuple(np.compress(use, array, axis=-1) for array in arrays)
                q, ml, rl, mr, rs, started, at, _ = arrays
                place = (at - started) * (self.interval / (end - begin))
                values = _pressure(q, ml, rl, mr, rs, place, end - begin, c, mean)
                columns = at - self.first
                known = columns >= 0
                if not known.all():
                    columns, values = columns[known], values[known]
                self.sums[number] += np.bincount(columns, values, self.sums.shape[1])
                arrays = (*arrays[:6], at + 1, arrays[7])


def _pressure(
    mass: np.ndarray,
    along_flow: np.ndarray,
    ahead: np.ndarray,
    along: np.ndarray,
    star: np.ndarray,
    place: np.ndarray,
    span: float,
    sound_speed: float,
    mean: float,
) -> np.ndarray:
    """Return contributions to 4π p'.

    Args:
        mass: coefficients of Q, (4, n).
        along_flow: of M·L.
        ahead: of L·r.
        along: M·r, (n,).
        star: R*.
        place: time since the beginning of the interval, divided by its length.
        span: length of the interval.
        sound_speed: c.
        mean: M².
    """
    beta = 1.0 - mean
    q, dq = _value(mass, place), _rate(mass, place)
    rl, drl = _value(ahead, place), _rate(ahead, place)
    if mean == 0.0:
        return np.asarray(((dq + drl / (sound_speed * star)) / span + rl / (star * star)) / star)
    ml, dml = _value(along_flow, place), _rate(along_flow, place)
    cosine = along / star  # M·∇R*
    star_load = (ml * along + beta * rl) / star  # L·∇R*
    star_rate = (dml * along + beta * drl) / star
    return np.asarray(
        (
            (
                (1.0 - (cosine - mean) / beta) * dq
                + (star_rate - dml) / (beta * sound_speed)  # L̇·∇R / c
            )
            / span
            + (star_load - sound_speed * cosine * q) / star
        )
        / star
    )


def _value(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Evaluate a cubic."""
    return np.asarray(((c[3] * s + c[2]) * s + c[1]) * s + c[0])


def _rate(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Evaluate the derivative of a cubic."""
    return np.asarray((3.0 * c[3] * s + 2.0 * c[2]) * s + c[1])
