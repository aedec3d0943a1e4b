"""Section of the case file on solid bodies in a thermal flow."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from uzushio import _core
from uzushio._base.config.paths import NamedFile
from uzushio._base.config.section import Positive, Section, unit
from uzushio._base.parallel.sync import on_root

if TYPE_CHECKING:
    from mpi4py import MPI

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]


class Conduction(Section):
    """Material of a body in which a scalar diffuses."""

    conductivity: Positive = Field(1.0, description="conductivity over that of the fluid")
    capacity: Positive = Field(1.0, description="capacity per volume over that of the fluid")
    source: float = Field(0.0, description="source per volume and time, over that capacity")


class _Body(Section):
    """Body at rest, and scalars at its surface."""

    values: dict[str, float] = Field({}, description="values of scalars at the surface, by name")
    fluxes: dict[str, float] = Field(
        {},
        description="diffusive fluxes of scalars, by name, into the flow; scalars with none of "
        "these have no flux",
    )
    conduction: dict[str, Conduction] = Field(
        {}, description="materials for scalars that diffuse in the body too, by name"
    )

    def surface(self, comm: MPI.Comm | None = None) -> Any:
        """Return the compiled surface."""
        raise NotImplementedError

    def condition(self, scalar: str) -> Any:
        """Return the compiled condition of a scalar."""
        if scalar in self.values:
            return _core.thermal.BodyCondition("fixed", self.values[scalar])
        if scalar in self.conduction:
            conduction = self.conduction[scalar]
            return _core.thermal.BodyCondition(
                "conjugate", conduction.source, conduction.conductivity, conduction.capacity
            )
        return _core.thermal.BodyCondition("flux", self.fluxes.get(scalar, 0.0))


class Sphere(_Body):
    """Sphere; in two dimensions its section at z = 0."""

    shape: Literal["sphere"] = Field(description="kind of the body")
    centre: Vector = Field(description="position", json_schema_extra=unit("length"))
    radius: Positive = Field(description="radius", json_schema_extra=unit("length"))

    def surface(self, comm: MPI.Comm | None = None) -> Any:
        """Return the compiled surface."""
        return _core.thermal.sphere(self.centre, self.radius)


class Box(_Body):
    """Box parallel to the axes."""

    shape: Literal["box"] = Field(description="kind of the body")
    lower: Vector = Field(description="corner", json_schema_extra=unit("length"))
    upper: Vector = Field(description="opposite corner", json_schema_extra=unit("length"))

    @model_validator(mode="after")
    def _corners_fit(self) -> Self:
        if not all(a < b for a, b in zip(self.lower, self.upper, strict=True)):
            raise ValueError("lower must be below upper along each axis")
        return self

    def surface(self, comm: MPI.Comm | None = None) -> Any:
        """Return the compiled surface."""
        return _core.thermal.box(self.lower, self.upper)


class Cylinder(_Body):
    """Circular cylinder parallel to an axis, closed at both ends."""

    shape: Literal["cylinder"] = Field(description="kind of the body")
    centre: Vector = Field(description="position", json_schema_extra=unit("length"))
    radius: Positive = Field(description="radius", json_schema_extra=unit("length"))
    axis: Literal["x", "y", "z"] = Field("z", description="axis that it is parallel to")
    length: Positive | None = Field(
        None, description="length; null: unlimited", json_schema_extra=unit("length")
    )

    def surface(self, comm: MPI.Comm | None = None) -> Any:
        """Return the compiled surface."""
        length = inf if self.length is None else self.length
        return _core.thermal.cylinder(self.centre, self.radius, "xyz".index(self.axis), length)


class Stl(_Body):
    """Surface of triangles in an STL file. If it is open, fluid is on both of its sides."""

    shape: Literal["stl"] = Field(description="kind of the body")
    file: NamedFile = Field(description="STL file, binary or ASCII")
    scale: Positive = Field(
        1.0,
        description="length of the case over that of the file, such as 0.001 for millimetres and "
        "metres",
    )
    offset: Vector = Field(
        [0.0, 0.0, 0.0],
        description="position of the file's origin",
        json_schema_extra=unit("length"),
    )

    def surface(self, comm: MPI.Comm | None = None) -> Any:
        """Return the compiled surface; the first call reads the file.

        Args:
            comm: ranks that all call this: the first one reads the file for all (collective).

        Raises:
            ValueError: the file cannot be read, is not STL, or has no triangles or a position that
                is not finite.
        """
        kept = vars(self)  # beside the fields, as those of `functools.cached_property`
        if "_surface" not in kept:
            kept["_surface"] = on_root(comm, self._read)
        if isinstance(kept["_surface"], ValueError):
            raise kept["_surface"]
        return kept["_surface"]

    def _read(self) -> Any:
        try:
            return _core.thermal.stl(str(self.file), self.scale, self.offset)
        except ValueError as error:  # one of all ranks
            return error


Body = Annotated[Sphere | Box | Cylinder | Stl, Field(discriminator="shape")]
