"""The cost function J of one group of ranks: misfit to observations, and to the background.

J = misfit + ½ Σ ((x − x_b) / σ_b)², over the points of the initial state and over the parameters,
with x_b the first guess. It is minus the logarithm of the posterior probability density, but for a
constant, if errors of observations and background are Gaussian and independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uzushio.assimilation import sums
from uzushio.assimilation.hessian import Hessian, plan_of
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.observations import Observations
from uzushio.assimilation.schedule import Plan
from uzushio.assimilation.sweeps import Counts, Sweeps


class Cost:
    """J and its derivatives, in the model's units.

    Attributes:
        counts: of steps and runs so far.
    """

    def __init__(
        self,
        model: Model,
        observations: Observations,
        plan: Plan,
        background: Guess,
        sigmas: Sequence[float | None],
    ) -> None:
        """Take the memory that the plan needs.

        Args:
            model: of the group.
            observations: its ranks' parts.
            plan: what of a trajectory is kept.
            background: mean of the background.
            sigmas: its standard deviations, of the state and of each parameter; None: no term.
        """
        self.model, self.observations = model, observations
        self.sweeps = Sweeps(model, observations, plan)
        self._background = background
        inverse = [0.0 if sigma is None else 1.0 / sigma**2 for sigma in sigmas]
        self.precision, self.precisions = inverse[0], np.array(inverse[1:])

    @property
    def counts(self) -> Counts:
        """Of steps and runs so far."""
        return self.sweeps.counts

    def value(self, state: np.ndarray, parameters: np.ndarray) -> float:
        """J (collective); infinite where it is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            misfit = self.sweeps.forward(state, parameters)
            value = misfit + self._background_value(state, parameters)
        return value if math.isfinite(value) else math.inf

    def gradient(self, state: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of J (collective), at the controls of the last `value`."""
        of_state, of_parameters = self.sweeps.backward(parameters)
        of_state += self.precision * (state - self._background.state)
        of_parameters += self.precisions * (parameters - self._background.parameters)
        return of_state, of_parameters

    def look_at(self, plan: Plan) -> None:
        """Count a run of other steps from now on."""
        counts = self.sweeps.counts
        self.sweeps.release()  # before the memory is taken anew
        self.sweeps = Sweeps(self.model, self.observations, plan)
        self.sweeps.counts = counts

    def hessian(self, guess: Guess, states: int) -> Hessian:
        """J's second derivatives at a point, for products (collective).

        The memory for trajectories is used for it: no further `value` may be asked for.

        Args:
            guess: the point.
            states: states, tangents and adjoints that may be kept together.
        """
        plan = plan_of(self.sweeps.plan.steps, states, appends=self.model.appends)
        self.sweeps.release()
        precisions = (self.precision, self.precisions)
        return Hessian(self.model, self.observations, guess, precisions, plan, self.counts)

    def _background_value(self, state: np.ndarray, parameters: np.ndarray) -> float:
        lost = parameters - self._background.parameters
        value = 0.5 * float(np.sum(self.precisions * lost**2))
        if self.precision == 0.0:
            return value
        away = state - self._background.state
        (total,) = sums.over_ranks(self.model.comm, [sums.dot(away, away)])
        return value + 0.5 * self.precision * sums.rounded(total)
