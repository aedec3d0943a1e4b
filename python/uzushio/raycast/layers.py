"""Layers of a picture: slices, iso-surfaces and volumes of fields, and the scene of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uzushio import _core
from uzushio._base.array_values import real

Color: TypeAlias = Sequence[float]
Coordinates: TypeAlias = tuple[Any, Any, Any]


def rgba(color: Color, name: str) -> tuple[float, float, float, float]:
    """Check a colour of three or four numbers from 0 to 1; opacity is 1 unless given."""
    values = [float(v) for v in color]
    if len(values) == 3:
        values.append(1.0)
    if len(values) != 4 or not all(0 <= v <= 1 for v in values):
        raise ValueError(f"{name} is red, green, blue and maybe opacity, from 0 to 1, not {color}")
    return values[0], values[1], values[2], values[3]


def _positive(value: float, name: str) -> None:
    if not (value > 0 and np.isfinite(value)):
        raise ValueError(f"{name} is a positive number, not {value}")


def _opacity(value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"an opacity is between 0 and 1, not {value}")


@dataclass(frozen=True, eq=False)
class ColorTable:
    """Table of colours of values, linear between rows in the value or in its logarithm.

    Attributes:
        rgba: Shape (n, 3) or (n, 4), from 0 to 1, not premultiplied; the first row is for `lo`,
            the last for `hi`.
        lo: The value of the first row.
        hi: The value of the last row.
        below: Colour of values below `lo`; the first row if None.
        above: Colour of values above `hi`; the last row if None.
        nan: Colour of NaN and of infinite values.
        logarithmic: Whether rows are equidistant in the logarithm of the value; lo is then above 0.
    """

    rgba: NDArray[np.float32]
    lo: float
    hi: float
    below: Color | None = None
    above: Color | None = None
    nan: Color = (1.0, 0.0, 1.0, 1.0)
    logarithmic: bool = False

    def __post_init__(self) -> None:
        table = real(self.rgba, "a colour table").astype(np.float32)
        if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] not in (3, 4):
            raise ValueError(
                f"a colour table has rows of 3 or 4 numbers; its shape is {table.shape}"
            )
        if not ((table >= 0) & (table <= 1)).all():
            raise ValueError("the entries of a colour table must be between 0 and 1")
        if table.shape[1] == 3:
            table = np.concatenate([table, np.ones((len(table), 1), np.float32)], axis=1)
        if not (np.isfinite(self.lo) and np.isfinite(self.hi) and self.lo <= self.hi):
            raise ValueError(f"lo of a colour table must not exceed hi: {self.lo}, {self.hi}")
        if self.logarithmic and not self.lo > 0:
            raise ValueError(f"lo of a logarithmic colour table must be above 0, not {self.lo}")
        object.__setattr__(self, "rgba", np.ascontiguousarray(table))
        for name in ("below", "above", "nan"):
            if (color := getattr(self, name)) is not None:
                object.__setattr__(self, name, rgba(color, f"the colour {name}"))

    @property
    def ends(self) -> tuple[Color, Color]:
        """The colours of values below `lo` and above `hi`."""
        first, last = (tuple(map(float, self.rgba[row])) for row in (0, -1))
        return self.below or first, self.above or last


@dataclass(frozen=True)
class Lighting:
    """Light from the camera: colour × (ambient + diffuse × cos) + specular × cos**power.

    `cos` is that of the angle between the normal and the ray; both sides are lit alike.
    """

    ambient: float = 0.2
    diffuse: float = 0.8
    specular: float = 0.2
    power: float = 30.0

    def __post_init__(self) -> None:
        for name in ("ambient", "diffuse", "specular", "power"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"the lighting's {name} must not be negative")


def _plane(origin: Sequence[float], normal: Sequence[float], name: str) -> None:
    """Check a point and the normal of a plane."""
    values = np.array(normal, dtype=np.float64)
    if values.shape != (3,) or not np.isfinite(values).all() or not values.any():
        raise ValueError(f"a {name}'s normal is three numbers, not all zero, not {normal}")
    if np.shape(origin) != (3,) or not np.isfinite(origin).all():
        raise ValueError(f"a {name}'s origin is three numbers, not {origin}")


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """Points on one side of a plane.

    Attributes:
        origin: A point of the plane, (x, y, z).
        normal: Of the plane, away from the half space, (x, y, z), of any length but 0.
    """

    origin: Sequence[float]
    normal: Sequence[float]

    def __post_init__(self) -> None:
        _plane(self.origin, self.normal, "half space")


@dataclass(frozen=True, eq=False)
class Slice:
    """Field on a plane, in the colours of a table.

    Attributes:
        field: Name of the field.
        origin: A point of the plane, (x, y, z).
        normal: Of the plane, (x, y, z), of any length but 0.
        colors: The table; its opacities are multiplied by `opacity`.
        opacity: Of the whole slice.
        clipped: Whether only its part in the scene's half spaces is drawn.
    """

    field: str
    origin: Sequence[float]
    normal: Sequence[float]
    colors: ColorTable
    opacity: float = 1.0
    clipped: bool = True

    def __post_init__(self) -> None:
        _plane(self.origin, self.normal, "slice")
        _opacity(self.opacity)


@dataclass(frozen=True, eq=False)
class Isosurface:
    """Surfaces on which a field has given values, lit from the camera.

    Attributes:
        field: Name of the field.
        values: One or more values.
        color: One colour for all surfaces; give this or `colors`.
        colors: A table, by `color_field` or, without one, by the value itself.
        color_field: Name of the field that colours the surfaces.
        opacity: Of each surface, multiplied by that of its colour.
        lighting: Light from the camera; None shows the colour itself.
        clipped: Whether only their part in the scene's half spaces is drawn.
    """

    field: str
    values: Sequence[float]
    color: Color | None = None
    colors: ColorTable | None = None
    color_field: str | None = None
    opacity: float = 1.0
    lighting: Lighting | None = Lighting()
    clipped: bool = True

    def __post_init__(self) -> None:
        values = tuple(float(v) for v in np.atleast_1d(self.values))
        if not values or not np.isfinite(values).all():
            raise ValueError(f"an iso-surface has one or more finite values, not {self.values}")
        object.__setattr__(self, "values", values)
        if (self.color is None) == (self.colors is None):
            raise ValueError("an iso-surface has either a color or a table of colors")
        if self.color_field is not None and self.colors is None:
            raise ValueError(
                f"the iso-surface is coloured by {self.color_field!r}: it needs a table of colors"
            )
        if self.color is not None:
            object.__setattr__(self, "color", rgba(self.color, "an iso-surface's color"))
        _opacity(self.opacity)


@dataclass(frozen=True, eq=False)
class Transfer:
    """Transfer function: colour and opacity of values, linear between points, constant beyond.

    Attributes:
        points: Shape (n, 5): value, red, green, blue, opacity, by rising value. Two points of the
            same value make a jump.
        nan: Colour and opacity of values that are not finite.
        logarithmic: Whether the function is linear between points in the logarithm of the value;
            values of points are then above 0.
    """

    points: NDArray[np.float64]
    nan: Color = (1.0, 0.0, 1.0, 1.0)
    logarithmic: bool = False

    def __post_init__(self) -> None:
        points = real(self.points, "a transfer function").copy()
        if points.ndim != 2 or points.shape[0] < 1 or points.shape[1] != 5:
            raise ValueError(
                "a transfer function has rows of value, red, green, blue, opacity; its shape is "
                f"{points.shape}"
            )
        if not np.isfinite(points).all() or (np.diff(points[:, 0]) < 0).any():
            raise ValueError("the values of a transfer function are finite and do not decrease")
        if self.logarithmic and points[0, 0] <= 0:
            raise ValueError("the values of a logarithmic transfer function are above 0")
        if not ((points[:, 1:] >= 0) & (points[:, 1:] <= 1)).all():
            raise ValueError("colours and opacities of a transfer function are between 0 and 1")
        object.__setattr__(self, "points", np.ascontiguousarray(points))
        object.__setattr__(self, "nan", rgba(self.nan, "the colour nan"))

    @cached_property
    def table(self) -> Any:
        """Table of the ray caster, which takes milliseconds to compute."""
        return _core.raycast.TransferTable(self.points, self.nan, self.logarithmic)


@dataclass(frozen=True, eq=False)
class Volume:
    """Field as an emitting and absorbing medium.

    Attributes:
        field: Name of the field.
        transfer: Colour and opacity of values: a `Transfer`, or its points.
        unit_distance: Length over which the medium has the opacity of the transfer function; the
            scene's step if None.
        shading: Lighting by the field's gradient, if given.
        clipped: Whether only its part in the scene's half spaces is drawn.
    """

    field: str
    transfer: Transfer | NDArray[np.float64]
    unit_distance: float | None = None
    shading: Lighting | None = None
    clipped: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.transfer, Transfer):
            object.__setattr__(self, "transfer", Transfer(self.transfer))
        if self.unit_distance is not None:
            _positive(self.unit_distance, "a volume's unit distance")

    @property
    def medium(self) -> Transfer:
        """The transfer function, converted from points if necessary."""
        assert isinstance(self.transfer, Transfer)
        return self.transfer


Layer: TypeAlias = Slice | Isosurface | Volume


def check_coordinates(coordinates: Sequence[ArrayLike], name: str) -> Coordinates:
    """Return (z, y, x) as contiguous arrays of float64; check that they increase."""
    if len(coordinates) != 3:
        raise ValueError(f"{name} has three arrays of coordinates, z, y, x, not {len(coordinates)}")
    arrays = [
        np.ascontiguousarray(real(c, f"the coordinates of {name} along {axis}"))
        for axis, c in zip("zyx", coordinates, strict=True)
    ]
    for axis, array in zip("zyx", arrays, strict=True):
        if array.ndim != 1 or len(array) < 2:
            raise ValueError(
                f"{name} needs at least two points along {axis}; the shape is {array.shape}"
            )
        if not np.isfinite(array).all() or (np.diff(array) <= 0).any():
            raise ValueError(f"the coordinates of {name} along {axis} must increase")
    return arrays[0], arrays[1], arrays[2]


@dataclass(frozen=True, eq=False)
class Scene:
    """Layers over a whole domain; the same on all ranks.

    Attributes:
        layers: Layers to draw, in any order.
        domain: Coordinates (z, y, x) of all points of the whole mesh, three 1-D arrays.
        step: Maximum distance of samples of volumes along a ray; `default_step` of the domain if
            None. Where cells are narrower than average, samples are closer in proportion. Without
            volumes it has no effect: surfaces are found in every cell.
        bounding_box: Colour of the domain's edges; None draws no edges.
        line_width: Of the edges, in pixels.
        half_spaces: Half spaces in whose intersection layers are drawn, unless they are not
            `clipped`.
    """

    layers: Sequence[Layer]
    domain: Coordinates
    step: float | None = None
    bounding_box: Color | None = None
    line_width: float = 1.5
    half_spaces: Sequence[HalfSpace] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "half_spaces", tuple(self.half_spaces))
        object.__setattr__(self, "domain", check_coordinates(self.domain, "the domain"))
        if self.step is None:
            from uzushio.raycast.ghosts import default_step

            object.__setattr__(self, "step", default_step(self.domain))
        _positive(self.step or 0.0, "a scene's step")
        if self.bounding_box is not None:
            color = rgba(self.bounding_box, "the colour of the bounding box")
            object.__setattr__(self, "bounding_box", color)
        _positive(self.line_width, "the width of lines")

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that the layers need."""
        names: dict[str, None] = {}
        for layer in self.layers:
            names[layer.field] = None
            if isinstance(layer, Isosurface) and layer.color_field is not None:
                names[layer.color_field] = None
        return tuple(names)
