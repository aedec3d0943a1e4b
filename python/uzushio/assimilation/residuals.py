"""Differences between observations and runs of the model, in standard deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from uzushio._base.observations import Observations
from uzushio.assimilation.model import Guess, Model


def standardised_residuals(
    model: Model, observations: Observations, guesses: Sequence[Guess], last: int
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Run the model from several initial states, and yield the residuals (collective).

    Args:
        model: the model.
        observations: this rank's part of the observations.
        guesses: initial state and parameters of each run.
        last: last step of the runs.

    Yields:
        The index of each observed step up to `last`; and of each run observation minus state in
        sigma there, 0 where none is observed.
    """
    states, now = [guess.state.copy() for guess in guesses], 0
    for index, step in enumerate(observations.steps):
        if step > last:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            for state, guess in zip(states, guesses, strict=True):
                if step > now:
                    model.forward(state, guess.parameters, now, step)
            now = step
            residuals = [observations.standardised(index, state) for state in states]
        yield index, residuals


def quadratic_part(
    model: Model, observations: Observations, guess: Guess, last: int
) -> Observations:
    """Return the observations whose term of J is squared at a point (collective).

    With Huber's norm the others have no curvature: their weight is 0. Steps after `last` take no
    part.
    """
    weight = np.zeros(observations.values.shape)
    for index, (residuals,) in standardised_residuals(model, observations, [guess], last):
        squared = np.abs(residuals) <= observations.huber
        np.copyto(weight[index], observations.weight_of(index), where=squared)
    return Observations(observations.steps, observations.values, weight)
