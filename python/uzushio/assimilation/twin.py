"""Observations of a twin experiment: the model's run from a truth, with noise."""

from __future__ import annotations

import numpy as np

from uzushio._base.observations import Observations
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.noise import normal


def observe(model: Model, truth: Guess, case: AssimilationCase) -> Observations:
    """Run the model from the truth, and return the observations of the case (collective)."""
    wanted = case.observations
    last = case.time.steps if wanted.last is None else wanted.last
    steps = list(range(wanted.first, last + 1, wanted.every))
    state, now = truth.state.copy(), 0
    values = np.empty((len(steps), *state.shape))
    for index, step in enumerate(steps):
        model.forward(state, truth.parameters, now, step)
        now = step
        noise = normal(wanted.seed, step, model.shape, model.own)
        np.multiply(noise, wanted.sigma, out=values[index])
        values[index] += state
    return Observations(steps, values, 1.0 / wanted.sigma**2)
