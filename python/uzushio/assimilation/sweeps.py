"""Forward, adjoint and Hessian sweeps over all steps of a run, within a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uzushio.assimilation import sums
from uzushio.assimilation.model import Model
from uzushio.assimilation.observations import Observations
from uzushio.assimilation.schedule import Action, Do, Plan


@dataclass
class Counts:
    """Steps and sweeps so far, of this group of ranks."""

    forward_steps: int = 0
    backward_steps: int = 0
    tangent_steps: int = 0
    second_order_steps: int = 0
    forward_runs: int = 0
    backward_runs: int = 0
    hessian_products: int = 0

    def restore(self, stored: Mapping[str, int]) -> None:
        """Go on counting from what `dataclasses.asdict` gave."""
        for name, count in stored.items():
            setattr(self, name, count)


class Sweeps:
    """A model's run from given controls, and the derivatives of its misfit.

    All methods are collective over the model's ranks. The gradient is the same to the bit whatever
    the plan keeps and computes again.
    """

    def __init__(self, model: Model, observations: Observations, plan: Plan) -> None:
        """Take the memory that the plan needs.

        Args:
            model: to run.
            observations: to compare it with.
            plan: of what is kept.
        """
        self.model, self.observations, self.plan = model, observations, plan
        rows, columns = (part.stop - part.start for part in model.own)
        self._shape = (rows, columns)
        self._window = model.trajectory(plan.window)
        self._snapshots = [np.empty(self._shape) for _ in range(plan.snapshots)]
        # Needed where not all of the run is kept, and some of it computed again.
        self._initial = None if plan.window == plan.steps else np.empty(self._shape)
        self._now = np.empty(self._shape)
        self._actions: Iterator[Action] | None = None
        self._pending = Action(Do.REVERSE, 0)
        self.counts = Counts()

    @property
    def bytes(self) -> int:
        """Memory of the window and the snapshots on this rank."""
        return self._window.bytes + sum(one.nbytes for one in self._snapshots)

    def release(self) -> None:
        """Give the memory back; only `counts` and `plan` are of use afterwards."""
        del self._window
        self._snapshots.clear()

    @property
    def start(self) -> np.ndarray:
        """Where the initial state is put for `forward`, which makes the last one of it."""
        return self._now

    def forward(self, parameters: np.ndarray) -> float:
        """Run the model from `start`; returns the misfit to all observations."""
        model = self.model
        if self._initial is not None:
            self._initial[...] = self._now
        misfit = model.misfit(self._now, 0, self.observations)
        self._actions = self.plan.actions()
        for action in self._actions:
            if action.what is Do.REVERSE:
                self._pending = action
                break
            if action.what in (Do.ADVANCE, Do.RECORD):
                misfit = sums.add(misfit, self._run(action, parameters))
            else:
                self._act(action, parameters)
        self.counts.forward_runs += 1
        return sums.rounded(misfit)

    def backward(self, parameters: np.ndarray, adjoint: np.ndarray) -> np.ndarray:
        """Derivatives of the misfit with respect to the parameters.

        It follows a `forward` with the same parameters, once. `adjoint` becomes the derivatives
        with respect to the state.
        """
        assert self._actions is not None, "backward follows forward"
        adjoint.fill(0.0)
        self.model.forcing(self._now, self.plan.steps, self.observations, adjoint)
        totals = self._reverse(adjoint, parameters, self._pending)
        for action in self._actions:
            if action.what is Do.REVERSE:
                parts = self._reverse(adjoint, parameters, action)
                totals = [sums.add(a, b) for a, b in zip(totals, parts, strict=True)]
            else:
                self._act(action, parameters)
        self._actions = None
        self.counts.backward_runs += 1
        return np.array([sums.rounded(total) for total in totals])

    def _run(self, action: Action, parameters: np.ndarray) -> sums.Doubled:
        """Do steps of the run itself; returns their misfit."""
        self.counts.forward_steps += action.last - action.first
        keep = self._window if action.what is Do.RECORD else None
        return self.model.forward(
            self._now, parameters, action.first, action.last, keep, self.observations
        )

    def _act(self, action: Action, parameters: np.ndarray) -> None:
        """Do what is neither an adjoint nor part of the run itself."""
        if action.what is Do.STORE:
            self._snapshots[action.slot - 1][...] = self._now
        elif action.what is Do.RESTORE:
            kept = self._snapshots[action.slot - 1] if action.slot else self._initial
            assert kept is not None, "the plan computes nothing again"
            self._now[...] = kept
        elif action.what is Do.ADVANCE:
            self.model.forward(self._now, parameters, action.first, action.last)
            self.counts.forward_steps += action.last - action.first
        else:
            last = action.last - self.plan.appends
            self.model.forward(self._now, parameters, action.first, last, self._window)
            if self.plan.appends:
                self._window.append(self._now)
            self.counts.forward_steps += last - action.first

    def _reverse(
        self, adjoint: np.ndarray, parameters: np.ndarray, window: Action
    ) -> Sequence[sums.Doubled]:
        self.counts.backward_steps += window.last - window.first
        return self.model.adjoint(
            adjoint, parameters, window.first, window.last, self._window, self.observations
        )
