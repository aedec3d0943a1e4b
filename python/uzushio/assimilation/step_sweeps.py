"""Sweeps of a model over many steps, from functions of a single step.

Sums over points are double-double numbers (`exact_sums.DoubleDouble`), so that the sums of parts of
a run can be added and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base import exact_sums
from uzushio._base.exact_sums import DoubleDouble
from uzushio._base.observations import Observations
from uzushio.assimilation.model_step import ModelStep, Slopes
from uzushio.assimilation.stored_states import StoredStates, fixed
from uzushio.errors import ModelError

if TYPE_CHECKING:
    pass


class StepSweeps(ModelStep):
    """Sweeps over the steps of a run. All of them are collective over the ranks of the model.

    Arrays of states are this rank's own part, float64 and C-contiguous; sweeps return the same
    numbers on all ranks.
    """

    def trajectory(self, steps: int) -> Any:
        """Return storage for a number of consecutive states."""
        return StoredStates(steps, self._shape)

    def checkpoints(self, steps: int) -> Any:
        """Return storage for consecutive states that only adjoint sweeps without `keep` read.

        Each `every`-th state is stored, and the model recomputes the others.
        """
        return self.trajectory(steps)

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(part.stop - part.start for part in self.own)

    def forward(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Any = None,
        observations: Observations | None = None,
    ) -> DoubleDouble:
        """Advance `state` from step `first` to `last`, in place.

        Args:
            state: state `first`; becomes state `last`.
            parameters: parameters of the model.
            first: index of the given state.
            last: index of the result.
            trajectory: stores states `first` to `last` - 1.
            observations: observations for the misfit, those at steps in (first, last].

        Returns:
            The misfit: half the weighted sum of squared differences to those observations, or
            Huber's norm of them (`Observations.residual`).
        """
        if trajectory is not None:
            trajectory.begin(first)
        misfit = (0.0, 0.0)
        for index in range(first, last):
            if trajectory is not None:
                trajectory.append(state)
            _put(state, self.step(fixed(state), parameters, index), "step")
            if observations is not None:
                misfit = exact_sums.add(misfit, _misfit(state, index + 1, observations))
        return exact_sums.over_ranks(self.comm, [misfit])[0]

    def misfit(self, state: np.ndarray, step: int, observations: Observations) -> DoubleDouble:
        """Return the misfit at one step; 0 if it was not observed."""
        return exact_sums.over_ranks(self.comm, [_misfit(state, step, observations)])[0]

    def forcing(
        self, state: np.ndarray, step: int, observations: Observations, out: np.ndarray
    ) -> None:
        """Add the derivative of the misfit at `step` with respect to the state to `out`."""
        if (index := observations.index_of(step)) is not None:
            observations.add_weighted(index, observations.residual(index, state), out)

    def adjoint(
        self,
        adjoint: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Any,
        observations: Observations | None = None,
        keep: Any = None,
    ) -> Sequence[DoubleDouble]:
        """Compute the derivative with respect to state `first` from that for `last`, in place.

        Args:
            adjoint: at `last`, with that step's forcing; becomes that at `first`, with its forcing.
            parameters: parameters of the model.
            first: index of the earlier state.
            last: index of the later state.
            trajectory: states `first` to `last` - 1.
            observations: observations of the forcing, those at steps [first, last).
            keep: stores the adjoints for `second_order`.

        Returns:
            The contribution of these steps to the derivative with respect to each parameter.
        """
        if keep is not None:
            keep.begin(first)
        totals = [(0.0, 0.0)] * len(parameters)
        for index in reversed(range(first, last)):
            if keep is not None:
                keep[index] = adjoint
            result = self.adjoint_step(fixed(adjoint), trajectory[index], parameters, index)
            before, slopes = _pair(result, "adjoint_step")
            _put(adjoint, before, "adjoint_step")
            totals = _added(totals, slopes)
            if observations is not None:
                self.forcing(trajectory[index], index, observations, adjoint)
        return self._over_ranks(totals)

    def misfit_and_adjoint(
        self,
        adjoint: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Any,
        observations: Observations,
    ) -> tuple[DoubleDouble, Sequence[DoubleDouble]]:
        """Compute `adjoint`, and return the misfit at the steps [first, last) too.

        The sum of misfits has the same bits as that of `forward` and `misfit`.
        """
        slopes = self.adjoint(adjoint, parameters, first, last, trajectory, observations)
        misfit = (0.0, 0.0)
        for index in range(first, last):
            misfit = exact_sums.add(misfit, _misfit(trajectory[index], index, observations))
        return exact_sums.over_ranks(self.comm, [misfit])[0], slopes

    def tangent(
        self,
        tangent: np.ndarray,
        direction: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Any,
        keep: Any = None,
    ) -> None:
        """Advance a perturbation of the state from `first` to `last`, in place.

        Args:
            tangent: perturbation of the state.
            direction: perturbation of the parameters.
            parameters: parameters of the model.
            first: index of the state that `tangent` perturbs.
            last: index of the state that the result perturbs.
            trajectory: states `first` to `last` - 1.
            keep: stores the perturbations `first` to `last` - 1.
        """
        if keep is not None:
            keep.begin(first)
        for index in range(first, last):
            if keep is not None:
                keep.append(tangent)
            after = self.tangent_step(
                fixed(tangent), direction, trajectory[index], parameters, index
            )
            _put(tangent, after, "tangent_step")

    def apply_inverse_covariance(
        self, tangent: np.ndarray, step: int, observations: Observations, out: np.ndarray
    ) -> None:
        """Add the derivative of `forcing` along `tangent` to `out`."""
        if (index := observations.index_of(step)) is not None:
            observations.add_weighted(index, tangent, out)

    def second_order(
        self,
        adjoint: np.ndarray,
        direction: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Any,
        tangents: Any,
        adjoints: Any = None,
        observations: Observations | None = None,
    ) -> Sequence[DoubleDouble]:
        """Compute the adjoint's derivative along a perturbation at `first` from that at `last`.

        Args:
            adjoint: derivative of the adjoint at `last`, with `apply_inverse_covariance` of that
                step; becomes that at `first`.
            direction: perturbation of the parameters.
            parameters: parameters of the model.
            first: index of the earlier state.
            last: index of the later state.
            trajectory: states `first` to `last` - 1.
            tangents: tangents of these steps, from `tangent`.
            adjoints: adjoints of these steps, from `adjoint`; None for the Gauss-Newton part, which
                is never indefinite.
            observations: as in `adjoint`.

        Returns:
            The contribution of these steps to the derivative of each parameter's gradient.
        """
        totals = [(0.0, 0.0)] * len(parameters)
        for index in reversed(range(first, last)):
            state = trajectory[index]
            result = self.adjoint_step(fixed(adjoint), state, parameters, index)
            before, slopes = _pair(result, "adjoint_step")
            totals = _added(totals, slopes)
            if adjoints is not None:
                result = self.second_order_step(
                    tangents[index], direction, adjoints[index], state, parameters, index
                )
                change, slopes = _pair(result, "second_order_step")
                before, totals = before + change, _added(totals, slopes)
            _put(adjoint, before, "adjoint_step and second_order_step")
            if observations is not None:
                self.apply_inverse_covariance(tangents[index], index, observations, adjoint)
        return self._over_ranks(totals)

    def _over_ranks(self, totals: list[DoubleDouble]) -> list[DoubleDouble]:
        return exact_sums.over_ranks(self.comm, totals) if totals else []


def _put(state: np.ndarray, result: np.ndarray, name: str) -> None:
    """Copy the result of a user's method; raise `ModelError` if its shape or type is wrong."""
    values = np.asarray(result)
    if values.shape != state.shape or values.dtype.kind not in "biuf":
        what = "nothing" if result is None else f"{values.dtype} of shape {values.shape}"
        raise ModelError(
            f"{name} returned {what}; it must return real numbers of shape {state.shape}."
        )
    state[...] = values


def _pair(result: Any, name: str) -> tuple[np.ndarray, Slopes]:
    """Return both results of a user's method; raise `ModelError` if there are not two."""
    if not (isinstance(result, tuple) and len(result) == 2 and np.iterable(result[1])):
        raise ModelError(
            f"{name} must return two values: a field, and a list with the derivative with respect "
            "to each parameter."
        )
    return result


def _misfit(state: np.ndarray, step: int, observations: Observations) -> DoubleDouble:
    """Return the misfit of this rank's part at one step."""
    if (index := observations.index_of(step)) is None:
        return 0.0, 0.0
    difference, weighted = state - observations.values[index], np.zeros_like(state)
    limited = observations.residual(index, state)
    observations.add_weighted(index, limited, weighted)
    high, low = exact_sums.dot(weighted, 2.0 * difference - limited)
    return 0.5 * high, 0.5 * low


def _added(totals: list[DoubleDouble], slopes: Slopes) -> list[DoubleDouble]:
    """Add this rank's derivatives with respect to the parameters."""
    if len(slopes) != len(totals):
        raise ModelError(
            f"adjoint_step returned {len(slopes)} derivatives with respect to parameters; the "
            f"model has {len(totals)} parameters."
        )
    return [exact_sums.add(a, _sum(b)) for a, b in zip(totals, slopes, strict=True)]


def _sum(values: float | np.ndarray) -> DoubleDouble:
    """Return the sum of an array, exact to double-double precision."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    return (
        exact_sums.dot(array, np.ones(array.size)) if array.size > 1 else (float(array.sum()), 0.0)
    )
