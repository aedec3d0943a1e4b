"""Initial states of a compressible flow, the same on any number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uzushio._base.array_values import real
from uzushio._base.config.user_function import load_function
from uzushio._base.error_text import error_message
from uzushio.domain.box import Box
from uzushio.errors import CaseError
from uzushio.solvers.jet.case import JetCase


class InitialStates:
    """Initial states of cells.

    Args:
        case: the case; its script is loaded.

    Raises:
        CaseError: the script cannot be loaded.
    """

    def __init__(self, case: JetCase) -> None:
        self.case = case
        self._function: Callable[..., Any] | None = None
        if case.initial.script is not None:
            self._script = case.initial.script
            try:
                self._function = load_function(self._script, "initial")
            except ValueError as error:
                raise CaseError(f"initial.script: {error}.") from error
        state = case.states[case.initial.state]
        species = list(case.gas.species)
        fractions = state.mass_fractions or {species[0]: 1.0}
        self._values = {f"Y_{name}": fractions.get(name, 0.0) for name in species}
        self._values |= dict(zip("uvw", state.velocity, strict=True))
        self._values |= {"pressure": state.pressure, "temperature": state.temperature}

    def values(self, zone: int, extents: tuple[int, ...], box: Box, centres: np.ndarray) -> Any:
        """Return the states of a block.

        Args:
            zone: number of the zone.
            extents: cells of the zone along k, j, i.
            box: cells of the block.
            centres: x, y and z of the cells, (3, k, j, i).

        Returns:
            Mass fractions, velocity, pressure and temperature, (variable, k, j, i).
        """
        states = np.empty((len(self._values), *centres.shape[1:]))
        for number, (name, value) in enumerate(self._values.items()):
            states[number] = self._scripted(name, centres, value)
            if name in ("u", "v", "w"):
                states[number] += self._noise(zone, "uvw".index(name), extents, box)
        return states

    def _scripted(self, name: str, centres: np.ndarray, value: float) -> Any:
        """Return the values of the script, or `value` without one."""
        if self._function is None:
            return value
        try:
            result = self._function(name, *centres)
            if result is None:
                return value
            return np.broadcast_to(real(result, f"the result for {name}"), centres.shape[1:])
        except Exception as error:
            raise CaseError(f"initial.script: {error_message(self._script, error)}.") from error

    def _noise(
        self, zone: int, component: int, extents: tuple[int, ...], box: Box
    ) -> np.ndarray | float:
        """Return random numbers that depend on the seed and the indices alone."""
        amplitude = self.case.initial.noise
        if amplitude == 0.0:
            return 0.0
        (k, j, i), (nk, nj, ni) = box.start, box.count
        planes = []
        for plane in range(k, k + nk):
            random = np.random.default_rng([self.case.initial.seed, zone, component, plane])
            planes.append(
                random.uniform(-amplitude, amplitude, extents[1:])[j : j + nj, i : i + ni]
            )
        return np.stack(planes)
