"""Views: camera, layers, background and annotation of a picture."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from uzushio._base.config.section import Section
from uzushio.render.cameras import CAMERAS, Vector, Viewpoint, flat_axis
from uzushio.render.colors import Color, Colors, luminance
from uzushio.render.placeholders import check_placeholders

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Side = Annotated[int, Field(ge=16, le=16384)]

_AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class _Plane(Section):
    """Plane by its normal and a point."""

    normal: Literal["x", "y", "z"] | Vector | None = Field(
        default=None,
        description="of the plane; if not given, z, or the axis along which the domain is flat",
    )
    at: float | None = Field(
        default=None,
        description="position of the plane on the axis `normal`; the middle if not given",
    )
    origin: Vector | None = Field(default=None, description="a point of the plane, instead of `at`")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.at is not None and self.origin is not None:
            raise ValueError("a plane has `at` or `origin`, not both")
        if isinstance(self.normal, tuple):
            if self.at is not None:
                raise ValueError("`at` needs an axis as normal; give the plane an `origin`")
            if not any(self.normal):
                raise ValueError("the normal of a plane must not be zero")
        return self

    def plane(self, bounds: Any) -> tuple[Vector, Vector]:
        """Return a point and the normal of the plane for bounds of the domain along x, y and z."""
        middle = [(lo + hi) / 2 for lo, hi in bounds]
        if isinstance(self.normal, tuple):
            return self.origin or (middle[0], middle[1], middle[2]), self.normal
        flat = flat_axis(bounds)
        name = self.normal or ("z" if flat is None else "xyz"[flat])
        if self.at is not None:
            middle["xyz".index(name)] = self.at
        return self.origin or (middle[0], middle[1], middle[2]), _AXES[name]


class ClipPlane(_Plane):
    """Plane that clips a view: the side to which the normal points is left out."""

    invert: bool = Field(default=False, description="whether the other side is left out")

    def half_space(self, bounds: Any) -> tuple[Vector, Vector]:
        """Return a point of the plane and the normal away from what is drawn, for such bounds."""
        origin, (x, y, z) = self.plane(bounds)
        return origin, (-x, -y, -z) if self.invert else (x, y, z)


#: Whether the planes of the view's `clip` apply to a layer.
Clipped = Annotated[bool, Field(description="whether the view's `clip` applies to the layer")]


class SliceLayer(_Plane):
    """Plane through a field."""

    kind: Literal["slice"] = "slice"
    field: str = Field(description="name of the field")
    color: Colors = Field(default_factory=Colors, description="how values become colours")
    opacity: Share = 1.0
    clipped: Clipped = True


class IsosurfaceLayer(Section):
    """Surfaces on which a field has a value."""

    kind: Literal["isosurface"] = "isosurface"
    field: str = Field(description="name of the field")
    values: Annotated[
        tuple[float, ...],
        Field(min_length=1, max_length=64),
        BeforeValidator(lambda values: (values,) if isinstance(values, int | float) else values),
    ] = Field(description="one value, or several")
    color: Colors | Color = Field(
        default="#d8a35c", description="one colour; or colours by the value of a field"
    )
    opacity: Share = 1.0
    lighting: bool = True
    clipped: Clipped = True


class VolumeLayer(Section):
    """Volume of a field: values have colour and opacity."""

    kind: Literal["volume"] = "volume"
    field: str = Field(description="name of the field")
    color: Colors = Field(default_factory=Colors, description="how values become colours")
    opacity: Annotated[tuple[tuple[float, Share], ...], Field(min_length=2)] = Field(
        default=((0.0, 0.0), (1.0, 0.4)),
        description="(place, opacity), linear between; places are in the units of `places`",
    )
    places: Literal["limits", "values"] = Field(
        default="limits",
        description="0 to 1 from limit to limit of the colours, or the field's values",
    )
    unit_distance: Annotated[float, Field(gt=0.0)] | None = Field(
        default=None,
        description="length that has this opacity; a fortieth of the diagonal if not given",
    )
    shading: bool = False
    clipped: Clipped = True

    @field_validator("opacity")
    @classmethod
    def _increasing(cls, points: tuple[tuple[float, float], ...]) -> Any:
        places = [place for place, _ in points]
        if any(place >= next for place, next in itertools.pairwise(places)):
            raise ValueError("the places of the opacity must increase")
        return points

    @model_validator(mode="after")
    def _is_visible(self) -> Self:
        places, shares = zip(*self.opacity, strict=True)
        inside = [share for place, share in self.opacity if 0.0 <= place <= 1.0]
        beyond = not 0.0 <= places[0] <= places[-1] <= 1.0
        seen = any([*inside, *np.interp([0.0, 1.0], places, shares)])
        if self.places == "limits" and beyond and not seen:
            raise ValueError(
                "the opacity is 0 at all places from 0 to 1, the limits of the colours; "
                "'places: values' takes values of the field"
            )
        return self


class MeshLayer(Section):
    """Surface of a VTK mesh of any kind, drawn by VTK."""

    kind: Literal["mesh"] = "mesh"
    mesh: str = Field(description="name of the mesh in the parts of the picture")
    color: Colors | Color = Field(
        default="#c9ced6", description="one colour; or colours by the value of a field"
    )
    edges: bool = Field(default=False, description="whether the lines of the mesh are drawn")
    lighting: bool = True
    smooth: bool = Field(
        default=True, description="lighting without visible facets, where there are normals"
    )
    line_width: Annotated[float, Field(gt=0.0)] = Field(
        default=1.0, description="of lines, in pixels"
    )
    point_size: Annotated[float, Field(gt=0.0)] = Field(
        default=3.0, description="of points, in pixels"
    )
    clipped: Clipped = True

    @model_validator(mode="after")
    def _field(self) -> Self:
        if isinstance(self.color, Colors) and self.color.field is None:
            raise ValueError("the colours of a mesh need a `field`")
        return self


def _kind(layer: Any) -> Any:
    return layer.get("kind") if isinstance(layer, dict) else getattr(layer, "kind", None)


Layer = Annotated[
    Annotated[SliceLayer, Tag("slice")]
    | Annotated[IsosurfaceLayer, Tag("isosurface")]
    | Annotated[VolumeLayer, Tag("volume")]
    | Annotated[MeshLayer, Tag("mesh")],
    Discriminator(_kind),
]


def _viewpoint(camera: Any) -> Any:
    if isinstance(camera, str):
        if camera not in CAMERAS:
            raise ValueError(f"there is no camera {camera!r}; it may be {', '.join(CAMERAS)}")
        return {"name": camera}
    return camera


class View(Section):
    """Settings of a picture. `title` may hold {time} and {step}, with a format as in {time:.2f}."""

    layers: tuple[Layer, ...] = Field(description="layers of the picture, in any order")
    clip: Annotated[
        tuple[ClipPlane, ...],
        Field(max_length=6),
        BeforeValidator(
            lambda planes: (planes,) if isinstance(planes, dict | ClipPlane) else planes
        ),
    ] = Field(default=(), description="one plane, or several, that cut layers")
    bodies: bool | str = Field(
        default=True,
        description="whether bodies are drawn in grey, where the solver marks them; or the field "
        "that is 0 in bodies and 1 outside",
    )
    size: tuple[Side, Side] = Field(default=(1280, 720), description="columns and rows of pixels")
    samples: Annotated[int, Field(ge=1, le=4)] = Field(
        default=1, description="along each side of a pixel: 2 smooths edges for four times the work"
    )
    camera: Annotated[Viewpoint, BeforeValidator(_viewpoint)] = Field(
        default_factory=Viewpoint,
        description="its name, or a section; if not given, isometric, or at the plane of a flat "
        "domain",
    )
    background: Color | tuple[Color, Color] = Field(
        default="white", description="a colour, or those of the picture's top and bottom"
    )
    title: str = Field(default="", description="text above the picture; may hold {time} and {step}")
    time_stamp: str = Field(
        default="t = {time:.4g}", description="text in a corner; empty for none"
    )
    legend: bool = Field(default=True, description="whether coloured layers have legends")
    axes: bool = Field(default=True, description="ticks and labels along the domain's edges")
    axis_names: tuple[str, str, str] = ("x", "y", "z")
    length_unit: str = Field(default="", description="of the axes")
    outline: bool = Field(default=True, description="the domain's edges")
    orientation: bool = Field(default=False, description="small arrows of the axes in a corner")
    text_size: Annotated[float, Field(ge=6.0)] | None = Field(
        default=None,
        description="height of letters in pixels; by the size of the picture if not given",
    )
    text_color: Color | None = Field(
        default=None, description="dark or light, by the background, if not given"
    )
    font: Path | None = Field(default=None, description="file of a font; DejaVu Sans if not given")

    @field_validator("title", "time_stamp")
    @classmethod
    def _format(cls, text: str) -> str:
        check_placeholders(text, {"time": 1.0, "step": 1}, "{time:.2f}")
        return text

    def with_units(self, length: str, time: str) -> View:
        """Return the view with units of the axes and of the time stamp, where it has none."""
        more: dict[str, Any] = {}
        if length and "length_unit" not in self.model_fields_set:
            more["length_unit"] = length
        if time and "time_stamp" not in self.model_fields_set:
            unit = time.replace("{", "{{").replace("}", "}}")
            more["time_stamp"] = f"{self.time_stamp} {unit}"
        return self.model_copy(update=more) if more else self

    def half_spaces(self, layer: Layer, bounds: Any) -> tuple[tuple[Vector, Vector], ...]:
        """Return the half spaces in which a layer is drawn: points and outward normals.

        Args:
            layer: one of the view's.
            bounds: bounds of the domain along x, y and z.
        """
        return tuple(plane.half_space(bounds) for plane in self.clip) if layer.clipped else ()

    @property
    def ink(self) -> str:
        """Colour of text and lines."""
        if self.text_color is not None:
            return self.text_color
        shades = [self.background] if isinstance(self.background, str) else self.background
        light = sum(luminance(shade) for shade in shades) / len(shades)
        return "#1a1a1a" if light > 0.5 else "#f0f0f0"

    @property
    def paper(self) -> str:
        """Colour behind text; that of the top for a gradient."""
        return self.background if isinstance(self.background, str) else self.background[0]

    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields that the picture needs, each once."""
        names: list[str] = []
        for layer in self.layers:
            if not isinstance(layer, MeshLayer):
                names.append(layer.field)
            if isinstance(layer.color, Colors) and layer.color.field:
                names.append(layer.color.field)
        return tuple(dict.fromkeys(names))
