"""The phase field as a model of assimilations: its one parameter is m."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from uzushio._base.parallel.sync import collective
from uzushio.assimilation import model as contract
from uzushio.assimilation.case import AssimilationCase
from uzushio.assimilation.model import Guess, Metric, Quantity
from uzushio.assimilation.phasefield.case import PhaseFieldCase, State
from uzushio.assimilation.stored_array import (
    StoredArray,
    axes_of,
    open_stored,
    require_positions,
)
from uzushio.errors import CaseError, ModelError
from uzushio.solvers.phasefield.blocking import Blocking
from uzushio.solvers.phasefield.model import Model as Sweeps

if TYPE_CHECKING:
    from mpi4py import MPI


# The sweeps take trajectories of `Sweeps` alone, where the contract's type is a protocol.
class PhaseFieldModel(Sweeps, contract.Model):  # type: ignore[misc]
    """Phase field of a case; the sweeps are those of `uzushio.solvers.phasefield.Model`."""

    case_model: ClassVar[type[AssimilationCase]] = PhaseFieldCase
    state: ClassVar[Quantity] = Quantity("phi", "phase", plausible=(-1.0, 2.0))
    parameters: ClassVar[Sequence[Quantity]] = (Quantity("m", "drive of the interface"),)

    @classmethod
    def groups(cls, case: AssimilationCase, ranks: int) -> int:
        """Return the case's `oblt`."""
        return cast(PhaseFieldCase, case).blocking.oblt

    @classmethod
    def shape_of(cls, case: AssimilationCase) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        grid = cast(PhaseFieldCase, case).grid
        return grid.ny, grid.nx

    @classmethod
    def kept_every(cls, case: AssimilationCase, ranks: int) -> int:
        """Return the interval of stored states for a number of ranks."""
        case = cast(PhaseFieldCase, case)
        shape = (case.grid.ny, case.grid.nx)
        return _blocking(case).every(ranks, shape, case.grid.boundary == "periodic")

    @classmethod
    def notes(cls, case: AssimilationCase, ranks: int) -> list[str]:
        """Describe grid, tiles and exchanges; raise `UzushioError` if they do not fit."""
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
        """Return the time of an iteration, measured on a small grid."""
        from uzushio.assimilation.phasefield import timing

        return timing.seconds_per_iteration(cast(PhaseFieldCase, case), ranks)

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        self._case = cast(PhaseFieldCase, case)
        grid = self._case.grid
        try:
            super().__init__(comm, (grid.ny, grid.nx), self._case.known, _blocking(self._case))
        except ModelError as error:
            raise CaseError(str(error), ("blocking",)) from error
        # With scheme diamond a part of a trajectory is valid only for the steps of its sweep.
        self.appends = self._case.blocking.scheme != "diamond"
        self.threads = self._case.blocking.threads
        self.candidates = self._case.blocking.oblt

    def truth(self) -> Guess | None:
        """Return the case's truth."""
        return None if self._case.truth is None else self._guess(self._case.truth, "truth")

    def first_guess(self) -> Guess:
        """Return the case's first guess."""
        return self._guess(self._case.first_guess, "first_guess")

    def _guess(self, section: State, name: str) -> Guess:
        state: np.ndarray | None = None
        with collective(self.comm):
            if section.store is None:
                state = section.rectangle(self.shape, self.own)
            else:
                state = _stored(section, f"{name}.store", self)
        assert state is not None
        return Guess(state, np.array([section.m]))

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of rows and columns; the first is half a spacing from the edge."""
        spacing = self._case.grid.spacing
        y, x = ((np.arange(count) + 0.5) * spacing for count in self.shape)
        return y, x

    def step_length(self) -> float:
        """Return the case's dt."""
        return self._case.time.dt

    def metric(self, steps: int, most: float) -> Metric | None:
        """Return inverse smoothing: 1 - a steps / 2 ∇² in units of the grid.

        A step multiplies a wave by 1 - a λ, where λ is its eigenvalue of -∇². The sum of its
        squared amplitudes over all steps is about 1 / (2 a λ), and the number of steps for the
        mean, which suggests a factor of 2 instead of 1 / 2. But the reaction damps the mean too,
        and too long steps along rough structures lead to other minima of J without a background.
        Searches were fastest with a quarter of that factor.
        """
        strength = min(0.5 * self._case.known.diffusion_number * steps, (most - 1.0) / 8.0)
        if not strength > 0.0:
            return None
        # Rounded to a power of two: `most` depends on the summation order over ranks.
        return self.inverse_smoothing(2.0 ** round(math.log2(strength)))


def _blocking(case: PhaseFieldCase) -> Blocking:
    return Blocking(**case.blocking.model_dump(exclude={"oblt"}))


def _stored(section: State, key: str, model: PhaseFieldModel) -> np.ndarray:
    """Return this rank's part of `phi` in a store."""
    path = section.store
    assert path is not None
    group = open_stored(path, key, "with an array phi, as an estimate.zarr")
    require_positions(group, path, f"{key}: {path}", model)
    array = StoredArray(group, "phi", path, f"{key}: {path}")
    if array.shape != model.shape:
        raise CaseError(f"{key}: phi in {path} has shape {array.shape}, must have {model.shape}.")
    array.require_unit(PhaseFieldModel.state.unit)
    array.require_order(axes_of(model))
    if model.comm.rank == 0:
        array.require_chunks()
    values = np.ascontiguousarray(array.numbers(model.own))
    if not np.isfinite(values).all():
        raise CaseError(f"{key}: phi in {path} has values that are missing or not finite.")
    return values
