"""The phase field on the ranks of a communicator."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from uzushio import _core
from uzushio._base.exact_sums import DoubleDouble
from uzushio._base.observations import Observations
from uzushio._base.parallel.sync import collective, end_job_if_alone
from uzushio.errors import ModelError
from uzushio.solvers.phasefield.blocking import Blocking
from uzushio.solvers.phasefield.checked_observations import check, observe
from uzushio.solvers.phasefield.parameters import Parameters
from uzushio.solvers.phasefield.trajectory import Trajectory, readable, writable

if TYPE_CHECKING:
    from mpi4py import MPI

Field = NDArray[np.float64]
#: Values of the estimated parameters, or their perturbations: [m].
Estimated = Sequence[float] | NDArray[np.float64]


class Counters(TypedDict):
    """Counters of this rank's sweeps."""

    messages: int
    """Messages to other ranks."""
    bytes: int
    """Bytes in these messages."""
    points: int
    """Updates of a point, including redundant ones."""
    redundant: int
    """Updates that another rank computed too."""


class Model:
    """Sweeps of the phase field over this rank's part of the grid.

    All sweeps and `misfit` are collective; if one rank fails in a sweep, as for lack of memory, the
    job ends. Fields are C-contiguous float64 arrays (rows, columns) of the own part. `parameters`
    of sweeps are [m]. Misfits and derivatives with respect to m are double-double numbers (high,
    low), identical on all ranks: rounded with `uzushio._base.exact_sums.rounded`, the sum over
    parts of a run is independent of the partition.

    Args:
        comm: the ranks; the model uses a duplicate of it.
        shape: points of the grid, (ny, nx).
        known: known parameters of the equation.
        blocking: decomposition and blocking.

    Attributes:
        comm: the ranks.
        shape: points of the grid, (ny, nx).
        own: this rank's rows and columns of the grid.
        known: known parameters of the equation.
        blocking: with the number of tiles along each axis.
        every: interval of the states that `checkpoints` stores.

    Raises:
        ModelError: the blocking does not fit the grid or the ranks. On all ranks.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        shape: tuple[int, int],
        known: Parameters,
        blocking: Blocking | None = None,
    ) -> None:
        blocking = blocking or Blocking()
        self.comm = comm
        self.shape = (int(shape[0]), int(shape[1]))
        self.known = known
        x_tile, y_tile = blocking.tiles(comm.size, self.shape)
        self.blocking = replace(blocking, x_tile=x_tile, y_tile=y_tile)
        self.every = blocking.every(comm.size, self.shape, known.boundary == "periodic")
        self._core = self._compiled(
            self.blocking, known.diffusion_number, known.reaction_number, self.every
        )
        self._ranks = comm.Dup()
        weakref.finalize(self, self._ranks.Free).atexit = False
        (y0, y1), (x0, x1) = self._core.own
        self.own = (slice(y0, y1), slice(x0, x1))
        self._observed: weakref.WeakKeyDictionary[Observations, Any] = weakref.WeakKeyDictionary()

    @property
    def own_shape(self) -> tuple[int, int]:
        """Rows and columns of this rank's part."""
        y, x = self.own
        return y.stop - y.start, x.stop - x.start

    @property
    def bytes(self) -> int:
        """Memory of the sweeps on this rank, without trajectories and observations."""
        return int(self._core.bytes)

    def counters(self) -> Counters:
        """Return the counters of this rank's sweeps so far."""
        counters = self._core.counters()
        return Counters(
            messages=counters.messages,
            bytes=counters.bytes,
            points=counters.points,
            redundant=counters.redundant,
        )

    def inverse_smoothing(self, strength: float) -> Callable[[Field], None]:
        """Return the operator 1 - strength ∇², which acts on a field in place (collective).

        ∇² is in units of the grid: the operator is a step of negative diffusion.
        """
        tiles = self.blocking.x_tile, self.blocking.y_tile
        core = self._compiled(Blocking(*tiles, threads=self.blocking.threads), -strength, 0.0, 1)

        def apply_inverse_smoothing(field: Field) -> None:
            with collective(self.comm):
                self.check_fields(field=field)
            core.forward(field, 1.0, 0, 1, None, None)

        return apply_inverse_smoothing

    def trajectory(self, steps: int) -> Trajectory:
        """Allocate memory for a field at `steps` consecutive steps. Not collective."""
        return self._allocated(self._core.trajectory, steps)

    def checkpoints(self, steps: int) -> Trajectory:
        """Allocate memory for states of consecutive steps, for adjoint sweeps. Not collective.

        The first state of each block of backward sweeps is stored and the others are recomputed,
        unless `Blocking.replay` is false or the scheme is diamond. Blocks are shorter if tiles are
        too small for a halo of twice a block's steps.
        """
        return self._allocated(self._core.checkpoints, steps)

    def forward(
        self,
        state: Field,
        parameters: Estimated,
        first: int,
        last: int,
        trajectory: Trajectory | None = None,
        observations: Observations | None = None,
    ) -> DoubleDouble:
        """Advance φ from step `first` to `last` in place, equation (2).

        Args:
            state: φ of step `first`; then φ of step `last`.
            parameters: [m].
            first: initial step.
            last: final step.
            trajectory: stores φ of steps `first` to `last` - 1.
            observations: those in (first, last] contribute to the misfit.

        Returns:
            The misfit (4) of the observed steps in (first, last]; not finite if φ is not.
        """
        observed = self._bind(observations)
        with collective(self.comm):
            m = self._checked(parameters, first, last, state=state)
            stored = writable(trajectory, self, first, last, replay=True)
        with self._sweeping():
            misfit: DoubleDouble = self._core.forward(state, m, first, last, stored, observed)
        return misfit

    def misfit(self, state: Field, step: int, observations: Observations) -> DoubleDouble:
        """Return the misfit (4) of one step; 0 if it was not observed."""
        observed = self._bind(observations)
        with collective(self.comm):
            self._check_steps(step, step)
            self.check_fields(state=state)
        with self._sweeping():
            misfit: DoubleDouble = self._core.misfit(state, step, observed)
        return misfit

    def forcing(self, state: Field, step: int, observations: Observations, out: Field) -> None:
        """Add w (φ − y) of a step to `out`, limited by Huber's norm. Not collective."""
        self.check_fields(state=state, out=out)
        if (index := observations.index_of(step)) is not None:
            observations.add_weighted(index, observations.residual(index, state), out)

    def can_read(self, trajectory: Trajectory, first: int, last: int) -> bool:
        """Whether sweeps over the steps `first` to `last` can read a trajectory."""
        return bool(self._core.can_read(trajectory.core, first, last))

    def apply_inverse_covariance(
        self, tangent: Field, step: int, observations: Observations, out: Field
    ) -> None:
        """Add w dφ of a step to `out`; nothing if it was not observed. Not collective."""
        self.check_fields(tangent=tangent, out=out)
        if (index := observations.index_of(step)) is not None:
            observations.add_weighted(index, tangent, out)

    def adjoint(
        self,
        adjoint: Field,
        parameters: Estimated,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations | None = None,
        keep: Trajectory | None = None,
    ) -> list[DoubleDouble]:
        """Step λ back from step `last` to `first` in place, equations (5) and (6).

        Args:
            adjoint: λ of step `last`, with its forcing; then λ of step `first`, with its forcing.
            parameters: as in the forward sweep.
            first: final step.
            last: initial step.
            trajectory: φ of the steps `first` to `last` - 1.
            observations: their forcing.
            keep: stores λ of steps `first` + 1 to `last`, for `second_order`; needs a trajectory of
                all states.

        Returns:
            These steps' part of ∂J/∂m, in a list.
        """
        return [self._adjoint(adjoint, parameters, first, last, trajectory, observations, keep)[1]]

    def misfit_and_adjoint(
        self,
        adjoint: Field,
        parameters: Estimated,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations,
    ) -> tuple[DoubleDouble, list[DoubleDouble]]:
        """Step λ back as `adjoint` does; return the misfit too, and read observations once.

        Returns:
            The misfit (4) of the observed steps in [first, last), which is that of `forward` to the
            bit, and the result of `adjoint`.
        """
        misfit, slope = self._adjoint(
            adjoint, parameters, first, last, trajectory, observations, with_misfit=True
        )
        return misfit, [slope]

    def _adjoint(
        self,
        adjoint: Field,
        parameters: Estimated,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations | None = None,
        keep: Trajectory | None = None,
        with_misfit: bool = False,
    ) -> tuple[DoubleDouble, DoubleDouble]:
        observed = self._bind(observations)
        with collective(self.comm):
            m = self._checked(parameters, first, last, adjoint=adjoint)
            states = readable(trajectory, self, first, last, replay=keep is None)
            kept = writable(keep, self, first, last)
        with self._sweeping():
            result = self._core.adjoint(
                adjoint, m, first, last, states, observed, kept, with_misfit
            )
        return result.misfit, result.gradient

    def tangent(
        self,
        tangent: Field,
        direction: Estimated,
        parameters: Estimated,
        first: int,
        last: int,
        trajectory: Trajectory,
        keep: Trajectory | None = None,
    ) -> None:
        """Advance a perturbation (dφ, dm) from step `first` to `last` in place, equation (7).

        Args:
            tangent: dφ of step `first`; then dφ of step `last`.
            direction: [dm].
            parameters: as in the forward sweep.
            first: initial step.
            last: final step.
            trajectory: φ of the steps `first` to `last` - 1.
            keep: stores dφ of steps `first` to `last` - 1.
        """
        with collective(self.comm):
            m = self._checked(parameters, first, last, tangent=tangent)
            dm = _only(direction)
            states = readable(trajectory, self, first, last)
            kept = writable(keep, self, first, last)
        with self._sweeping():
            self._core.tangent(tangent, dm, m, first, last, states, kept)

    def second_order(
        self,
        adjoint: Field,
        direction: Estimated,
        parameters: Estimated,
        first: int,
        last: int,
        trajectory: Trajectory,
        tangents: Trajectory,
        adjoints: Trajectory | None = None,
        observations: Observations | None = None,
    ) -> list[DoubleDouble]:
        """Step dλ back from step `last` to `first` in place, equations (8) and (9).

        Args:
            adjoint: dλ of step `last`, with w dφ of that step (`apply_inverse_covariance`); then
                dλ of step `first`, with that of step `first`.
            direction: [dm].
            parameters: as in the forward sweep.
            first: final step.
            last: initial step.
            trajectory: φ of the steps `first` to `last` - 1.
            tangents: dφ of the same steps, stored by `tangent`.
            adjoints: λ, stored by `adjoint`; None for the Gauss-Newton part.
            observations: their weights.

        Returns:
            These steps' part of the product's component for m, in a list.
        """
        observed = self._bind(observations)
        with collective(self.comm):
            m = self._checked(parameters, first, last, adjoint=adjoint)
            dm = _only(direction)
            states = readable(trajectory, self, first, last)
            moved = readable(tangents, self, first, last)
            lam = None if adjoints is None else readable(adjoints, self, first, last)
        with self._sweeping():
            slope: DoubleDouble = self._core.second_order(
                adjoint, dm, m, first, last, states, moved, lam, observed
            )
        return [slope]

    def check_fields(self, **fields: Field) -> None:
        """Raise `ModelError` unless fields have this rank's shape, type and layout."""
        for name, field in fields.items():
            if np.ma.is_masked(field):
                raise ModelError(f"phase field: {name} has masked values; fill them first.")
            if field.shape != self.own_shape or field.dtype != np.float64:
                raise ModelError(
                    f"phase field: {name} has shape {field.shape} and type {field.dtype}; this "
                    f"rank's part is {self.own_shape} of float64."
                )
            if not field.flags.c_contiguous:
                raise ModelError(f"phase field: {name} must be C-contiguous.")

    def _compiled(self, blocking: Blocking, diffusion: float, reaction: float, every: int) -> Any:
        ny, nx = self.shape
        periodic = self.known.boundary == "periodic"
        options = blocking.core((blocking.x_tile, blocking.y_tile), every)
        try:
            return _core.phasefield.Model(
                self.comm.handle, nx, ny, diffusion, reaction, periodic, options
            )
        except ValueError as error:
            raise ModelError(f"blocking: {error}.") from error

    def _allocated(self, allocate: Callable[[int], Any], steps: int) -> Trajectory:
        if steps < 0:
            raise ModelError(f"phase field: a trajectory of {steps} steps; give 0 or more.")
        return Trajectory(allocate(int(steps)), self)

    def _sweeping(self) -> AbstractContextManager[None]:
        return end_job_if_alone(self._ranks, "a sweep of the phase field")

    def _checked(self, parameters: Estimated, first: int, last: int, **fields: Field) -> float:
        """Check the arguments of a sweep; return m."""
        self._check_steps(first, last)
        self.check_fields(**fields)
        return _only(parameters)

    def _check_steps(self, first: int, last: int) -> None:
        if not 0 <= first <= last:
            raise ModelError(f"phase field: steps {first} to {last}; give 0 <= first <= last.")

    def _bind(self, observations: Observations | None) -> Any:
        """Return the compiled view of observations; the first call exchanges halos."""
        if observations is None:
            return None
        known = self._observed.get(observations)
        if known is None:
            with collective(self.comm):
                check(observations, self.own_shape)
            with self._sweeping():
                known = observe(self._core, observations)
            self._observed[observations] = known
        return known


def _only(parameters: Estimated) -> float:
    """Return m of [m]."""
    if len(parameters) != 1:
        raise ModelError(f"phase field: {len(parameters)} parameters; give one, [m].")
    return float(parameters[0])
