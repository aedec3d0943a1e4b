"""Products of the Hessian of J with vectors, by the second-order adjoint (Ito et al. 2016).

A product is one sweep forward with the tangent-linear model, and one backward with the derivative
of the adjoint. If three trajectories (states, tangents, adjoints) fit into the budget, states and
adjoints are computed once for all products at a point. Else windows of them are recomputed for each
product, by a checkpointing schedule as for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uzushio._base import exact_sums
from uzushio._base.observations import Observations
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.schedule import CheckpointingPlan, ScheduleAction, ScheduleEntry, plan
from uzushio.assimilation.sweeps import Counts


def hessian_plan(steps: int, states: int, appends: bool = True) -> CheckpointingPlan:
    """Return the schedule of a product for a total of `states` states, tangents and adjoints."""
    return plan(steps, max(states, 3), 2, 3, appends)


class Hessian:
    """Hessian of J at one point.

    All methods are collective.
    """

    def __init__(
        self,
        model: Model,
        observations: Observations,
        guess: Guess,
        precisions: tuple[float, np.ndarray],
        plan: CheckpointingPlan,
        counts: Counts,
        curved: Observations | None = None,
    ) -> None:
        """Allocate memory.

        Args:
            model: model of J.
            observations: observations of J.
            guess: the point.
            precisions: second derivatives of the background term, for the state and the parameters.
            plan: checkpointing schedule, from `hessian_plan`.
            counts: steps and runs are added to it.
            curved: observations whose weight is the second derivative of the misfit at the point;
                None: `observations`.
        """
        self._model, self._observations, self._plan = model, observations, plan
        self._curved = observations if curved is None else curved
        self._state, self._parameters = guess.state, guess.parameters
        self._precisions, self._counts = precisions, counts
        state, steps = guess.state, plan.steps
        window = self._plan.window
        self._states = self._model.trajectory(window)
        self._tangents = self._model.trajectory(window)
        self._adjoints = self._model.trajectory(window)
        self._slots = [
            (np.empty_like(state), np.empty_like(state)) for _ in range(self._plan.snapshots)
        ]
        self._whole = window == steps
        self._ready = False

    def product(
        self, of_state: np.ndarray, of_parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the Hessian times a perturbation of the state and the parameters."""
        self._direction = of_parameters
        self._now, self._tangent = self._state.copy(), of_state.copy()
        first, actions = True, self._plan.actions()
        lam, mu = np.zeros_like(of_state), np.zeros_like(of_state)
        totals = [(0.0, 0.0)] * len(of_parameters)
        for entry in actions:
            if entry.action is ScheduleAction.REVERSE:
                if first:
                    self._force(lam, mu)
                    first = False
                parts = self._reverse(entry, lam, mu)
                totals = [exact_sums.add(a, b) for a, b in zip(totals, parts, strict=True)]
            else:
                self._act(entry, of_state, first)
        self._counts.hessian_products += 1
        precision, precisions = self._precisions
        mu += precision * of_state
        slopes = np.array([exact_sums.rounded(total) for total in totals])
        return mu, slopes + precisions * of_parameters

    def _force(self, lam: np.ndarray, mu: np.ndarray) -> None:
        """Initialise both adjoints at the end of the run."""
        last, observations = self._plan.steps, self._observations
        if not (self._whole and self._ready):
            self._model.forcing(self._now, last, observations, lam)
        self._model.apply_inverse_covariance(self._tangent, last, self._curved, mu)

    def _act(self, entry: ScheduleEntry, of_state: np.ndarray, first: bool) -> None:
        """Perform a schedule entry: advance, store or restore the state and its tangent."""
        if entry.action is ScheduleAction.STORE:
            state, tangent = self._slots[entry.slot - 1]
            state[...], tangent[...] = self._now, self._tangent
        elif entry.action is ScheduleAction.RESTORE:
            start = self._slots[entry.slot - 1] if entry.slot else (self._state, of_state)
            self._now[...], self._tangent[...] = start
        elif entry.action is ScheduleAction.ADVANCE:
            at, window = entry.first, self._plan.window
            while at < entry.last:
                to = min(at + window, entry.last)
                self._steps(at, to)
                at = to
        else:
            appends = self._plan.appends and not first
            self._steps(entry.first, entry.last - appends)
            if appends:
                self._states.append(self._now)
                self._tangents.append(self._tangent)

    def _steps(self, first: int, last: int) -> None:
        """Advance the state and its tangent, and store both in the windows."""
        if not (self._whole and self._ready):
            self._model.forward(self._now, self._parameters, first, last, self._states)
            self._counts.forward_steps += last - first
        self._model.tangent(
            self._tangent,
            self._direction,
            self._parameters,
            first,
            last,
            self._states,
            self._tangents,
        )
        self._counts.tangent_steps += last - first

    def _reverse(
        self, window: ScheduleEntry, lam: np.ndarray, mu: np.ndarray
    ) -> Sequence[exact_sums.DoubleDouble]:
        """Sweep both adjoints back through a window."""
        first, last = window.first, window.last
        if not (self._whole and self._ready):
            self._model.adjoint(
                lam,
                self._parameters,
                first,
                last,
                self._states,
                self._observations,
                self._adjoints,
            )
            self._counts.backward_steps += last - first
        self._ready = True
        self._counts.second_order_steps += last - first
        return self._model.second_order(
            mu,
            self._direction,
            self._parameters,
            first,
            last,
            self._states,
            self._tangents,
            self._adjoints,
            self._curved,
        )
