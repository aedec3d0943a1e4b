"""The phase field as a model of assimilations: its one parameter is m."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.model import Guess, Metric, Model, Quantity, Trajectory
from uzushio.assimilation.observations import Observations
from uzushio.assimilation.real_numbers import read_real
from uzushio.assimilation.sums import Doubled
from uzushio.errors import CaseError, ModelError
from uzushio.parallel.collective import collective
from uzushio.phasefield.case import PhaseFieldCase, State

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.phasefield import model as core


class PhaseFieldModel(Model):
    """Sweeps of `uzushio.phasefield.Model` behind the contract of assimilations."""

    case_model: ClassVar[type[AssimilationCase]] = PhaseFieldCase
    state: ClassVar[Quantity] = Quantity("phi", "phase")
    parameters: ClassVar[Sequence[Quantity]] = (Quantity("m", "drive of the interface"),)

    @classmethod
    def groups(cls, case: AssimilationCase) -> int:
        """The case's `oblt`."""
        return cast(PhaseFieldCase, case).blocking.oblt

    @classmethod
    def points(cls, case: AssimilationCase) -> int:
        """Of the grid."""
        grid = cast(PhaseFieldCase, case).grid
        return grid.nx * grid.ny

    @classmethod
    def kept_every(cls, case: AssimilationCase, ranks: int) -> int:
        """Steps of a backward block, where tiles are thick enough."""
        case = cast(PhaseFieldCase, case)
        shape = (case.grid.ny, case.grid.nx)
        return _blocking(case).every(ranks, shape, case.grid.boundary == "periodic")

    @classmethod
    def notes(cls, case: AssimilationCase, ranks: int) -> list[str]:
        """Grid, tiles and halos in sentences; raises `UzushioError` if they do not fit."""
        case = cast(PhaseFieldCase, case)
        grid, blocking = case.grid, case.blocking
        x, y = _blocking(case).tiles(ranks, (grid.ny, grid.nx))
        return [
            f"{grid.nx} x {grid.ny} points in {x} x {y} tiles of about "
            f"{grid.nx // x} x {grid.ny // y}, {case.time.steps} steps of {case.time.dt:g}",
            f"scheme {blocking.scheme}: an exchange every {blocking.fblt} steps forward, every "
            f"{blocking.bblt} backward",
        ]

    @classmethod
    def seconds_per_iteration(cls, case: AssimilationCase, ranks: int) -> float:
        """Measured on a small grid."""
        from uzushio.phasefield import timing

        return timing.seconds_per_iteration(cast(PhaseFieldCase, case), ranks)

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        from uzushio.phasefield.model import Model as Sweeps

        self._case = cast(PhaseFieldCase, case)
        grid = self._case.grid
        self.comm = comm
        try:
            self._sweeps = Sweeps(comm, (grid.ny, grid.nx), self._case.known, _blocking(self._case))
        except ModelError as error:
            said = str(error).removeprefix("phase field: ").removeprefix("blocking: ")
            raise CaseError(f"blocking: {said}") from error
        self.shape, self.own = self._sweeps.shape, self._sweeps.own
        # Pieces of a trajectory of diamonds belong to the steps that they were made with.
        self.every = self._sweeps.every
        self.appends = self._case.blocking.scheme != "diamond"
        self.threads = self._case.blocking.threads

    def truth(self) -> Guess | None:
        """The case's truth."""
        return None if self._case.truth is None else self._guess(self._case.truth, "truth")

    def first_guess(self) -> Guess:
        """The case's first guess."""
        return self._guess(self._case.first_guess, "first_guess")

    def _guess(self, section: State, name: str) -> Guess:
        state: np.ndarray | None = None
        with collective(self.comm):
            if section.store is None:
                state = section.rectangle(self.shape, self.own)
            else:
                state = _stored(section, f"{name}.store", self.shape, self.own)
        assert state is not None
        return Guess(state, np.array([section.m]))

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of rows and columns, each half a spacing from the edges."""
        spacing = self._case.grid.spacing
        y, x = ((np.arange(count) + 0.5) * spacing for count in self.shape)
        return y, x

    def step_length(self) -> float:
        """The case's dt."""
        return self._case.time.dt

    def trajectory(self, steps: int) -> Trajectory:
        """Memory of the compiled room."""
        return cast(Trajectory, self._sweeps.new_trajectory(steps))

    def checkpoints(self, steps: int) -> Trajectory:
        """Memory of the compiled room, for the first states of backward blocks."""
        return cast(Trajectory, self._sweeps.new_checkpoints(steps))

    def forward(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory | None = None,
        observations: Observations | None = None,
    ) -> Doubled:
        """Equation (2) of docs/theory/phasefield.md, and (4)."""
        self._sweeps.forward(state, parameters[0], first, last, _core(trajectory), observations)
        return self._sweeps.last_sum

    def misfit(self, state: np.ndarray, step: int, observations: Observations) -> Doubled:
        """Equation (4) at one step."""
        self._sweeps.misfit(state, step, observations)
        return self._sweeps.last_sum

    def forcing(
        self, state: np.ndarray, step: int, observations: Observations, out: np.ndarray
    ) -> None:
        """The last term of equation (5)."""
        self._sweeps.forcing(state, step, observations, out)

    def adjoint(
        self,
        adjoint: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations | None = None,
        keep: Trajectory | None = None,
    ) -> Sequence[Doubled]:
        """Equations (5) and (6)."""
        held = cast("core.Trajectory", trajectory)
        self._sweeps.adjoint(adjoint, parameters[0], first, last, held, observations, _core(keep))
        return [self._sweeps.last_sum]

    def misfit_and_adjoint(
        self,
        adjoint: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations,
    ) -> tuple[Doubled, Sequence[Doubled]]:
        """Equations (4), (5) and (6)."""
        held, sweeps = cast("core.Trajectory", trajectory), self._sweeps
        sweeps.adjoint(adjoint, parameters[0], first, last, held, observations, misfit=True)
        return sweeps.last_misfit, [sweeps.last_sum]

    def tangent(
        self,
        tangent: np.ndarray,
        direction: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        keep: Trajectory | None = None,
    ) -> None:
        """Equation (7)."""
        held = cast("core.Trajectory", trajectory)
        self._sweeps.tangent(tangent, direction[0], parameters[0], first, last, held, _core(keep))

    def weigh(
        self, tangent: np.ndarray, step: int, observations: Observations, out: np.ndarray
    ) -> None:
        """The last term of equation (8)."""
        self._sweeps.weigh(tangent, step, observations, out)

    def second_order(
        self,
        adjoint: np.ndarray,
        direction: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        tangents: Trajectory,
        adjoints: Trajectory | None,
        observations: Observations | None = None,
    ) -> Sequence[Doubled]:
        """Equations (8) and (9)."""
        self._sweeps.second_order(
            adjoint,
            direction[0],
            parameters[0],
            first,
            last,
            cast("core.Trajectory", trajectory),
            cast("core.Trajectory", tangents),
            _core(adjoints),
            observations,
        )
        return [self._sweeps.last_sum]

    def metric(self, steps: int, most: float) -> Metric | None:
        """Diffusion: 1 - a steps / 2 ∇² in units of the grid.

        A step multiplies a wave by 1 - a λ, where -∇² multiplies it by λ, so that the squares of
        its amplitudes in all steps add up to about 1 / (2 a λ), those of the mean to their number,
        which would be 2 in the place of 1 / 2. But the reaction damps the mean, too, and too long
        steps of the rough structures lead to other minima of J where there is no background:
        searches were fastest with a quarter of it.
        """
        strength = min(0.5 * self._case.known.diffusion_number * steps, (most - 1.0) / 8.0)
        if not strength > 0.0:
            return None
        # A power of two: in what order ranks were added up in `most` must not show.
        return self._sweeps.roughen(2.0 ** round(math.log2(strength)))

    def counters(self) -> Mapping[str, Any]:
        """Messages, bytes and points of this rank."""
        return self._sweeps.counters()._asdict()


def _blocking(case: PhaseFieldCase) -> core.Blocking:
    from uzushio.phasefield.model import Blocking

    return Blocking(**case.blocking.model_dump(exclude={"oblt"}))


def _core(trajectory: Trajectory | None) -> core.Trajectory | None:
    return cast("core.Trajectory | None", trajectory)


def _stored(
    section: State, key: str, shape: tuple[int, int], own: tuple[slice, slice]
) -> np.ndarray:
    """This rank's part of `phi` in a store."""
    import zarr

    assert section.store is not None
    try:
        array: Any = zarr.open_group(section.store, mode="r")["phi"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CaseError(
            f"{key}: {section.store} holds no array phi that can be read ({error}); name a Zarr "
            "store with one, as an estimate.zarr."
        ) from error
    if tuple(array.shape) != shape:
        raise CaseError(
            f"{key}: phi in {section.store} has shape {tuple(array.shape)}, must have {shape}."
        )
    values = np.ascontiguousarray(read_real(array, own, f"{key}: {section.store}: phi"))
    if not np.isfinite(values).all():
        raise CaseError(f"{key}: phi in {section.store} holds values that are not finite.")
    return values
