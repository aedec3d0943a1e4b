"""Observers: points, and arcs of equidistant angles."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.section import Section
from uzushio.pipeline.acoustics.surfaces import Point


class ArcSettings(Section):
    """Observers on an arc; angles are measured from `axis` towards `toward`."""

    center: Point = (0.0, 0.0, 0.0)
    radius: Annotated[float, Field(gt=0)]
    angles: tuple[float, float] = Field(description="first and last angle, degrees")
    observers: Annotated[int, Field(gt=0, le=10_000)] = Field(description="number of observers")
    axis: Point = Field((1.0, 0.0, 0.0), description="direction of the angle 0")
    toward: Point = Field((0.0, 1.0, 0.0), description="direction in the plane of the arc")

    @model_validator(mode="after")
    def _has_a_plane(self) -> Self:
        if not np.linalg.norm(np.cross(self.axis, self.toward)) > 0:
            raise ValueError("'axis' and 'toward' must be two directions that are not parallel")
        return self

    @property
    def degrees(self) -> np.ndarray:
        """Angles of the observers."""
        return np.linspace(*self.angles, self.observers)

    @property
    def places(self) -> np.ndarray:
        """Positions, (observers, 3), x, y, z."""
        axis = np.array(self.axis) / np.linalg.norm(self.axis)
        across = np.array(self.toward) - np.dot(self.toward, axis) * axis
        across /= np.linalg.norm(across)
        angle = np.radians(self.degrees)[:, None]
        directions = np.cos(angle) * axis + np.sin(angle) * across
        return np.asarray(np.array(self.center) + self.radius * directions)
