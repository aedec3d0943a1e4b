"""Units for the controls in which the curvature of J is about 1, so that a step of 1 is a sane one.

Without them the optimiser sees curvatures that differ by ten orders between m and a point of the
state, and its first steps lead to where the model is not stable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uzushio.assimilation.model import Guess, Model
from uzushio.observations import Observations

#: Observed steps that a curvature is taken from.
_SAMPLES = 16


def scales(
    model: Model,
    observations: Observations,
    guess: Guess,
    sigmas: Sequence[float | None],
    given: Sequence[float | None],
    window: int,
) -> list[float]:
    """The units of the state and of each parameter (collective).

    They are powers of two: rounding them hides in which order ranks were added up, and scaling by
    them is exact.

    Args:
        model: to take the curvature of.
        observations: that J counts.
        guess: where to take it.
        sigmas: of the background; None: no background.
        given: units that the case prescribes; None: to be found.
        window: steps of the run that count.
    """
    found = list(given)
    seen = [index for index, step in enumerate(observations.steps) if step <= window]
    if given[0] is None:
        found[0] = _unit(weight(model, observations, seen) + _precision(sigmas[0]))
    for index in range(len(model.parameters)):
        if given[index + 1] is None:
            curvature = _curvature(model, observations, guess, index, seen)
            found[index + 1] = _unit(curvature + _precision(sigmas[index + 1]))
    return [1.0 if one is None else one for one in found]


def _precision(sigma: float | None) -> float:
    return 0.0 if sigma is None else 1.0 / sigma**2


def _unit(curvature: float) -> float:
    if not (math.isfinite(curvature) and curvature > 0.0):
        return 1.0
    return float(2.0 ** round(-0.5 * math.log2(curvature)))


def weight(model: Model, observations: Observations, seen: Sequence[int]) -> float:
    """What all observations of a point weigh together, on average."""
    points = model.shape[0] * model.shape[1]
    own = observations.values[0].size
    mine = sum(float(np.mean(observations.weight_of(index))) * own for index in seen)
    total: float = model.comm.allreduce(mine)
    return total / points


def _curvature(
    model: Model,
    observations: Observations,
    guess: Guess,
    parameter: int,
    seen: Sequence[int],
) -> float:
    """Gauss and Newton's second derivative of the misfit with respect to one parameter."""
    state, direction = guess.state.copy(), np.zeros(len(guess.parameters))
    direction[parameter] = 1.0
    tangent, kept = np.zeros_like(state), model.trajectory(1)
    every = max(1, -(-len(seen) // _SAMPLES))
    wanted = {observations.steps[index] for index in seen[::-1][::every]}
    total = 0.0
    for step in range(max(wanted, default=0)):
        model.forward(state, guess.parameters, step, step + 1, kept)
        model.tangent(tangent, direction, guess.parameters, step, step + 1, kept)
        if step + 1 in wanted:
            weighed = np.zeros_like(state)
            model.apply_inverse_covariance(tangent, step + 1, observations, weighed)
            total += float(np.vdot(weighed, tangent))
    curvature: float = model.comm.allreduce(total)
    return curvature * len(seen) / max(1, len(wanted))
