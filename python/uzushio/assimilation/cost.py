"""The cost function J of one group of ranks: misfit to observations, and to the background.

J = misfit + ½ Σ ((x − x_b) / σ_b)², over the points of the initial state and over the parameters,
with x_b the first guess. It is minus the logarithm of the posterior probability density, but for a
constant, if errors of observations and background are Gaussian and independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uzushio import _core
from uzushio.assimilation.hessian import Hessian, hessian_plan
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.schedule import CheckpointingPlan
from uzushio.assimilation.sweeps import Counts, Sweeps
from uzushio.observations import Observations
from uzushio.parallel.timings import Timings
from uzushio.stencil import exact_sums


class Cost:
    """J and its derivatives, in the model's units.

    Attributes:
        counts: of steps and runs so far.
    """

    def __init__(
        self,
        model: Model,
        observations: Observations,
        plan: CheckpointingPlan,
        background: Guess,
        sigmas: Sequence[float | None],
        timings: Timings | None = None,
    ) -> None:
        """Take the memory that the plan needs.

        Args:
            model: of the group.
            observations: its ranks' parts.
            plan: what of a trajectory is kept.
            background: mean of the background.
            sigmas: its standard deviations, of the state and of each parameter; None: no term.
            timings: seconds are counted there, as "sweeps" and "vectors".
        """
        self._timings = Timings() if timings is None else timings
        self.model, self.observations = model, observations
        self.sweeps = Sweeps(model, observations, plan)
        self._background = background
        inverse = [0.0 if sigma is None else 1.0 / sigma**2 for sigma in sigmas]
        self.precision, self.precisions = inverse[0], np.array(inverse[1:])

    @property
    def counts(self) -> Counts:
        """Of steps and runs so far."""
        return self.sweeps.counts

    def value(self, state: np.ndarray, parameters: np.ndarray, unit: float = 1.0) -> float:
        """J (collective); infinite where it is not finite.

        Args:
            state: the initial one, in `unit`s.
            parameters: in the model's units.
            unit: of the state.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._enter(state, parameters, unit)
            with self._timings.stage("sweeps"):
                value += self.sweeps.forward(parameters)
        return value if math.isfinite(value) else math.inf

    def gradient(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        unit: float = 1.0,
        out: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of J (collective), at the controls of the last `value`.

        Args:
            state: as in `value`.
            parameters: as in `value`.
            unit: of the state.
            out: becomes the derivatives with respect to the state, in its units; None: a new array.
        """
        of_state = np.empty(state.shape) if out is None else out
        with self._timings.stage("sweeps"):
            of_parameters = self.sweeps.backward(parameters, of_state)
        self._leave(state, parameters, unit, of_state, of_parameters)
        return of_state, of_parameters

    def both(
        self, state: np.ndarray, parameters: np.ndarray, unit: float, out: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """`value` and `gradient` in one, cheaper than one after the other (collective).

        Returns:
            J, and its derivatives with respect to the parameters, which mean nothing where J is not
            finite. `out` becomes those with respect to the state.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._enter(state, parameters, unit)
            with self._timings.stage("sweeps"):
                misfit, of_parameters = self.sweeps.both(parameters, out)
            value += misfit
            self._leave(state, parameters, unit, out, of_parameters)
        return (value if math.isfinite(value) else math.inf), of_parameters

    def _enter(self, state: np.ndarray, parameters: np.ndarray, unit: float) -> float:
        """Put the state where a run starts; returns the background's part of J."""
        background = self._background
        lost = parameters - background.parameters
        value = 0.5 * float(np.sum(self.precisions * lost**2))
        known = self.precision > 0.0
        with self._timings.stage("vectors"):
            square = _core.vectors.control_to_state(
                state, unit, background.state, self.sweeps.start, known, self.model.threads
            )
        if known:
            (total,) = exact_sums.over_ranks(self.model.comm, [square])
            value += 0.5 * self.precision * exact_sums.rounded(total)
        return value

    def _leave(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        unit: float,
        of_state: np.ndarray,
        of_parameters: np.ndarray,
    ) -> None:
        """Add the background's part to the derivatives, those of the state in its units."""
        background = self._background
        with self._timings.stage("vectors"):
            _core.vectors.gradient_to_control(
                of_state, unit, state, background.state, self.precision, self.model.threads
            )
        of_parameters += self.precisions * (parameters - background.parameters)

    def compare_with(self, observations: Observations, background: Guess) -> None:
        """Compare with others from now on, at the same steps and with the same sigmas."""
        self.observations = self.sweeps.observations = observations
        self._background = background

    def look_at(self, plan: CheckpointingPlan) -> None:
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
        plan = hessian_plan(self.sweeps.plan.steps, states, appends=self.model.appends)
        self.sweeps.release()
        precisions = (self.precision, self.precisions)
        return Hessian(self.model, self.observations, guess, precisions, plan, self.counts)
