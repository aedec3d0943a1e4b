"""Units of the controls in which the curvature of J is about 1, and a step of 1 is reasonable.

Without them, the curvatures for a parameter and for a point of the state differ by ten orders, and
the first steps lead to states at which the model is unstable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uzushio._base.observations import Observations
from uzushio.assimilation.model import Guess, Model

#: Maximum number of observed steps for a curvature.
_SAMPLES = 16


def scales(
    model: Model,
    observations: Observations,
    guess: Guess,
    sigmas: Sequence[float | None],
    given: Sequence[float | None],
    window: int,
) -> list[float]:
    """Return the units of the state and of each parameter (collective).

    They are rounded to powers of two: so they do not depend on the order of sums over ranks, and
    scaling is exact.

    Args:
        model: model of J.
        observations: observations of J.
        guess: point at which the curvature is computed.
        sigmas: standard deviations of the background; None: no background.
        given: units from the case; None: to be computed.
        window: steps of the window.
    """
    filled = list(given)
    observed = [index for index, step in enumerate(observations.steps) if step <= window]
    if given[0] is None:
        filled[0] = _unit(weight(model, observations, observed) + _precision(sigmas[0]))
    for index in range(len(model.parameters)):
        if given[index + 1] is None:
            curvature = _curvature(model, observations, guess, index, observed)
            filled[index + 1] = _unit(curvature + _precision(sigmas[index + 1]))
    return [1.0 if scale is None else scale for scale in filled]


def _precision(sigma: float | None) -> float:
    return 0.0 if sigma is None else 1.0 / sigma**2


def _unit(curvature: float) -> float:
    if not (math.isfinite(curvature) and curvature > 0.0):
        return 1.0
    return float(2.0 ** round(-0.5 * math.log2(curvature)))


def weight(model: Model, observations: Observations, observed: Sequence[int]) -> float:
    """Return the mean over points of the sum of weights of a point's observations."""
    points = math.prod(model.shape)
    own = observations.values[0].size
    mine = sum(float(np.mean(observations.weight_of(index))) * own for index in observed)
    total: float = model.comm.allreduce(mine)
    return total / points


def _curvature(
    model: Model,
    observations: Observations,
    guess: Guess,
    parameter: int,
    observed: Sequence[int],
) -> float:
    """Return the Gauss-Newton second derivative of the misfit with respect to one parameter."""
    state, direction = guess.state.copy(), np.zeros(len(guess.parameters))
    direction[parameter] = 1.0
    tangent, kept = np.zeros_like(state), model.trajectory(1)
    every = max(1, -(-len(observed) // _SAMPLES))
    wanted = {observations.steps[index] for index in observed[::-1][::every]}
    total = 0.0
    for step in range(max(wanted, default=0)):
        model.forward(state, guess.parameters, step, step + 1, kept)
        model.tangent(tangent, direction, guess.parameters, step, step + 1, kept)
        if step + 1 in wanted:
            weighed = np.zeros_like(state)
            model.apply_inverse_covariance(tangent, step + 1, observations, weighed)
            total += float(np.vdot(weighed, tangent))
    curvature: float = model.comm.allreduce(total)
    return curvature * len(observed) / max(1, len(wanted))
