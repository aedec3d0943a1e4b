"""Initial fields of a thermal flow, the same on any number of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from uzushio.solvers.block_solver.initial_script import InitialScript
from uzushio.solvers.thermal.case import ThermalCase
from uzushio.solvers.thermal.turbulence import Waves, mean_profile

_COMPONENTS = "uvw"


class InitialFields:
    """Values of the initial fields at given indices.

    Args:
        case: the case; its script is loaded.

    Raises:
        CaseError: the script cannot be loaded.
    """

    def __init__(self, case: ThermalCase) -> None:
        self.case = case
        self._faces = [axis.positions() for axis in case.grid.axes]
        turbulence = case.initial.turbulence
        self._waves = None if turbulence is None else Waves(case, turbulence)
        self._script = InitialScript(case.initial.script)

    def velocity(self, component: int, lower: tuple[int, ...], shape: tuple[int, ...]) -> Any:
        """Return a velocity component at the centres of cell sides normal to its axis.

        Args:
            component: axis of the component.
            lower: first indices k, j, i.
            shape: numbers of values along k, j, i.
        """
        initial = self.case.initial
        indices = self._indices(lower, shape)
        values = np.full(shape, initial.velocity[component])
        values = self._scripted(_COMPONENTS[component], indices, component, values)
        turbulence = initial.turbulence
        if turbulence is not None and self._waves is not None:
            if turbulence.friction_velocity is not None and turbulence.along == "xyz"[component]:
                positions = self._positions(indices, component)
                values = values + mean_profile(self.case, turbulence, positions)
            values = values + self._waves.velocity(component, indices)
        return values + self._noise("velocity", component, indices)

    def scalar(self, name: str, lower: tuple[int, ...], shape: tuple[int, ...]) -> Any:
        """Return a scalar at the centres of cells; arguments as in `velocity`."""
        initial = self.case.initial
        indices = self._indices(lower, shape)
        values = np.full(shape, initial.values.get(name, 0.0))
        positions = self._positions(indices, None)
        for slope, position in zip(initial.gradients.get(name, ()), positions, strict=False):
            values = values + slope * position
        values = self._scripted(name, indices, None, values)
        number = 3 + list(self.case.scalars).index(name)
        return values + self._noise(name, number, indices)

    @staticmethod
    def _indices(lower: tuple[int, ...], shape: tuple[int, ...]) -> list[np.ndarray]:
        """Return indices along i, j, k."""
        k, j, i = (np.arange(a, a + n) for a, n in zip(lower, shape, strict=True))
        return [i, j, k]

    def _positions(self, indices: list[np.ndarray], face: int | None) -> list[np.ndarray]:
        """Return x, y and z, which broadcast to (k, j, i); z is 0 in two dimensions."""
        positions = []
        for axis, index in enumerate(indices):
            shape = [1, 1, 1]
            shape[2 - axis] = -1
            if axis >= len(self._faces):
                positions.append(np.zeros((1, 1, 1)))
                continue
            faces = self._faces[axis]
            line = faces if axis == face else 0.5 * (faces[1:] + faces[:-1])
            positions.append(line[index].reshape(shape))
        return positions

    def _scripted(
        self, name: str, indices: list[np.ndarray], face: int | None, values: np.ndarray
    ) -> np.ndarray:
        """Return the values of the script, or `values` without one."""
        scripted = self._script.values(name, np.broadcast_arrays(*self._positions(indices, face)))
        return values if scripted is None else scripted

    def _noise(self, name: str, number: int, indices: list[np.ndarray]) -> np.ndarray | float:
        """Return random numbers that depend on the seed and the indices alone."""
        amplitude = self.case.initial.noise.get(name, 0.0)
        if amplitude == 0.0:
            return 0.0
        i, j, k = indices
        extents = [len(faces) for faces in self._faces[:2]]
        planes = []
        for plane in k:
            random = np.random.default_rng([self.case.initial.seed, number, int(plane)])
            planes.append(random.uniform(-amplitude, amplitude, extents[::-1])[np.ix_(j, i)])
        return np.stack(planes)
