"""Sections of the case file of a thermal flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from uzushio._base.config.lengths import Coefficient
from uzushio._base.config.paths import NamedFile
from uzushio._base.config.section import Count, Positive, Section, unit
from uzushio._base.config.yaml_file import KeyPath
from uzushio.case.model import Length
from uzushio.errors import SettingsError
from uzushio.solvers.block_solver.case import BlockCase
from uzushio.solvers.thermal.bodies import Body, Stl
from uzushio.solvers.thermal.grid import Grid
from uzushio.solvers.thermal.units import Units

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Side = Literal["x-min", "x-max", "y-min", "y-max", "z-min", "z-max"]
Axis = Literal["x", "y", "z"]
AXES: tuple[Axis, ...] = ("x", "y", "z")


class Fluid(Section):
    """Properties of the fluid; its density is 1."""

    viscosity: Coefficient = Field(
        description="kinematic viscosity, such as 1/120", json_schema_extra=unit("length²/time")
    )
    gravity: Vector = Field(
        [0.0, 0.0, 0.0],
        description="acceleration of gravity along x, y and z",
        json_schema_extra=unit("length/time²"),
    )
    force: Vector = Field(
        [0.0, 0.0, 0.0],
        description="constant force per mass along x, y and z, such as a mean pressure gradient",
        json_schema_extra=unit("length/time²"),
    )


class Scalar(Section):
    """Temperature or another scalar that the flow carries."""

    diffusivity: Length = Field(
        description="diffusivity, such as 1/85.2", json_schema_extra=unit("length²/time")
    )
    expansion: float = Field(
        0.0,
        description="relative decrease of the density per unit of the scalar (Boussinesq): the "
        "buoyancy is -expansion * (value - reference) * gravity",
    )
    reference: float = Field(0.0, description="value without buoyancy")
    unit: str = Field("1", description="unit that is shown")


class Boundary(Section):
    """Boundary condition at a face of the box."""

    type: Literal["wall", "inflow", "outflow", "symmetry"] = Field(
        description="wall: no slip; inflow: given velocity; outflow: convected out of the box by "
        "the mean velocity; symmetry: no normal velocity and no stress"
    )
    velocity: Vector = Field(
        [0.0, 0.0, 0.0],
        description="velocity of the wall or of the inflow",
        json_schema_extra=unit("length/time"),
    )
    values: dict[str, float] = Field(
        {}, description="values of scalars, by name, at a wall or an inflow"
    )
    fluxes: dict[str, float] = Field(
        {},
        description="diffusive fluxes of scalars, by name, through a wall into the box; scalars "
        "with neither value nor flux have none",
    )

    @model_validator(mode="after")
    def _keys_have_an_effect(self) -> Self:
        effective = {
            "velocity": ("wall", "inflow"),
            "values": ("wall", "inflow"),
            "fluxes": ("wall",),
        }
        for key, types in effective.items():
            given = any(self.velocity) if key == "velocity" else getattr(self, key)
            if given and self.type not in types:
                raise ValueError(
                    f"'{key}' has no effect at type '{self.type}': remove it, or use type "
                    f"{' or '.join(repr(kind) for kind in types)}"
                )
        return self


class Turbulence(Section):
    """Random waves without divergence that vanish at walls, and a mean profile beside them."""

    rms: Positive = Field(
        description="root of the mean square of a velocity component of the waves",
        json_schema_extra=unit("length/time"),
    )
    friction_velocity: Positive | None = Field(
        None,
        description="adds Reichardt's mean profile of this friction velocity at the walls beside "
        "the flow; null: none",
        json_schema_extra=unit("length/time"),
    )
    along: Axis = Field("x", description="direction of the mean profile")


class Initial(Section):
    """Initial fields of a run that does not start from a checkpoint.

    Scalars are `values` plus `gradients` times the position. `script` is a file with a function
    `initial(name, x, y, z)`. It returns the values of the velocity components u, v, w and of the
    scalars, at the positions in these arrays. `noise` and `turbulence` are added. The velocity
    loses what divergence it has.
    """

    velocity: Vector = Field(
        [0.0, 0.0, 0.0], description="velocity", json_schema_extra=unit("length/time")
    )
    values: dict[str, float] = Field({}, description="scalars at the origin, by name")
    gradients: dict[str, Vector] = Field({}, description="gradients of scalars, by name")
    script: NamedFile | None = Field(
        None, description="file with a function `initial(name, x, y, z)`"
    )
    noise: dict[str, float] = Field(
        {}, description="amplitude of uniform random numbers, of `velocity` and of scalars by name"
    )
    turbulence: Turbulence | None = Field(None, description="added to the velocity; null: none")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="seed of the random numbers")


class Subgrid(Section):
    """Large-eddy simulation: model of the stress of eddies that are smaller than cells."""

    model: Literal["smagorinsky", "wale", "vreman"] = Field(
        description="wale and vreman vanish at walls and in laminar shear, smagorinsky does not"
    )
    constant: Annotated[float, Field(ge=0.0)] | None = Field(
        None, description="constant of the model; null: 0.17, 0.325 (wale), 0.07 (vreman)"
    )
    prandtl: Positive = Field(
        0.9, description="eddy viscosity over the eddy diffusivity of scalars"
    )


class Numerics(Section):
    """Choices that change the cost or the error, not the equations."""

    scheme: Literal["central", "van_leer"] = Field(
        "central",
        description="advection: central conserves energy; van_leer dissipates, and keeps scalars "
        "within their bounds",
    )
    solver: str = Field(
        "auto", description="solver of the pressure: auto, fft, cg/fft, cg, multigrid, ..."
    )
    tolerance: Positive = Field(
        1e-8, description="residual of an iterative solver over the norm of its right-hand side"
    )
    max_iterations: Count = Field(200, description="iterations of the pressure in a stage")


class Decomposition(Section):
    """Blocks along the axes, one for each rank.

    If none is given, they are slabs for a direct solver of the pressure, or have the least surface,
    whichever sends less.
    """

    px: Annotated[int, Field(ge=0)] | None = Field(
        None, description="blocks along x; 0 or null: automatic"
    )
    py: Annotated[int, Field(ge=0)] | None = Field(
        None, description="blocks along y; 0 or null: automatic"
    )
    pz: Annotated[int, Field(ge=0)] | None = Field(
        None, description="blocks along z; 0 or null: automatic, or 1 in two dimensions"
    )

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the blocks along x, y and z; zero: automatic."""
        if not self.px:
            return 0, 0, 0
        return self.px, self.py or 1, self.pz or 1

    @model_validator(mode="after")
    def _complete(self) -> Self:
        given = [bool(self.px), bool(self.py), bool(self.pz)]
        if given not in ([False] * 3, [True, True, False], [True] * 3):
            raise ValueError("needs px, py and, in three dimensions, pz, or none of them")
        return self


class ThermalCase(BlockCase):
    """Incompressible flow with temperature and other scalars in a box (Boussinesq)."""

    example: ClassVar[Mapping[str, Any]] = {
        "title": "Heated cavity, Ra = 1e5",
        "grid": {
            "x": {"cells": 64, "length": 1, "stretching": 1.5},
            "y": {"cells": 64, "length": 1, "stretching": 1.5},
        },
        "fluid": {"viscosity": 0.71, "gravity": [0, -71000, 0]},
        "scalars": {"temperature": {"diffusivity": 1, "expansion": 1}},
        "boundaries": {
            "x-min": {"type": "wall", "values": {"temperature": 1}},
            "x-max": {"type": "wall", "values": {"temperature": 0}},
            "y-min": {"type": "wall"},
            "y-max": {"type": "wall"},
        },
        "time": {"end": 0.1, "cfl": 0.9},
        "output": {"folder": "runs/cavity"},
    }

    grid: Grid
    fluid: Fluid
    scalars: dict[str, Scalar] = Field({}, description="scalars that the flow carries, by name")
    periodic: list[Axis] = Field([], description="periodic axes")
    boundaries: dict[Side, Boundary] = Field(
        {}, description="boundary conditions at the faces of the axes that are not periodic"
    )
    bodies: dict[str, Body] = Field({}, description="solid bodies at rest, by name")
    seeds: list[Vector] = Field(
        [],
        description="points in the fluid: cells that no path joins to one are solid; without them, "
        "paths begin at the boundaries of the box",
        json_schema_extra=unit("length"),
    )
    initial: Initial = Initial()
    les: Subgrid | None = None
    numerics: Numerics = Numerics()
    decomposition: Decomposition = Decomposition()
    units: Units = Units()

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        taken = ("velocity", "face_velocity", "pressure", "eddy_viscosity", "fluid")
        for name in self.scalars:
            if name in taken or name.startswith("face_velocity_"):
                raise SettingsError(f"the name '{name}' is that of another field", ("scalars",))
            if not name.replace("-", "_").isidentifier():
                raise SettingsError(
                    f"the name '{name}' must consist of letters, digits, _ and -, and must begin "
                    "with a letter",
                    ("scalars",),
                )
        for section, names in self._scalar_names():
            for name in names:
                if name not in self.scalars:
                    known = ", ".join(self.scalars) or "none"
                    raise SettingsError(f"there is no scalar '{name}'; there are: {known}", section)
        for name, body in self.bodies.items():
            given = [*body.values, *body.fluxes, *body.conduction]
            for scalar in given:
                if given.count(scalar) > 1:
                    raise SettingsError(
                        f"{scalar} has more than one of value, flux and conduction",
                        ("bodies", name),
                    )
        for side, boundary in self.boundaries.items():
            conflicting = sorted(set(boundary.values) & set(boundary.fluxes))
            if conflicting:
                raise SettingsError(
                    f"{conflicting[0]} has a value and a flux", ("boundaries", side)
                )
        return self

    def _scalar_names(self) -> Iterator[tuple[KeyPath, list[str]]]:
        """Yield the names of scalars that a section uses, with its key."""
        yield ("initial", "values"), list(self.initial.values)
        yield ("initial", "gradients"), list(self.initial.gradients)
        noise = [name for name in self.initial.noise if name != "velocity"]
        yield ("initial", "noise"), noise
        for side, boundary in self.boundaries.items():
            yield ("boundaries", side, "values"), list(boundary.values)
            yield ("boundaries", side, "fluxes"), list(boundary.fluxes)
        for name, body in self.bodies.items():
            yield ("bodies", name, "values"), list(body.values)
            yield ("bodies", name, "fluxes"), list(body.fluxes)
            yield ("bodies", name, "conduction"), list(body.conduction)

    @model_validator(mode="after")
    def _bodies_fit(self, info: ValidationInfo) -> Self:
        faces = [axis.positions() for axis in self.grid.axes]
        comm = (info.context or {}).get("comm")
        for name, body in self.bodies.items():
            try:
                surface = body.surface(comm)
            except ValueError as error:
                raise SettingsError(error, ("bodies", name)) from error
            corners = surface.corners
            if isinstance(body, Stl) and body.conduction and surface.undecided:
                (x, y, z), reason = surface.undecided
                if count := surface.open_sides:
                    reason = f"and {count:,} sides of its triangles have no second triangle"
                raise SettingsError(
                    f"'conduction' needs a closed surface, {reason}, at "
                    f"({x:.6g}, {y:.6g}, {z:.6g})",
                    ("bodies", name),
                )
            reach = list(zip(*corners, strict=True))[: len(faces)]
            if misfit := _misfit(reach, faces, bool(self.seeds)):
                advice = ""
                if isinstance(body, Stl):
                    advice = "; 'scale' is 0.001 for a file in millimetres and a case in metres"
                raise SettingsError(
                    f"the body {misfit}: it reaches over {_extents(reach)}, the box over "
                    f"{_extents([(line[0], line[-1]) for line in faces])}{advice}",
                    ("bodies", name),
                )
        return self

    def averaged_values(self) -> dict[str, Any]:
        """Return them; the solvers of the pressure reach the same solution."""
        values = super().averaged_values()
        values["numerics"]["solver"] = "auto"
        return values

    @model_validator(mode="after")
    def _blocks_fit(self) -> Self:
        counts, axes = self.decomposition.counts, self.grid.axes
        cells = [axis.cells for axis in axes] + [1] * (3 - len(axes))
        if self.grid.z is not None and counts[0] and not self.decomposition.pz:
            raise SettingsError("needs px, py and pz, or none of them", ("decomposition",))
        for name, count, most in zip(("px", "py", "pz"), counts, cells, strict=True):
            if count > most:
                raise SettingsError(
                    f"got {count}, must be at most the {most} cells", ("decomposition", name)
                )
        return self

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        for axis in AXES[: len(self.grid.axes)]:
            for side in (f"{axis}-min", f"{axis}-max"):
                if axis in self.periodic and side in self.boundaries:
                    raise SettingsError(f"the axis {axis} is periodic", ("boundaries", side))
                if axis not in self.periodic and side not in self.boundaries:
                    raise SettingsError(
                        f"give a condition at {side}, or name {axis} in 'periodic'", ("boundaries",)
                    )
        if self.grid.z is None and {"z-min", "z-max"} & {*self.boundaries}:
            raise SettingsError("the grid has no axis z", ("boundaries",))
        return self


def _misfit(
    reach: Sequence[tuple[float, float]], faces: Sequence[np.ndarray], has_seeds: bool
) -> str | None:
    """Return why a body of this reach along the axes does not fit the grid; None: it does."""
    pairs = list(zip(reach, faces, strict=True))
    if any(upper <= x[0] or lower >= x[-1] for (lower, upper), x in pairs):
        return "is outside the box of the flow"
    if all(upper - lower < np.diff(x).min() for (lower, upper), x in pairs):
        return "is smaller than a cell"
    if not has_seeds and all(lower <= x[0] and upper >= x[-1] for (lower, upper), x in pairs):
        return "surrounds the box of the flow (if the flow is inside, give 'seeds')"
    return None


def _extents(ranges: Sequence[tuple[float, float]]) -> str:
    """Return the ranges along the axes as text."""
    return " × ".join(f"{lower:g} … {upper:g}" for lower, upper in ranges)
