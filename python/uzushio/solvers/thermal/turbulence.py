"""Turbulent initial velocity: random waves without divergence, and a mean profile at walls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uzushio.errors import CaseError
from uzushio.solvers.thermal.case import ThermalCase, Turbulence
from uzushio.solvers.wall_law import reichardt

#: Number of waves, and the largest number of them along an axis.
_WAVES, _SHORTEST = 48, 8


class Waves:
    """Curl of a random vector potential, which vanishes with its slope at the ends of axes.

    The potential is a sum of products of functions of x, y and z, so that values at any point
    follow from tables along the axes. They have the same bits on any number of ranks. Periodic
    axes have waves of a random phase, others sin(pi s) sin(n pi s), with s from 0 to 1.
    """

    def __init__(self, case: ThermalCase, turbulence: Turbulence) -> None:
        """Draw the waves, scaled to the root of the mean square of the case."""
        self._faces = [axis.positions() for axis in case.grid.axes]
        self._periodic = [
            name in case.periodic for name, _ in zip("xyz", self._faces, strict=False)
        ]
        random = np.random.default_rng([case.initial.seed, len(self._faces)])
        most = [max(1, min(_SHORTEST, (len(faces) - 1) // 6)) for faces in self._faces]
        self._orders = np.stack([random.integers(1, n + 1, _WAVES) for n in most])
        self._phases = random.uniform(0, 2 * np.pi, self._orders.shape)
        lengths = np.array([faces[-1] - faces[0] for faces in self._faces])
        square = np.sum((self._orders / lengths[:, None]) ** 2, axis=0)
        # Of the components of the potential; velocities decrease as 1/k.
        self._amplitudes = random.normal(size=(3, _WAVES)) / square
        if len(self._faces) == 2:
            self._amplitudes[:2] = 0.0
        total = sum(self._mean_square(axis) for axis in range(len(self._faces)))
        self._amplitudes *= turbulence.rms / np.sqrt(total / len(self._faces))

    def velocity(self, component: int, indices: Sequence[np.ndarray]) -> np.ndarray:
        """Return a component at sides normal to its axis, shape along k, j, i."""
        result = np.zeros([len(index) for index in reversed(indices)])
        for amplitude, tables in self._terms(component):
            lines = [table[index] for table, index in zip(tables, indices, strict=False)]
            lines += [np.ones(len(index)) for index in indices[len(lines) :]]
            x, y, z = lines
            result += amplitude * z[:, None, None] * y[:, None] * x
        return result

    def _terms(self, component: int) -> list[tuple[float, list[np.ndarray]]]:
        """Return amplitude and tables along the axes of each term of a velocity component."""
        terms = []
        for potential, sign in (((component + 2) % 3, 1), ((component + 1) % 3, -1)):
            along = 3 - component - potential  # u_x = d_y A_z - d_z A_y
            if along >= len(self._faces):
                continue
            for wave, amplitude in enumerate(self._amplitudes[potential]):
                if amplitude:
                    tables = [
                        self._table(axis, wave, axis == along, axis == component)
                        for axis in range(len(self._faces))
                    ]
                    terms.append((sign * float(amplitude), tables))
        return terms

    def _table(self, axis: int, wave: int, slope: bool, at_faces: bool) -> np.ndarray:
        """Return a wave, or its slope, at the faces or centres along an axis."""
        faces, order = self._faces[axis], self._orders[axis, wave]
        length = faces[-1] - faces[0]
        s = ((faces if at_faces else 0.5 * (faces[1:] + faces[:-1])) - faces[0]) / length
        if self._periodic[axis]:
            angle = 2 * np.pi * order * s + self._phases[axis, wave]
            wave_number = 2 * np.pi * order / length
            return np.asarray(-wave_number * np.sin(angle) if slope else np.cos(angle))
        near, wavy = np.pi * s, order * np.pi * s
        if slope:
            bend = np.cos(near) * np.sin(wavy) + order * np.sin(near) * np.cos(wavy)
            return np.asarray(np.pi / length * bend)
        return np.asarray(np.sin(near) * np.sin(wavy))

    def _mean_square(self, component: int) -> float:
        """Return the mean square of a component over the box, from products along the axes."""
        terms = self._terms(component)
        amplitudes = np.array([amplitude for amplitude, _ in terms])
        products = np.outer(amplitudes, amplitudes)
        for axis, faces in enumerate(self._faces):
            lines = np.stack([tables[axis] for _, tables in terms])
            if axis == component:
                lines = 0.5 * (lines[:, 1:] + lines[:, :-1])
            products = products * ((lines * np.diff(faces)) @ lines.T / (faces[-1] - faces[0]))
        return float(products.sum())


def mean_profile(
    case: ThermalCase, turbulence: Turbulence, positions: Sequence[np.ndarray]
) -> np.ndarray:
    """Return Reichardt's profile at x, y and z, of the distance from the nearest wall.

    Raises:
        CaseError: no side of the box beside the flow is a wall, or the viscosity is 0.
    """
    assert turbulence.friction_velocity is not None
    if case.fluid.viscosity == 0.0:
        raise CaseError(
            "initial.turbulence.friction_velocity: its profile needs a fluid.viscosity above 0; "
            "leave it out."
        )
    walls = {str(side) for side, face in case.boundaries.items() if face.type == "wall"}
    distances = []
    for number, (axis, position) in enumerate(zip(case.grid.axes, positions, strict=False)):
        name = "xyz"[number]
        if name == turbulence.along:
            continue
        faces = axis.positions()
        for side, distance in (("min", position - faces[0]), ("max", faces[-1] - position)):
            if f"{name}-{side}" in walls:
                distances.append(distance)
    if not distances:
        raise CaseError(
            "initial.turbulence.friction_velocity: no side beside the flow is a wall; leave it out."
        )
    nearest = distances[0]
    for distance in distances[1:]:
        nearest = np.minimum(nearest, distance)
    velocity = turbulence.friction_velocity
    return velocity * reichardt(nearest * velocity / case.fluid.viscosity)
