"""One step of a model, its derivative and the adjoint of that.

A model defines `step` and `adjoint_step`. If it has no `tangent_step` or no `second_order_step`,
these are central differences of `step` and `adjoint_step`, exact up to rounding if they are
polynomials of degree two in the state and the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.assimilation.stored_states import fixed

if TYPE_CHECKING:
    from mpi4py import MPI

#: Derivatives with respect to each parameter: arrays whose sums over points and ranks they are, or
#: this rank's contributions.
Slopes = Sequence[float | np.ndarray]


class ModelStep:
    """Functions of a single step; collective over the ranks of the model.

    Arrays of states are this rank's own part, float64 and C-contiguous.
    """

    comm: MPI.Comm
    own: tuple[slice, ...]

    def step(self, state: np.ndarray, parameters: np.ndarray, index: int) -> np.ndarray:
        """Return state `index` + 1.

        Args:
            state: state `index`, read-only.
            parameters: values of the parameters.
            index: index of the step, for a forcing that depends on time.
        """
        raise NotImplementedError

    def adjoint_step(
        self, adjoint: np.ndarray, state: np.ndarray, parameters: np.ndarray, index: int
    ) -> tuple[np.ndarray, Slopes]:
        """Return the derivatives of J with respect to state `index` and to the parameters.

        With D and P the derivatives of `step` with respect to the state and the parameters, these
        are Dᵀ `adjoint` and Pᵀ `adjoint`.

        Args:
            adjoint: derivative of J with respect to state `index` + 1, read-only.
            state: state `index`, read-only.
            parameters: values of the parameters.
            index: index of the step.

        Returns:
            A field, and for each parameter an array whose sum is the derivative, or a number.
        """
        raise NotImplementedError

    def tangent_step(
        self,
        tangent: np.ndarray,
        direction: np.ndarray,
        state: np.ndarray,
        parameters: np.ndarray,
        index: int,
    ) -> np.ndarray:
        """Return the perturbation of state `index` + 1: D `tangent` + P `direction`.

        Args:
            tangent: perturbation of state `index`, read-only.
            direction: perturbation of the parameters.
            state: state `index`, read-only.
            parameters: values of the parameters.
            index: index of the step.
        """
        h = self._increment(tangent, direction, state, parameters)
        above = self.step(fixed(state + h * tangent), parameters + h * direction, index)
        below = self.step(fixed(state - h * tangent), parameters - h * direction, index)
        return np.asarray((above - below) / (2.0 * h))

    def second_order_step(
        self,
        tangent: np.ndarray,
        direction: np.ndarray,
        adjoint: np.ndarray,
        state: np.ndarray,
        parameters: np.ndarray,
        index: int,
    ) -> tuple[np.ndarray, Slopes]:
        """Return the change of `adjoint_step` with the state and the parameters.

        Args:
            tangent: perturbation of the state, read-only.
            direction: perturbation of the parameters.
            adjoint: as in `adjoint_step`; it is constant.
            state: state `index`, read-only.
            parameters: values of the parameters.
            index: index of the step.

        Returns:
            The derivative along the perturbations of both results of `adjoint_step`.
        """
        h = self._increment(tangent, direction, state, parameters)
        ends = [
            self.adjoint_step(
                adjoint, fixed(state + a * tangent), parameters + a * direction, index
            )
            for a in (h, -h)
        ]
        (above, slopes), (below, slopes_below) = ends
        pairs = zip(slopes, slopes_below, strict=True)
        return (above - below) / (2.0 * h), [(a - b) / (2.0 * h) for a, b in pairs]

    def _increment(
        self, tangent: np.ndarray, direction: np.ndarray, state: np.ndarray, parameters: np.ndarray
    ) -> float:
        """Return the length of a central difference with minimum error (collective)."""
        from mpi4py import MPI

        of_state = np.array([np.abs(state).max(initial=0.0), np.abs(tangent).max(initial=0.0)])
        self.comm.Allreduce(MPI.IN_PLACE, of_state, MPI.MAX)
        sizes = np.array([of_state[0], *np.abs(parameters)])
        changes = np.array([of_state[1], *np.abs(direction)])
        moved = changes > 0.0
        if not moved.any():
            return 1.0
        ratio = np.where(sizes > 0.0, sizes, 1.0)[moved] / changes[moved]
        return float(2.0 ** np.round(np.log2(np.cbrt(np.finfo(float).eps) * ratio.min())))
