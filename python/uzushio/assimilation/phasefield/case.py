"""The case file of an assimilation with the phase field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.paths import NamedFile
from uzushio._base.config.quantities import Magnitude
from uzushio._base.config.section import Section
from uzushio.assimilation.case import AssimilationCase
from uzushio.errors import SettingsError
from uzushio.solvers.phasefield.parameters import Parameters

Points = Annotated[int, Field(ge=3, le=2**20)]
Groups = Annotated[int, Field(ge=1, le=2**20)]
#: Steps of a block, and width of its halo.
BlockSteps = Annotated[int, Field(ge=1, le=1024)]
#: Maximum that the OpenMP runtime starts safely.
Threads = Annotated[int, Field(ge=1, le=1024)]
#: Points or steps of a tile in the cache.
TileExtent = Annotated[int, Field(ge=0, le=2**20)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
#: Far beyond the useful range of the equation and of its time step.
M = Annotated[float, Field(ge=-100.0, le=100.0)]


class Grid(Section):
    """Uniform grid of points."""

    nx: Points = Field(description="points in x")
    ny: Points = Field(description="points in y")
    spacing: Magnitude = Field(1.0, description="distance of neighbouring points")
    boundary: Literal["zero_flux", "periodic"] = Field(
        "zero_flux", description="at all edges: no flux, or periodic along both axes"
    )


class Phase(Section):
    """Known parameters of the equation."""

    tau: Magnitude = Field(1.0, description="unit of time")
    epsilon: Magnitude = Field(1.0, description="unit of length; an interface is 2√2 of it wide")


class State(Section):
    """A rectangle of one phase in the other, or a field from a store, and m."""

    m: M = Field(description="drive of the interface, which is at rest for 1/2")
    side: tuple[Share, Share] | Share = Field(
        0.5, description="side of the rectangle relative to the domain; two values for x and y"
    )
    centre: tuple[Share, Share] = Field(
        (0.5, 0.5), description="centre of the rectangle relative to the domain, along x and y"
    )
    inside: float = Field(1.0, ge=-1.0, le=2.0, description="phase in the rectangle")
    outside: float = Field(0.0, ge=-1.0, le=2.0, description="phase outside of the rectangle")
    store: NamedFile | None = Field(
        None, description="Zarr store with an array `phi` (y, x), used instead of a rectangle"
    )

    def rectangle(self, shape: tuple[int, int], own: tuple[slice, slice]) -> np.ndarray:
        """Return the part `own` of the rectangle on a grid of `shape` (rows, columns)."""
        x, y = self.side if isinstance(self.side, tuple) else (self.side, self.side)
        within = [
            np.abs((np.arange(part.start, part.stop) + 0.5) / points - middle) <= 0.5 * side
            for part, points, middle, side in zip(
                own, shape, reversed(self.centre), (y, x), strict=True
            )
        ]
        return np.where(np.outer(*within), self.inside, self.outside)


class BlockingSection(Section):
    """Blocking of sweeps; `uzushio tune` finds fast values.

    Results do not depend on it, except on `oblt` where `optimiser.candidates` is not set.
    """

    x_tile: int = Field(0, ge=0, le=2**20, description="ranks along x; 0: automatic")
    y_tile: int = Field(0, ge=0, le=2**20, description="ranks along y; 0: automatic")
    fblt: BlockSteps = Field(8, description="steps between two exchanges of forward sweeps")
    bblt: BlockSteps = Field(8, description="steps between two exchanges of backward sweeps")
    oblt: Groups = Field(1, description="groups of ranks that evaluate candidates concurrently")
    scheme: Literal["plain", "pa1", "pa2", "diamond"] = Field(
        "pa1", description="plain: fblt and bblt must be 1"
    )
    threads: Threads = Field(1, description="threads of a rank")
    cache_rows: TileExtent = Field(0, description="rows of a tile in the cache; 0: automatic")
    cache_columns: TileExtent = Field(0, description="columns of such a tile; 0: automatic")
    cache_steps: TileExtent = Field(
        0, description="steps computed on such a tile at once; 0: automatic"
    )
    overlap: bool = Field(True, description="overlap exchanges with independent computation")
    replay: bool = Field(
        True,
        description="store only the first state of each block of bblt steps and recompute the "
        "others in the cache; not with diamond",
    )


class PhaseFieldCase(AssimilationCase):
    """Estimation of the initial state and of m of a phase field from observations (4D-Var)."""

    example: ClassVar[Mapping[str, Any]] = {
        "title": "Phase field, twin experiment",
        "grid": {"nx": 1600, "ny": 1600, "spacing": 1.0, "boundary": "zero_flux"},
        "phase": {"tau": 1.0, "epsilon": 1.0},
        "time": {"steps": 128, "dt": 0.1},
        "truth": {"m": 1.0, "side": 0.5},
        "first_guess": {"m": -1.0, "side": 0.45},
        "observations": {"first": 1, "last": 127, "sigma": 0.1, "seed": 0},
        "controls": {
            "phi": {"sigma": 1.0, "bounds": [-0.5, 1.5]},
            "m": {"sigma": 2.0, "bounds": [-2.0, 2.0]},
        },
        "optimiser": {"iterations": 300},
        "output": {"folder": "runs/phasefield"},
    }

    grid: Grid
    phase: Phase = Phase()
    truth: State | None = Field(None, description="of a twin experiment")
    first_guess: State
    blocking: BlockingSection = BlockingSection()

    @property
    def threads_per_rank(self) -> int:
        """OpenMP threads of a rank."""
        return self.blocking.threads

    @property
    def known(self) -> Parameters:
        """Known parameters of the equation."""
        return Parameters(
            dt=self.time.dt,
            spacing=self.grid.spacing,
            tau=self.phase.tau,
            epsilon=self.phase.epsilon,
            boundary=self.grid.boundary,
        )

    @model_validator(mode="after")
    def _stable(self) -> Self:
        """Check that the time step is stable for all values of m."""
        bounds = self.controls["m"].bounds if "m" in self.controls else (None, None)
        possible = [self.first_guess.m, *([self.truth.m] if self.truth else []), *bounds]
        values = [value for value in possible if value is not None]
        limit = self.known.max_stable_dt(*values)
        if self.time.dt > limit:
            raise SettingsError(
                f"got {self.time.dt:g}, must be at most {limit:.4g}: a longer step is unstable "
                f"with this grid and m from {min(values):g} to {max(values):g}",
                ("time", "dt"),
            )
        low, high = bounds
        guess = self.first_guess.m
        if (low is not None and guess < low) or (high is not None and guess > high):
            raise SettingsError(
                f"got {guess:g}, must lie within controls.m.bounds ({low} to {high})",
                ("first_guess", "m"),
            )
        return self

    @model_validator(mode="after")
    def _observed(self) -> Self:
        if self.observations.store is None and self.truth is None:
            raise ValueError("needs observations.store, or a truth for a twin experiment")
        return self
