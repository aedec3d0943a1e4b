"""Initial states of a compressible flow, the same on any number of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from uzushio.domain.box import Box
from uzushio.solvers.block_solver.initial_script import InitialScript
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
        self._script = InitialScript(case.initial.script)
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
            scripted = self._script.values(name, tuple(centres))
            states[number] = value if scripted is None else scripted
            if name in ("u", "v", "w"):
                states[number] += self._noise(zone, "uvw".index(name), extents, box)
        return states

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
