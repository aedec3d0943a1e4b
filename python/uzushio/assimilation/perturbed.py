"""Observations and backgrounds with errors added, as many of them as an ensemble has members.

The noise of a member belongs to its number, the step and the point, whichever rank asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.noise import Stream, normal
from uzushio.observations import Observations


class Perturber:
    """Draws what the members of an ensemble are compared with.

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
        """Take memory for the values of one member.

        Args:
            model: whose grid and ranks they are on.
            observations: as they were seen.
            background: its mean.
            sigmas: of the background, of the state and each parameter; None: no term in J.
            seed: of the noise.
        """
        self._model, self._seen, self._background = model, observations, background
        self._sigmas, self._seed = list(sigmas), seed
        self._values = np.empty_like(observations.values)

    def observations(self, member: int) -> Observations:
        """Each value with an error of its own sigma added; those before are overwritten."""
        seen = self._seen
        for index, step in enumerate(seen.steps):
            weight = np.asarray(seen.weight_of(index))
            sigma = np.zeros_like(weight)
            np.divide(1.0, np.sqrt(weight), out=sigma, where=weight > 0.0)
            noise = self._noise(step, Stream(member, "observations"))
            np.multiply(noise, sigma, out=self._values[index])
            self._values[index] += seen.values[index]
        return Observations(seen.steps, self._values, seen.weight)

    def background(self, member: int) -> Guess:
        """The mean with an error of the background's sigmas added, where there are any."""
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
