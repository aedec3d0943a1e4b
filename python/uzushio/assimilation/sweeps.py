"""Forward, adjoint and Hessian sweeps over all steps of a run, within a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uzushio._base import exact_sums
from uzushio._base.observations import Observations
from uzushio.assimilation.model import Model, Trajectory
from uzushio.assimilation.schedule import CheckpointingPlan, ScheduleAction, ScheduleEntry


@dataclass
class Counts:
    """Counts of steps and sweeps of this group of ranks."""

    forward_steps: int = 0
    backward_steps: int = 0
    tangent_steps: int = 0
    second_order_steps: int = 0
    forward_runs: int = 0
    backward_runs: int = 0
    hessian_products: int = 0
    replayed_steps: int = 0
    """Forward steps that an adjoint did again on its way."""

    def restore(self, stored: Mapping[str, int]) -> None:
        """Set the counts from the values of `dataclasses.asdict`."""
        for name, count in stored.items():
            setattr(self, name, count)


#: Function that sweeps the adjoint back through a window; returns misfit and derivatives.
_Reverse = Callable[
    [np.ndarray, np.ndarray, ScheduleEntry],
    tuple[exact_sums.DoubleDouble, Sequence[exact_sums.DoubleDouble]],
]


class Sweeps:
    """Run of a model from given controls, and the derivatives of its misfit.

    All methods are collective over the model's ranks. The gradient has the same bits for any plan.
    """

    def __init__(self, model: Model, observations: Observations, plan: CheckpointingPlan) -> None:
        """Allocate the memory that the plan needs.

        Args:
            model: the model.
            observations: observations for the misfit.
            plan: checkpointing schedule.
        """
        self.model, self.observations, self.plan = model, observations, plan
        self._shape = tuple(part.stop - part.start for part in model.own)
        self._window: Trajectory | None = model.checkpoints(plan.window)
        self._snapshots = [np.empty(self._shape) for _ in range(plan.snapshots)]
        # Needed if a part of the run is recomputed.
        self._initial = None if plan.window == plan.steps else np.empty(self._shape)
        self._now = np.empty(self._shape)
        self._actions: Iterator[ScheduleEntry] | None = None
        self._pending = ScheduleEntry(ScheduleAction.REVERSE, 0)
        self.counts = Counts()

    def release(self) -> None:
        """Release the memory; only `counts` and `plan` may be used afterwards."""
        self._window = None
        self._snapshots.clear()

    @property
    def _held(self) -> Trajectory:
        assert self._window is not None, "the memory was given back"
        return self._window

    @property
    def start(self) -> np.ndarray:
        """Return the array of the initial state for `forward`, which overwrites it."""
        return self._now

    def forward(self, parameters: np.ndarray) -> float:
        """Run the model from `start`; return the misfit to all observations."""
        misfit = self.model.misfit(self._now, 0, self.observations)
        return exact_sums.rounded(
            exact_sums.add(misfit, self._advance(parameters, self.observations))
        )

    def backward(self, parameters: np.ndarray, adjoint: np.ndarray) -> np.ndarray:
        """Return the derivatives of the misfit with respect to the parameters.

        Call it once after `forward` with the same parameters. `adjoint` receives the derivatives
        with respect to the state.
        """
        return self._back(parameters, adjoint, self._adjoint)[1]

    def value_and_gradient(
        self, parameters: np.ndarray, adjoint: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Compute `forward` and `backward` in one; return the misfit and the derivatives.

        The misfit is summed in the backward sweep, which reads the observations anyway.
        """
        self._advance(parameters, None)
        last = self.model.misfit(self._now, self.plan.steps, self.observations)
        misfit, slopes = self._back(parameters, adjoint, self._misfit_and_adjoint)
        return exact_sums.rounded(exact_sums.add(misfit, last)), slopes

    def _advance(
        self, parameters: np.ndarray, observations: Observations | None
    ) -> exact_sums.DoubleDouble:
        """Perform the forward run; return its misfit to the given observations."""
        if self._initial is not None:
            self._initial[...] = self._now
        misfit = (0.0, 0.0)
        self._actions = self.plan.actions()
        for entry in self._actions:
            if entry.action is ScheduleAction.REVERSE:
                self._pending = entry
                break
            if entry.action in (ScheduleAction.ADVANCE, ScheduleAction.RECORD):
                keep = self._held if entry.action is ScheduleAction.RECORD else None
                part = self.model.forward(
                    self._now, parameters, entry.first, entry.last, keep, observations
                )
                misfit = exact_sums.add(misfit, part)
                self.counts.forward_steps += entry.last - entry.first
            else:
                self._act(entry, parameters)
        self.counts.forward_runs += 1
        return misfit

    def _back(
        self, parameters: np.ndarray, adjoint: np.ndarray, reverse: _Reverse
    ) -> tuple[exact_sums.DoubleDouble, np.ndarray]:
        """Perform the rest of the schedule; return the sums of the results of `reverse`."""
        assert self._actions is not None, "backward follows forward"
        adjoint.fill(0.0)
        self.model.forcing(self._now, self.plan.steps, self.observations, adjoint)
        misfit, totals = reverse(adjoint, parameters, self._pending)
        for entry in self._actions:
            if entry.action is ScheduleAction.REVERSE:
                part, parts = reverse(adjoint, parameters, entry)
                misfit = exact_sums.add(misfit, part)
                totals = [exact_sums.add(a, b) for a, b in zip(totals, parts, strict=True)]
            else:
                self._act(entry, parameters)
        self._actions = None
        self.counts.backward_runs += 1
        return misfit, np.array([exact_sums.rounded(total) for total in totals])

    def _act(self, entry: ScheduleEntry, parameters: np.ndarray) -> None:
        """Perform an entry that is neither an adjoint sweep nor part of the forward run."""
        if entry.action is ScheduleAction.STORE:
            self._snapshots[entry.slot - 1][...] = self._now
        elif entry.action is ScheduleAction.RESTORE:
            kept = self._snapshots[entry.slot - 1] if entry.slot else self._initial
            assert kept is not None, "the plan computes nothing again"
            self._now[...] = kept
        elif entry.action is ScheduleAction.ADVANCE:
            self.model.forward(self._now, parameters, entry.first, entry.last)
            self.counts.forward_steps += entry.last - entry.first
        else:
            last = entry.last - self.plan.appends
            self.model.forward(self._now, parameters, entry.first, last, self._held)
            if self.plan.appends:
                self._held.append(self._now)
            self.counts.forward_steps += last - entry.first

    def _adjoint(
        self, adjoint: np.ndarray, parameters: np.ndarray, window: ScheduleEntry
    ) -> tuple[exact_sums.DoubleDouble, Sequence[exact_sums.DoubleDouble]]:
        """Sweep the adjoint back through a window, without the misfit."""
        self._count(window)
        slopes = self.model.adjoint(
            adjoint, parameters, window.first, window.last, self._held, self.observations
        )
        return (0.0, 0.0), slopes

    def _misfit_and_adjoint(
        self, adjoint: np.ndarray, parameters: np.ndarray, window: ScheduleEntry
    ) -> tuple[exact_sums.DoubleDouble, Sequence[exact_sums.DoubleDouble]]:
        """Sweep the adjoint back through a window, and sum its misfit."""
        self._count(window)
        return self.model.misfit_and_adjoint(
            adjoint, parameters, window.first, window.last, self._held, self.observations
        )

    def _count(self, window: ScheduleEntry) -> None:
        steps = window.last - window.first
        self.counts.backward_steps += steps
        self.counts.replayed_steps += steps - -(-steps // self.model.every)
