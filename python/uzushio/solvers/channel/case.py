"""Sections of the case file of a channel flow."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.quantities import Magnitude, Rate, Seconds, Size
from uzushio._base.config.section import Positive, Section, unit
from uzushio.case.model import Case, Length, Statistics
from uzushio.errors import SettingsError

#: Maximum CFL number at which three-substep Runge–Kutta is stable for the shortest wave.
STABLE_CFL = float(np.sqrt(3.0) / np.pi)

EvenCount = Annotated[int, Field(ge=4, le=2**20, multiple_of=2)]


class Grid(Section):
    """A box lx × ly × 2, periodic in x and y, with walls at z = 0 and z = 2 (half width h = 1)."""

    nx: EvenCount = Field(description="points in x, streamwise")
    ny: EvenCount = Field(description="points in y, spanwise")
    nz: Annotated[int, Field(ge=2, le=2**20)] = Field(description="cells in z, wall-normal")
    lx: Length = Field(description="streamwise length", json_schema_extra=unit("h"))
    ly: Length = Field(description="spanwise length", json_schema_extra=unit("h"))
    stretching: Annotated[float, Field(ge=0.0, le=5.0)] = Field(
        1.6, description="stretching of the tanh grid in z; 0: uniform, larger: finer at the walls"
    )
    faces: list[float] | None = Field(
        None,
        description="nz + 1 positions of the cell faces in z instead of the tanh grid",
        json_schema_extra=unit("h"),
    )

    @model_validator(mode="after")
    def _faces_fit(self) -> Self:
        if self.faces is None:
            return self
        if len(self.faces) != self.nz + 1:
            raise ValueError(
                f"faces has {len(self.faces)} positions, must have nz + 1 = {self.nz + 1}"
            )
        if self.faces[0] != 0.0 or self.faces[-1] != 2.0:
            raise ValueError("faces must begin with 0 and end with 2")
        for k, height in enumerate(np.diff(self.faces)):
            if not height > 0.0:
                raise ValueError(
                    f"faces must increase: cell {k} between {self.faces[k]} and "
                    f"{self.faces[k + 1]} has the height {height:g}"
                )
        return self

    def wall_faces(self) -> np.ndarray:
        """Positions of the cell faces in z, shape (nz + 1,), from 0 to 2."""
        if self.faces is not None:
            return np.asarray(self.faces)
        s = np.linspace(-1.0, 1.0, self.nz + 1)
        faces = 1.0 + (
            np.tanh(self.stretching * s) / np.tanh(self.stretching) if self.stretching else s
        )
        faces[0], faces[-1] = 0.0, 2.0
        return faces


class Flow(Section):
    """Forcing of the flow: exactly one Reynolds number, which also sets the unit of velocity."""

    reynolds_tau: Magnitude | None = Field(
        None, description="u_tau h / nu; constant pressure gradient, unit u_tau"
    )
    reynolds_bulk: Magnitude | None = Field(
        None, description="U_b h / nu; constant flow rate, unit U_b"
    )
    reynolds_centre: Magnitude | None = Field(
        None, description="U_c h / nu of the laminar flow; constant pressure gradient, unit U_c"
    )

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        given = [n for n in (self.reynolds_tau, self.reynolds_bulk, self.reynolds_centre) if n]
        if len(given) != 1:
            raise ValueError(
                "needs exactly one of 'reynolds_tau', 'reynolds_bulk' and 'reynolds_centre'"
            )
        return self

    @property
    def viscosity(self) -> float:
        """Kinematic viscosity in units of h and the velocity."""
        return 1.0 / (self.reynolds_tau or self.reynolds_bulk or self.reynolds_centre or np.nan)

    @property
    def drive(self) -> float:
        """Minus the mean pressure gradient, or the bulk velocity of `reynolds_bulk`."""
        return 2.0 * self.viscosity if self.reynolds_centre else 1.0

    @property
    def velocity_unit(self) -> str:
        """Unit of velocities: the velocity in the Reynolds number."""
        return "u_τ" if self.reynolds_tau else "U_b" if self.reynolds_bulk else "U_c"

    @property
    def expected_u_tau(self) -> float:
        """Friction velocity of the turbulent flow, by Dean's law where it is not given."""
        if self.reynolds_bulk:
            return float(0.09 * (2.0 * self.reynolds_bulk) ** 0.88 / self.reynolds_bulk)
        return float(np.sqrt(self.drive))


class InitialField(StrEnum):
    """Kinds of initial field."""

    laminar = "laminar"
    perturbed = "perturbed"
    turbulent = "turbulent"


class Initial(Section):
    """Initial field of a run that does not start from a checkpoint."""

    field: InitialField = Field(
        InitialField.turbulent,
        description="laminar; perturbed: laminar with random waves; turbulent: a mean profile with "
        "large waves that become turbulence within about two h/u_tau",
    )
    amplitude: Positive = Field(1.0, description="factor on the size of the waves")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="seed of the random phases")


class Numerics(Section):
    """Choices that change the cost or the error, not the equations."""

    dealiasing: Literal["3/2", "2/3", "none"] = Field(
        "3/2", description="dealiasing rule for products"
    )
    scheme: Literal["auto", "pipelined", "transpose", "partitioned"] = Field(
        "auto",
        description="parallel scheme of the tridiagonal solves along z; auto: the one that is "
        "predicted to be fastest; partitioned: the solution depends on the number of ranks by "
        "rounding",
    )
    transposes: Literal["auto", "messages", "overlapped"] = Field(
        "auto",
        description="exchange of values among ranks that share a plane; auto: in shared memory if "
        "they are on one node, else messages; messages: a batch of planes after another; "
        "overlapped: messages of two batches are in flight while a third one is transformed; "
        "solutions differ by rounding at most",
    )
    transpose_precision: Literal["auto", "double", "single"] = Field(
        "double",
        description="precision of values between their transforms along y and along x, where ranks "
        "that share a plane exchange them; single: half the bytes of messages, values are rounded "
        "to 6e-8 of their size on any number of ranks; computing is in double precision; auto: "
        "double, or single if `uzushio tune` found it to be faster",
    )


class Network(Section):
    """Network of a machine, for predicted times. The defaults are those of a common cluster."""

    latency: Seconds = Field(2e-6, description="time of a short message between nodes")
    rate: Rate = Field(10e9, description="bytes per second that a node sends")
    ranks_per_node: Annotated[int, Field(ge=1)] | None = Field(
        None, description="null: as the launcher says, or the cores of this machine"
    )
    nodes_at_full_rate: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="nodes among which an all-to-all reaches the rate; among more it decreases "
        "with the cube root of their number, as across a torus; null: any number",
    )


class Decomposition(Section):
    """Process grid along y and z. If neither is given, the predicted time is the least."""

    py: Annotated[int, Field(ge=1)] | None = Field(
        None, description="number of ranks that share a plane; null: automatic"
    )
    pz: Annotated[int, Field(ge=1)] | None = Field(
        None, description="number of ranks between the walls; null: automatic"
    )
    memory_per_rank: Size | None = Field(
        None, description="limit of the solver's arrays in the automatic choice; null: none"
    )
    network: Network = Network()

    @model_validator(mode="after")
    def _require_both(self) -> Self:
        if (self.py is None) != (self.pz is None):
            raise ValueError("needs both of 'py' and 'pz', or none of them")
        return self


class ChannelStatistics(Statistics):
    """Times of samples for averages, and heights of spectra."""

    spectra_at: list[Annotated[float, Field(gt=0.0, lt=2.0)]] = Field(
        [0.03, 0.1, 0.5, 1.0],
        min_length=1,
        description="heights z of the spectra",
        json_schema_extra=unit("h"),
    )


class ChannelCase(Case):
    """Direct numerical simulation of the flow between two walls.

    Lengths are in half widths h, velocities in the unit that the Reynolds number names, times in h
    over this velocity.
    """

    example: ClassVar[Mapping[str, Any]] = {
        "title": "Turbulent channel flow, Re_τ = 180",
        "grid": {"nx": 64, "ny": 64, "nz": 72, "lx": "2 pi", "ly": "pi", "stretching": 1.6},
        "flow": {"reynolds_tau": 180},
        "initial": {"field": "turbulent"},
        "time": {"steps": 6000, "cfl": 0.5},
        "statistics": {"start": 4.0, "every": 10, "spectra_at": [0.03, 0.1, 0.5, 1.0]},
        "checkpoint": {"every": 1000, "keep": 2},
        "output": {"folder": "runs/channel"},
        "publish": {"engine": "shm", "every": 10},
    }

    grid: Grid
    flow: Flow
    initial: Initial = Initial()
    numerics: Numerics = Numerics()
    decomposition: Decomposition = Decomposition()
    statistics: ChannelStatistics = ChannelStatistics()

    def averaged_values(self) -> dict[str, Any]:
        """Return them; results of all schemes and transposes are equal but for rounding."""
        values = super().averaged_values()
        values["numerics"] |= {"scheme": "auto", "transposes": "auto"}
        return values

    @model_validator(mode="before")
    @classmethod
    def _carries_no_scalars(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "scalars" in values:
            raise SettingsError(
                "the channel carries no scalars; `solver: thermal` does, in a box with walls too "
                "(`uzushio init thermal`)",
                ("solver",),
            )
        return values

    @model_validator(mode="after")
    def _stable(self) -> Self:
        if self.time.cfl is not None and self.time.cfl > STABLE_CFL:
            raise SettingsError(
                f"got {self.time.cfl:g}, must be at most {STABLE_CFL:.2f} (sqrt(3)/pi: Fourier "
                "modes move faster than their grid)",
                ("time", "cfl"),
            )
        return self
