"""Sections of the case file of a compressible flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from uzushio._base.config.names import unknown
from uzushio._base.config.paths import NamedFile
from uzushio._base.config.section import Count, Positive, Section, unit
from uzushio._base.config.yaml_file import KeyPath
from uzushio.errors import SettingsError
from uzushio.grids import Grid, box_grid, jet_grid, read_grid
from uzushio.solvers.block_solver.case import BlockCase

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Counts = Annotated[list[Count], Field(min_length=3, max_length=3)]
NotNegative = Annotated[float, Field(ge=0.0)]
Spacing = Annotated[list[NotNegative], Field(min_length=3, max_length=3)]

#: Molar gas constant, J/(mol K), exact in the SI.
GAS_CONSTANT = 8.31446261815324


class BoxGrid(Section):
    """Grid of a box, as `uzushio grid box` makes it."""

    cells: Counts = Field(description="cells along x, y and z")
    lengths: Vector = Field([1.0, 1.0, 1.0], description="lengths along x, y and z")
    origin: Vector = Field([0.0, 0.0, 0.0], description="corner with the least coordinates")
    stretching: Spacing = Field(
        [0.0, 0.0, 0.0], description="0: uniform; larger: finer at both ends, along x, y and z"
    )
    zones: Counts = Field([1, 1, 1], description="zones along x, y and z")
    periodic: str = Field("", description="periodic axes, such as xz")
    mapping: Literal["none", "wavy", "warped"] = Field("none", description="curved cells")
    amplitude: NotNegative = Field(0.05, description="amplitude of the mapping over the lengths")
    orientations: Literal["same", "rotated", "any"] = Field(
        "same", description="directions of the zones' axes"
    )


class JetGrid(Section):
    """O-H grid of a jet along x that leaves a nozzle at x = 0, as `uzushio grid o-h` makes it."""

    radius: Positive = Field(0.5, description="inner radius of the nozzle")
    length: Positive = Field(15.0, description="length from the exit to the outflow")
    far: Positive = Field(5.0, description="radius of the side boundary at the exit")
    far_end: Positive | None = Field(None, description="radius at the outflow; null: as `far`")
    nozzle: NotNegative = Field(0.0, description="length of the nozzle; 0: a wall at x = 0")
    wall: NotNegative = Field(0.0, description="thickness of the nozzle's wall")
    core_cells: Count = Field(12, description="cells along a side of the core")
    inner_cells: Count = Field(12, description="cells from the core to the nozzle's radius")
    outer_cells: Count = Field(32, description="cells from the nozzle to the side boundary")
    axial_cells: Count = Field(96, description="cells from the exit to the outflow")
    nozzle_cells: Count = Field(16, description="cells along the nozzle")
    lip_spacing: Positive = Field(0.02, description="width of the cells at the lip, radially")
    exit_spacing: Positive = Field(0.04, description="width of the cells at the exit, along x")
    sections: Count = Field(1, description="zones along the jet")


class GridSource(Section):
    """Grid: a file, or a generated one. Exactly one of the keys is given."""

    file: NamedFile | None = Field(None, description="CGNS, or PLOT3D with a neutral map file")
    box: BoxGrid | None = Field(None, description="grid of a box")
    jet: JetGrid | None = Field(None, description="O-H grid of a round jet")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [key for key in ("file", "box", "jet") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError("give one of 'file', 'box' and 'jet'")
        return self

    def grid(self) -> Grid:
        """Return the grid; raises `GridError`."""
        if self.file is not None:
            return read_grid(self.file)
        if self.box is not None:
            return box_grid(**self.box.model_dump())
        assert self.jet is not None
        return jet_grid(**self.jet.model_dump())


class Species(Section):
    """Calorically perfect gas, with `molar_mass` or `gas_constant`; or one of `gas.data`."""

    molar_mass: Positive | None = Field(
        None, description="molar mass", json_schema_extra=unit("kg/mol")
    )
    gas_constant: Positive | None = Field(
        None, description="gas constant per mass, such as 1 in non-dimensional units"
    )
    gamma: Annotated[float, Field(gt=1.0)] = Field(1.4, description="ratio of the heat capacities")
    formation_energy: float = Field(0.0, description="internal energy per mass at temperature 0")

    @property
    def constant(self) -> float:
        """Gas constant per mass."""
        return self.gas_constant or GAS_CONSTANT / (self.molar_mass or 1.0)


class Gas(Section):
    """Species and transport coefficients of the gas."""

    species: dict[str, Species] = Field(description="species by name, 1 to 10")
    data: NamedFile | None = Field(
        None,
        description="heat capacities that depend on the temperature, by NASA's polynomials, and "
        "molar masses: built-in (N2, O2, H2, H2O, He, Ar, CO2), or a file in Cantera's format; SI "
        "units; null: calorically perfect gases",
    )
    transport: Literal["sutherland", "kinetic-theory"] = Field(
        "sutherland",
        description="viscosity and conductivity: sutherland, of all species alike, from the keys "
        "below; kinetic-theory, of each species of `data`, mixed by Wilke's rule",
    )
    viscosity: NotNegative = Field(
        0.0, description="dynamic viscosity at `reference_temperature`; 0: inviscid"
    )
    reference_temperature: Positive = Field(1.0, description="temperature of `viscosity`")
    sutherland: NotNegative | None = Field(
        None, description="Sutherland's temperature, 110.4 K for air; null: constant viscosity"
    )
    prandtl: Positive | None = Field(
        None,
        description="viscosity over thermal diffusivity; null: 0.72, or conductivities by "
        "kinetic theory",
    )
    schmidt: Positive | None = Field(
        None, description="viscosity over the diffusivity of species; null: 0.7, or of `lewis`"
    )
    lewis: Positive | None = Field(
        None, description="thermal diffusivity over that of species, instead of `schmidt`"
    )

    @model_validator(mode="after")
    def _number_fits(self) -> Self:
        if not 1 <= len(self.species) <= 10:
            raise SettingsError(
                f"there are {len(self.species)}; 1 to 10 are possible", ("species",)
            )
        for name in self.species:
            if not name.replace("-", "_").isidentifier():
                raise SettingsError(
                    f"the name '{name}' must consist of letters, digits, _ and -, and must begin "
                    "with a letter",
                    ("species",),
                )
        for name, species in self.species.items():
            self._check_species(name, species)
        if self.schmidt is not None and self.lewis is not None:
            raise SettingsError("give either 'schmidt' or 'lewis'", ("lewis",))
        if self.transport == "kinetic-theory":
            if self.data is None:
                raise SettingsError("kinetic-theory needs gas.data", ("transport",))
            for key in ("viscosity", "reference_temperature", "sutherland"):
                if getattr(self, key) != type(self).model_fields[key].default:
                    raise SettingsError("has no effect with transport kinetic-theory", (key,))
        return self

    def _check_species(self, name: str, species: Species) -> None:
        fields = type(species).model_fields  # a resolved case has the defaults
        given = {key for key in fields if getattr(species, key) != fields[key].default}
        if self.data is not None and given:
            raise SettingsError(
                f"'{min(given)}' has no effect with gas.data; write {name}: {{}}", ("species", name)
            )
        if self.data is None and (species.molar_mass is None) == (species.gas_constant is None):
            raise SettingsError("give either 'molar_mass' or 'gas_constant'", ("species", name))

    def polynomials(self) -> Any:
        """Return the mixture of `data`, or None; raises `SettingsError`."""
        if self.data is None:
            return None
        from uzushio.solvers.jet.mixture import BUILT_IN, mixture

        return mixture([*self.species], BUILT_IN if self.data.name == "built-in" else self.data)

    def kinetic_theory(self) -> Any:
        """Return the laws of kinetic theory, or None; raises `SettingsError`."""
        if self.transport == "sutherland" or self.data is None:
            return None
        from uzushio.solvers.jet.mixture import BUILT_IN, kinetic_transport

        path = BUILT_IN if self.data.name == "built-in" else self.data
        return kinetic_transport([*self.species], path, self.prandtl)


class State(Section):
    """State of the gas."""

    velocity: Vector = Field([0.0, 0.0, 0.0], description="velocity")
    pressure: Positive = Field(description="pressure")
    temperature: Positive = Field(description="temperature")
    mass_fractions: dict[str, Annotated[float, Field(ge=0.0, le=1.0)]] = Field(
        {}, description="mass fractions by species; their sum is 1. Not needed for one species"
    )


class Profile(Section):
    """Round jet in a surrounding gas, with a shear layer of the form of a hyperbolic tangent."""

    centre: Vector = Field([0.0, 0.0, 0.0], description="point on the axis")
    axis: Literal["x", "y", "z"] = Field("x", description="direction of the jet")
    radius: Positive = Field(0.5, description="radius at half the difference of the velocities")
    thickness: Positive = Field(0.025, description="momentum thickness of the shear layer")
    surroundings: str = Field(description="name of the state around the jet")


class Boundary(Section):
    """Boundary condition of patches."""

    type: Literal[
        "supersonic_inflow",
        "supersonic_outflow",
        "inflow",
        "far_field",
        "characteristic_inflow",
        "characteristic_outflow",
        "slip_wall",
        "adiabatic_wall",
        "isothermal_wall",
        "adiabatic_wall_model",
        "isothermal_wall_model",
    ] = Field(
        description="inflow: the state but for its pressure; far_field: the state for what "
        "enters, by characteristics; characteristic_inflow and characteristic_outflow: on rates, "
        "what enters relaxes to the state's velocity, temperature and species, or to its pressure; "
        "slip_wall: also a plane of symmetry; other walls have no slip; with _model, the "
        "stress of a turbulent layer in equilibrium"
    )
    state: str | None = Field(None, description="name of the state at inflows and far fields")
    profile: Profile | None = Field(None, description="round jet of this state at an inflow")
    temperature: Positive | None = Field(None, description="temperature of an isothermal wall")
    velocity: Vector = Field([0.0, 0.0, 0.0], description="velocity of a wall without slip")
    length: Positive | None = Field(
        None, description="length of the flow at a characteristic in- or outflow, which needs it"
    )
    relaxation: NotNegative | None = Field(
        None,
        description="rate of relaxation there, over the speed of sound and `length`; null: 0.25",
    )
    transverse: Annotated[float, Field(ge=0.0, le=1.0)] | None = Field(
        None, description="share of transverse terms in waves that enter; null: the Mach number"
    )

    @model_validator(mode="after")
    def _keys_have_an_effect(self) -> Self:
        is_characteristic = self.type in ("characteristic_inflow", "characteristic_outflow")
        if is_characteristic != (self.length is not None):
            raise ValueError("'length' is that of a characteristic in- or outflow, which needs it")
        for key in ("relaxation", "transverse"):
            if getattr(self, key) is not None and not is_characteristic:
                raise ValueError(f"'{key}' has no effect at type '{self.type}'")
        needs_state = is_characteristic or self.type in (
            "supersonic_inflow",
            "inflow",
            "far_field",
        )
        if needs_state != (self.state is not None):
            raise ValueError(
                f"type '{self.type}' needs 'state'"
                if needs_state
                else f"'state' has no effect at type '{self.type}'"
            )
        if self.profile is not None and not needs_state:
            raise ValueError(f"'profile' has no effect at type '{self.type}'")
        if (self.type in ("isothermal_wall", "isothermal_wall_model")) != (
            self.temperature is not None
        ):
            raise ValueError("'temperature' is that of an isothermal_wall, which needs it")
        if any(self.velocity) and (self.type == "slip_wall" or "_wall" not in self.type):
            raise ValueError(f"'velocity' has no effect at type '{self.type}'")
        return self


class Sponge(Section):
    """Zone in which the flow is damped to a state, so that waves leave the grid."""

    state: str = Field(description="name of the state")
    axis: Literal["x", "y", "z"] = Field("x", description="axis of the distance")
    radial: bool = Field(False, description="distance from the axis, not along it")
    origin: Vector = Field([0.0, 0.0, 0.0], description="point where distances are 0")
    begin: float = Field(description="distance at which the damping begins")
    end: float = Field(
        description="distance at which it is `strength`; less than `begin`: backwards"
    )
    strength: Positive = Field(description="rate of damping at `end`, 1/time")

    @model_validator(mode="after")
    def _has_a_width(self) -> Self:
        if self.begin == self.end:
            raise ValueError("'begin' and 'end' are equal")
        return self


class Initial(Section):
    """Initial state of a run that does not start from a checkpoint.

    `script` is a file with a function `initial(name, x, y, z)`. It returns the values of u, v, w,
    pressure, temperature or Y_<species> at the positions in these arrays; None: those of `state`.
    """

    state: str = Field(description="name of the state")
    script: NamedFile | None = Field(
        None, description="file with a function `initial(name, x, y, z)`"
    )
    noise: NotNegative = Field(0.0, description="amplitude of random velocities that are added")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="seed of the random numbers")


class Subgrid(Section):
    """Large-eddy simulation: model of the stress of eddies that are smaller than cells."""

    model: Literal["vreman", "wale", "sigma"] = Field(
        description="all vanish in laminar shear; wale and sigma also at walls as the cube of the "
        "distance"
    )
    prandtl: Positive = Field(0.9, description="eddy viscosity over eddy diffusivity of heat")
    schmidt: Positive = Field(0.9, description="eddy viscosity over eddy diffusivity of species")


class Numerics(Section):
    """Choices that change the cost or the error, not the equations."""

    scheme: Literal["keep", "hybrid", "upwind"] = Field(
        "hybrid",
        description="convection: keep preserves kinetic energy; hybrid is keep with upwind at "
        "shocks and contacts; upwind dissipates everywhere",
    )
    reconstruction: Literal["muscl3", "weno5"] = Field(
        "weno5", description="values at the sides of cells for the upwind flux"
    )


class JetCase(BlockCase):
    """Compressible flow of a gas mixture on a multiblock grid."""

    example: ClassVar[Mapping[str, Any]] = {
        "title": "Shear layer",
        "grid": {"box": {"cells": [64, 64, 1], "periodic": "xyz"}},
        "gas": {"species": {"air": {"gas_constant": 1.0}}},
        "states": {"rest": {"pressure": 1.0, "temperature": 1.0}},
        "initial": {"state": "rest", "noise": 0.1},
        "time": {"end": 1.0, "cfl": 0.5},
        "output": {"folder": "runs/shear"},
    }

    grid: GridSource
    gas: Gas
    states: dict[str, State] = Field(description="states of the gas, by name")
    boundaries: dict[str, Boundary] = Field(
        {}, description="boundary conditions by the names of the grid's patches"
    )
    sponges: dict[str, Sponge] = Field({}, description="sponges by name")
    initial: Initial
    acceleration: Vector = Field([0.0, 0.0, 0.0], description="body force per mass")
    les: Subgrid | None = None
    numerics: Numerics = Numerics()

    @model_validator(mode="after")
    def _states_fit(self) -> Self:
        for name, path in self._state_names():
            if name not in self.states:
                raise SettingsError(f"the state '{name}' {unknown(name, [*self.states])}", path)
        for name, state in self.states.items():
            path = ("states", name, "mass_fractions")
            for species in state.mass_fractions:
                if species not in self.gas.species:
                    raise SettingsError(
                        f"the species '{species}' {unknown(species, [*self.gas.species])}", path
                    )
            total = sum(state.mass_fractions.values())
            is_given = bool(state.mass_fractions) or len(self.gas.species) > 1
            if is_given and abs(total - 1.0) > 1e-6:
                raise SettingsError(f"their sum is {total:.8g}; it must be 1", path)
        return self

    def _state_names(self) -> Iterator[tuple[str, KeyPath]]:
        """Yield the names of states that sections use, with their keys."""
        yield self.initial.state, ("initial", "state")
        for name, boundary in self.boundaries.items():
            if boundary.state is not None:
                yield boundary.state, ("boundaries", name, "state")
            if boundary.profile is not None:
                yield boundary.profile.surroundings, ("boundaries", name, "profile", "surroundings")
        for name, sponge in self.sponges.items():
            yield sponge.state, ("sponges", name, "state")
