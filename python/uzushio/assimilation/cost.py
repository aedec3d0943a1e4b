"""Cost function J of one group of ranks: misfit to observations and to the background.

J = misfit + ½ Σ ((x − x_b) / σ_b)², over the points of the initial state and over the parameters,
with x_b the first guess. The misfit is that of squares, or with large differences in Huber's norm
(`Observations.huber`). Up to a constant J is minus the logarithm of the posterior probability
density, if the errors of background and observations are independent and Gaussian, those of the
observations with exponential tails for Huber's norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uzushio import _core
from uzushio._base import exact_sums
from uzushio._base.observations import Observations
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio.assimilation.hessian import Hessian, hessian_plan
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.residuals import quadratic_part
from uzushio.assimilation.schedule import CheckpointingPlan
from uzushio.assimilation.sweeps import Counts, Sweeps


class Cost:
    """J and its derivatives, in the model's units.

    Attributes:
        counts: counts of steps and runs so far.
    """

    def __init__(
        self,
        model: Model,
        observations: Observations,
        plan: CheckpointingPlan,
        background: Guess,
        sigmas: Sequence[float | None],
        sections: SectionMonitor | None = None,
    ) -> None:
        """Allocate the memory that the plan needs.

        Args:
            model: model of the group.
            observations: this rank's part of the observations.
            plan: checkpointing schedule.
            background: mean of the background.
            sigmas: standard deviations of the background, of the state and of each parameter;
                None: no term.
            sections: receives the sections "sweeps" and "vectors".
        """
        self._sections = SectionMonitor() if sections is None else sections
        self.model, self.observations = model, observations
        self.sweeps = Sweeps(model, observations, plan)
        self._background = background
        inverse = [0.0 if sigma is None else 1.0 / sigma**2 for sigma in sigmas]
        self.precision, self.precisions = inverse[0], np.array(inverse[1:])

    @property
    def counts(self) -> Counts:
        """Counts of steps and runs so far."""
        return self.sweeps.counts

    def value(self, state: np.ndarray, parameters: np.ndarray, unit: float = 1.0) -> float:
        """Return J, or infinity if it is not finite (collective).

        Args:
            state: initial state, in multiples of `unit`.
            parameters: parameters in the model's units.
            unit: unit of the state.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._set_initial_state(state, parameters, unit)
            with self._sections.section("sweeps"):
                value += self.sweeps.forward(parameters)
        return value if math.isfinite(value) else math.inf

    def gradient(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        unit: float = 1.0,
        out: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of J at the controls of the last `value` (collective).

        Args:
            state: as in `value`.
            parameters: as in `value`.
            unit: as in `value`.
            out: receives the derivatives with respect to the state, in its units; None: a new
                array.
        """
        of_state = np.empty(state.shape) if out is None else out
        with self._sections.section("sweeps"):
            of_parameters = self.sweeps.backward(parameters, of_state)
        self._add_background(state, parameters, unit, of_state, of_parameters)
        return of_state, of_parameters

    def value_and_gradient(
        self, state: np.ndarray, parameters: np.ndarray, unit: float, out: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return J and its derivatives, cheaper than `value` and `gradient` (collective).

        Returns:
            J, and its derivatives with respect to the parameters, undefined if J is not finite.
            `out` receives those with respect to the state.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._set_initial_state(state, parameters, unit)
            with self._sections.section("sweeps"):
                misfit, of_parameters = self.sweeps.value_and_gradient(parameters, out)
            value += misfit
            self._add_background(state, parameters, unit, out, of_parameters)
        return (value if math.isfinite(value) else math.inf), of_parameters

    def _set_initial_state(self, state: np.ndarray, parameters: np.ndarray, unit: float) -> float:
        """Set the initial state of a run; return the background term of J."""
        background = self._background
        lost = parameters - background.parameters
        value = 0.5 * float(np.sum(self.precisions * lost**2))
        known = self.precision > 0.0
        with self._sections.section("vectors"):
            square = _core.vectors.control_to_state(
                state, unit, background.state, self.sweeps.start, known, self.model.threads
            )
        if known:
            (total,) = exact_sums.over_ranks(self.model.comm, [square])
            value += 0.5 * self.precision * exact_sums.rounded(total)
        return value

    def _add_background(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        unit: float,
        of_state: np.ndarray,
        of_parameters: np.ndarray,
    ) -> None:
        """Add the derivatives of the background term; those of the state in its unit."""
        background = self._background
        with self._sections.section("vectors"):
            _core.vectors.gradient_to_control(
                of_state, unit, state, background.state, self.precision, self.model.threads
            )
        of_parameters += self.precisions * (parameters - background.parameters)

    def background_value(self, guess: Guess) -> float:
        """Return the background term of J at a point (collective)."""
        background = self._background
        lost = guess.parameters - background.parameters
        value = 0.5 * float(np.sum(self.precisions * lost**2))
        if self.precision > 0.0:
            difference = guess.state - background.state
            square = exact_sums.dot(difference, difference)
            (total,) = exact_sums.over_ranks(self.model.comm, [square])
            value += 0.5 * self.precision * exact_sums.rounded(total)
        return value

    def value_at(self, guess: Guess) -> float:
        """Return J at a point without storing a trajectory, also after `hessian` (collective)."""
        model, state = self.model, guess.state.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            first = model.misfit(state, 0, self.observations)
            rest = model.forward(
                state, guess.parameters, 0, self.sweeps.plan.steps, None, self.observations
            )
            value = exact_sums.rounded(exact_sums.add(first, rest)) + self.background_value(guess)
        return value if math.isfinite(value) else math.inf

    def compare_with(self, observations: Observations, background: Guess) -> None:
        """Replace observations and background, with the same steps and sigmas."""
        self.observations = self.sweeps.observations = observations
        self._background = background

    def set_schedule(self, plan: CheckpointingPlan) -> None:
        """Set the checkpointing schedule of a window."""
        counts = self.sweeps.counts
        self.sweeps.release()  # before the new allocation
        self.sweeps = Sweeps(self.model, self.observations, plan)
        self.sweeps.counts = counts

    def hessian(self, guess: Guess, states: int) -> Hessian:
        """Return J's Hessian at a point (collective).

        It takes over the memory for trajectories: `value` may not be called afterwards.

        Args:
            guess: the point.
            states: maximum total number of states, tangents and adjoints.
        """
        plan = hessian_plan(self.sweeps.plan.steps, states, appends=self.model.appends)
        self.sweeps.release()
        precisions, observations = (self.precision, self.precisions), self.observations
        curved = None
        if math.isfinite(observations.huber):
            curved = quadratic_part(self.model, observations, guess, self.sweeps.plan.steps)
        return Hessian(self.model, observations, guess, precisions, plan, self.counts, curved)
