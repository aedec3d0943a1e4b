"""Named cameras, and cameras that fit the domain into a rectangle of the picture.

z points up. `front` looks along y with x to the right; `isometric` has x and y to the right. A
camera without a place faces the plane of a flat domain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from uzushio._base.config.section import Section
from uzushio.raycast import Camera

Vector = tuple[float, float, float]
Name = Literal["front", "back", "left", "right", "top", "bottom", "isometric"]

#: Direction from the domain to each camera, and the upward direction of its picture.
CAMERAS: dict[str, tuple[Vector, Vector]] = {
    "front": ((0, -1, 0), (0, 0, 1)),
    "back": ((0, 1, 0), (0, 0, 1)),
    "left": ((-1, 0, 0), (0, 0, 1)),
    "right": ((1, 0, 0), (0, 0, 1)),
    "top": ((0, 0, 1), (0, 1, 0)),
    "bottom": ((0, 0, -1), (0, 1, 0)),
    "isometric": ((1, -1, 1), (0, 0, 1)),
}


#: Largest extent of a flat domain along its normal, over its middle extent.
_FLAT = 0.02
#: Cameras that face the planes with the normals x, y and z.
_FACING: tuple[Name, ...] = ("right", "front", "top")


def flat_axis(bounds: Sequence[tuple[float, float]]) -> int | None:
    """Return the axis along which a domain is flat, as one of two dimensions; None if solid.

    Args:
        bounds: bounds of the domain along x, y and z.
    """
    extents = [high - low for low, high in bounds]
    thin, middle, _ = sorted(extents)
    return extents.index(thin) if thin <= _FLAT * middle else None


class Rectangle(NamedTuple):
    """Rectangle of pixels, ends exclusive."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def width(self) -> float:
        """Columns."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Rows."""
        return self.bottom - self.top

    def holds(self, point: Sequence[float] | NDArray[np.float64]) -> bool:
        """Return whether a point (column, row) is inside."""
        return bool(self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom)

    def overlaps(self, other: Rectangle, margin: float = 0.0) -> bool:
        """Return whether the rectangles overlap or are closer than `margin`."""
        return (
            self.left < other.right + margin
            and other.left < self.right + margin
            and self.top < other.bottom + margin
            and other.top < self.bottom + margin
        )


class Viewpoint(Section):
    """A camera by name, direction or position, with rotations and zoom."""

    name: Name | None = Field(
        default=None,
        description="where it looks from; if nothing is given, isometric, or at the plane of a "
        "flat domain",
    )
    position: Vector | None = Field(
        default=None, description="of the camera, in lengths of the mesh"
    )
    focal_point: Vector | None = Field(
        default=None, description="point it looks at; the centre of the domain if not given"
    )
    direction: Vector | None = Field(
        default=None, description="from where it looks, of any length; instead of a name"
    )
    up: Vector | None = Field(default=None, description="upward direction of the picture")
    azimuth: float = Field(
        default=0.0, description="degrees of rotation around the upward axis, to the right"
    )
    elevation: float = Field(default=0.0, description="degrees of rotation upwards")
    roll: float = Field(default=0.0, description="degrees of anticlockwise rotation of the camera")
    zoom: Annotated[float, Field(gt=0.0)] = Field(
        default=1.0, description="1 shows the whole domain"
    )
    parallel: bool | None = Field(
        default=None,
        description="no perspective; if not given, straight views have none, as `front`",
    )
    view_angle: Annotated[float, Field(gt=0.0, lt=170.0)] = Field(
        default=30.0, description="degrees from the lower edge to the upper"
    )
    parallel_height: Annotated[float, Field(gt=0.0)] | None = Field(
        default=None, description="height of the picture in lengths of the mesh, with `parallel`"
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        given = [key for key in ("name", "position", "direction") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"a camera has one of {' and '.join(given)}, not both")
        if self.position is not None and self.position == self.focal_point:
            raise ValueError("position and focal_point of a camera must differ")
        if self.direction is not None and not any(self.direction):
            raise ValueError("the direction of a camera must not be zero")
        if self.up is not None and not any(self.up):
            raise ValueError("the upward axis of a camera must not be zero")
        if self.parallel_height is not None and not self.is_parallel:
            raise ValueError("parallel_height needs `parallel: true`")
        if self.position is None or self.focal_point is not None:
            self.camera([(0.0, 1.0)] * 3, 16, 16)  # raises for other errors
        return self

    @property
    def is_parallel(self) -> bool:
        """Whether the projection is parallel."""
        if self.parallel is not None:
            return self.parallel
        straight = self.name not in (None, "isometric")
        return straight and not self.azimuth and not self.elevation

    def facing(self, bounds: Sequence[tuple[float, float]]) -> Viewpoint:
        """Return the viewpoint; if it has no place, with the name for a domain of these bounds."""
        if (self.name, self.position, self.direction) != (None, None, None):
            return self
        axis = flat_axis(bounds)
        return self.model_copy(update={"name": "isometric" if axis is None else _FACING[axis]})

    def camera(
        self,
        bounds: Sequence[tuple[float, float]],
        width: int,
        height: int,
        inside: Rectangle | None = None,
    ) -> Camera:
        """Return the camera for a domain.

        Without a position it is the nearest camera that shows the whole domain within `inside`, and
        then `zoom` times nearer.

        Args:
            bounds: bounds of the domain along x, y and z.
            width: columns of the picture.
            height: rows of the picture.
            inside: part of the picture for the domain; all of it if not given.

        Raises:
            ValueError: The camera looks along its own upward axis.
        """
        placed = self.facing(bounds)
        if placed is not self:
            return placed.camera(bounds, width, height, inside)
        corners = np.array(list(itertools.product(*bounds)), dtype=float)
        centre = corners.mean(axis=0)
        focal = centre if self.focal_point is None else np.asarray(self.focal_point, float)
        if self.position is not None:
            back = np.asarray(self.position, float) - focal
            if not back.any():
                raise ValueError("the camera is at the point that it looks at")
        elif self.direction is not None:
            back = np.asarray(self.direction, float)
        else:
            back = np.asarray(CAMERAS[self.name or "isometric"][0], float)
        distance = float(np.linalg.norm(back))
        axes = self._turned(_unit(back))
        if self.position is not None:
            place, target = focal - axes[2] * distance, focal
            tall = 2 * distance * math.tan(math.radians(self.view_angle) / 2)
        else:
            inside = inside or Rectangle(0, width, 0, height)
            fit = _fit_parallel if self.is_parallel else _fit_perspective
            place, target, tall = fit(corners, axes, self.view_angle, width, height, inside)
            place, target = place + (focal - centre), target + (focal - centre)
        # The focal point keeps its position in the picture.
        nearer = (place if not self.is_parallel else target) - focal
        shift = nearer / self.zoom - nearer
        ahead = np.linalg.norm(target - place)
        return Camera(
            _vector(place + shift),
            _vector(place + shift + axes[2] * ahead),
            _vector(axes[1]),
            self.view_angle,
            (self.parallel_height or tall) / self.zoom if self.is_parallel else None,
        )

    def _turned(self, back: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the axes right, up and forward, after azimuth, elevation and roll."""
        if self.up is not None:
            pole = _unit(self.up)
        elif self.name is not None:
            pole = _unit(CAMERAS[self.name][1])
        else:  # z, unless the camera looks along it
            pole = np.array([0.0, 0.0, 1.0] if np.hypot(*back[:2]) > 1e-6 else [0.0, 1.0, 0.0])
        up = pole - back * (pole @ back)
        if np.linalg.norm(up) < 1e-9:
            raise ValueError("the camera looks along its own upward axis; give it another `up`")
        axes = np.stack([np.cross(up, back), up, -back])
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        axes = axes @ _rotation(pole, self.azimuth).T
        axes = axes @ _rotation(axes[0], -self.elevation).T
        return np.asarray(axes @ _rotation(-axes[2], self.roll).T)


def _fit_perspective(
    corners: NDArray[np.float64],
    axes: NDArray[np.float64],
    angle: float,
    width: int,
    height: int,
    inside: Rectangle,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return position, target and 0 for the nearest camera with all corners within `inside`.

    A corner (u, v, w) to the right, up and forward is left of the rectangle's right side if
    u - u0 <= r (w - w0), r its tangent: linear in the camera's (u0, v0, w0), so the maximum w0
    for both sides has a closed form, and u0 lies midway between the two.
    """
    scale = 2 * math.tan(math.radians(angle) / 2) / height
    sides = [(inside.left - width / 2, inside.right - width / 2)]
    sides.append((height / 2 - inside.bottom, height / 2 - inside.top))
    seen = corners @ axes.T
    limits = []
    for (low, high), u in zip(sides, (seen[:, 0], seen[:, 1]), strict=True):
        low, high = low * scale, high * scale
        limits.append((low, high, (u - low * seen[:, 2]).min(), (u - high * seen[:, 2]).max()))
    depth = min((upper - lower) / (high - low) for low, high, upper, lower in limits)
    depth = min(depth, seen[:, 2].min() - 1e-9 * np.ptp(corners, axis=0).max())
    place = [(upper + low * depth + lower + high * depth) / 2 for low, high, upper, lower in limits]
    position = np.array([*place, depth]) @ axes
    ahead = seen[:, 2].mean() - depth
    return position, position + axes[2] * ahead, 0.0


def _fit_parallel(
    corners: NDArray[np.float64],
    axes: NDArray[np.float64],
    angle: float,
    width: int,
    height: int,
    inside: Rectangle,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return position, target and height of the camera with all corners within `inside`."""
    del angle
    seen = corners @ axes.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    length = max(
        (high[0] - low[0]) / inside.width, (high[1] - low[1]) / inside.height
    )  # of a pixel
    u, v, w = (low + high) / 2
    u -= length * ((inside.left + inside.right) / 2 - width / 2)
    v -= length * (height / 2 - (inside.top + inside.bottom) / 2)
    back = float(np.linalg.norm(high - low))
    target = np.array([u, v, w]) @ axes
    return target - axes[2] * back, target, length * height


def _rotation(axis: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    """Return the rotation matrix about a unit vector (Rodrigues' formula)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return np.asarray(np.eye(3) + sine * cross + (1 - cosine) * cross @ cross)


def _unit(vector: Any) -> NDArray[np.float64]:
    length = np.linalg.norm(vector)
    return np.asarray(vector, dtype=np.float64) / length


def _vector(values: NDArray[Any]) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
