"""Camera of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Camera:
    """Perspective camera, or orthographic one if `parallel_height` is given.

    Positions and directions are (x, y, z) in the mesh's coordinates. Rays go through the centres of
    pixels; the first row of a picture is its top. Data behind the camera's plane is not visible.
    The camera may be inside the data.

    Attributes:
        position: Position of the camera.
        focal_point: Point in the middle of the picture.
        up: Direction that points up in the picture; it need not be perpendicular to the view.
        view_angle: Degrees from the lower to the upper edge of the picture.
        parallel_height: Height of the picture in the mesh's coordinates: all rays are parallel.
    """

    position: Point
    focal_point: Point
    up: Point = (0.0, 0.0, 1.0)
    view_angle: float = 30.0
    parallel_height: float | None = None

    def __post_init__(self) -> None:
        for name in ("position", "focal_point", "up"):
            value = tuple(float(v) for v in getattr(self, name))
            if len(value) != 3 or not np.isfinite(value).all():
                raise ValueError(f"the camera's {name} is three finite numbers, not {value}")
            object.__setattr__(self, name, value)
        if self.parallel_height is None:
            if not 0 < self.view_angle < 180:
                raise ValueError(
                    f"the view angle is between 0 and 180 degrees, not {self.view_angle}"
                )
        elif not (self.parallel_height > 0 and np.isfinite(self.parallel_height)):
            raise ValueError(
                f"the height of a parallel view is positive, not {self.parallel_height}"
            )
        if not np.linalg.norm(np.subtract(self.focal_point, self.position)) > 0:
            raise ValueError("the camera's position and its focal point are the same")
        if not np.linalg.norm(np.cross(self._forward, self.up)) > 1e-12 * np.linalg.norm(self.up):
            raise ValueError("the camera looks along its own up direction; choose another up")

    @cached_property
    def _forward(self) -> NDArray[np.float64]:
        view = np.subtract(self.focal_point, self.position)
        return np.asarray(view / np.linalg.norm(view), dtype=np.float64)

    @cached_property
    def axes(self) -> NDArray[np.float64]:
        """Unit vectors to the right, up and forward in the picture; shape (3, 3), by rows."""
        right = np.cross(self._forward, self.up)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, self._forward), self._forward])

    @property
    def half_height(self) -> float:
        """Half the picture's height, at distance 1 for a perspective camera."""
        if self.parallel_height is not None:
            return self.parallel_height / 2
        return float(np.tan(np.radians(self.view_angle) / 2))

    def ray(
        self, column: float, row: float, width: int, height: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a point and the unit direction of the ray through a position in a picture.

        Args:
            column: As of `project`; the centre of pixel i is i + 0.5.
            row: From the top.
            width: Columns of the picture.
            height: Rows of the picture.
        """
        scale = 2 * self.half_height / height
        right, up, forward = self.axes
        aside = right * (column - width / 2) * scale + up * (height / 2 - row) * scale
        if self.parallel_height is not None:
            return np.array(self.position) + aside, forward
        towards = forward + aside
        return np.array(self.position), towards / np.linalg.norm(towards)

    def project(self, points: ArrayLike, width: int, height: int) -> NDArray[np.float64]:
        """Project points onto a picture.

        Args:
            points: Shape (n, 3), (x, y, z) in the mesh's coordinates.
            width: Columns of the picture.
            height: Rows of the picture.

        Returns:
            Shape (n, 3): column, row and distance along the view direction. Pixel (i, j) has its
            centre at column i + 0.5, row j + 0.5. For points that are not in front of a
            perspective camera, column and row are NaN.
        """
        right, up, depth = self.axes @ (np.atleast_2d(points) - np.array(self.position)).T
        scale = np.full_like(depth, height / (2 * self.half_height))
        if self.parallel_height is None:
            scale = np.where(depth > 0, scale / np.where(depth > 0, depth, 1), np.nan)
        return np.stack([width / 2 + right * scale, height / 2 - up * scale, depth], axis=1)
