"""Perturbed observations and backgrounds of the members of an ensemble.

The noise depends on the number of the member, the step and the point, and not on the decomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from uzushio._base.observations import Observations
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.noise import Stream, normal


class Perturber:
    """Source of perturbed observations and backgrounds.

    All perturbed observations share one array of the size of the observations.
    """

    def __init__(
        self,
        model: Model,
        observations: Observations,
        background: Guess,
        sigmas: Sequence[float | None],
        seed: int,
    ) -> None:
        """Allocate the values of one member.

        Args:
            model: model with the grid and its decomposition.
            observations: unperturbed observations.
            background: mean of the background.
            sigmas: standard deviations of the background, of the state and each parameter; None: no
                term in J.
            seed: seed of the noise.
        """
        self._model, self._observations, self._background = model, observations, background
        self._sigmas, self._seed = list(sigmas), seed
        self._values = np.empty_like(observations.values)

    def observations(self, member: int) -> Observations:
        """Return the observations with errors of their sigmas; overwrite those of earlier calls."""
        observations = self._observations
        for index, step in enumerate(observations.steps):
            weight = np.asarray(observations.weight_of(index))
            sigma = np.zeros_like(weight)
            np.divide(1.0, np.sqrt(weight), out=sigma, where=weight > 0.0)
            noise = self._noise(step, Stream(member, "observations"))
            np.multiply(noise, sigma, out=self._values[index])
            self._values[index] += observations.values[index]
        return replace(observations, values=self._values)

    def background(self, member: int) -> Guess:
        """Return the mean with errors of the background's sigmas, if there is a background."""
        of_state, *of_parameters = self._sigmas
        state, parameters = self._background.state, self._background.parameters.copy()
        if of_state is not None:
            state = state + of_state * self._noise(0, Stream(member, "state"))
        shape = (1, len(parameters))
        own = (slice(0, 1), slice(0, len(parameters)))
        noise = normal(self._seed, 0, shape, own, Stream(member, "parameters"))[0]
        for index, sigma in enumerate(of_parameters):
            parameters[index] += 0.0 if sigma is None else sigma * noise[index]
        return Guess(state, parameters)

    def _noise(self, step: int, stream: Stream) -> np.ndarray:
        return normal(self._seed, step, self._model.shape, self._model.own, stream)
