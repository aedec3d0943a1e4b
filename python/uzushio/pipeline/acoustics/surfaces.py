"""Permeable surfaces: positions, normals and areas of quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.section import Section

Point = tuple[float, float, float]
Length = Annotated[float, Field(gt=0)]
#: Maximum number of positions on a surface.
MAX_POINTS = 10_000_000


@dataclass(frozen=True)
class Surface:
    """Positions of quadrature on a surface.

    Attributes:
        points: positions x, y, z, (n, 3).
        normals: unit vectors out of the enclosed volume, (n, 3).
        areas: weights of quadrature, (n,); their sum is the area.
    """

    points: np.ndarray
    normals: np.ndarray
    areas: np.ndarray


def _gauss(low: float, high: float, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and weights of Gauss's rule of two points on equal panels."""
    panels = max(1, round((high - low) / spacing / 2))
    nodes, weights = np.polynomial.legendre.leggauss(2)
    width = (high - low) / panels
    middles = low + width * (np.arange(panels) + 0.5)
    return (middles[:, None] + 0.5 * width * nodes).ravel(), np.tile(0.5 * width * weights, panels)


def _turns(length: float, spacing: float) -> np.ndarray:
    """Return equidistant angles on a circle of this length."""
    count = max(8, round(length / spacing))
    return 2.0 * np.pi * (np.arange(count) + 0.5) / count


class SphereSettings(Section):
    """Sphere; Gauss's rule along the axis z, equidistant angles around it."""

    center: Point = Field(description="x, y, z")
    radius: Length

    def points(self, spacing: float) -> int:
        """Estimate the number of positions."""
        return int(2.0 * np.pi**2 * (self.radius / spacing) ** 2)

    def surface(self, spacing: float) -> Surface:
        """Return the positions of quadrature."""
        heights, weights = np.polynomial.legendre.leggauss(
            max(4, round(np.pi * self.radius / spacing))
        )
        angles = _turns(2.0 * np.pi * self.radius, spacing)
        height, angle = (
            coordinate.ravel() for coordinate in np.meshgrid(heights, angles, indexing="ij")
        )
        across = np.sqrt(1.0 - height**2)
        normals = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
        areas = np.repeat(weights, len(angles)) * (2.0 * np.pi / len(angles)) * self.radius**2
        return Surface(np.array(self.center) + self.radius * normals, normals, areas)

    def encloses(self, points: np.ndarray) -> np.ndarray:
        """Whether positions, (n, 3), lie inside or on the surface."""
        distances = np.linalg.norm(points - np.array(self.center), axis=1)
        return np.asarray(distances <= self.radius * (1 + 1e-9))


Face = Literal["x-", "x+", "y-", "y+", "z-", "z+"]


class BoxSettings(Section):
    """Box along the axes; faces may be left out."""

    begin: Point = Field(alias="from", description="corner with the least x, y, z")
    end: Point = Field(alias="to", description="opposite corner")
    open: list[Face] = Field([], max_length=5, description="faces that are left out")

    @model_validator(mode="after")
    def _has_a_volume(self) -> Self:
        if not all(a < b for a, b in zip(self.begin, self.end, strict=True)):
            raise ValueError("'from' must be less than 'to' along x, y and z")
        return self

    def points(self, spacing: float) -> int:
        """Estimate the number of positions."""
        a, b, c = (np.array(self.end) - self.begin) / spacing
        return int(2 * (a * b + b * c + c * a))

    def surface(self, spacing: float) -> Surface:
        """Return the positions of quadrature."""
        rules = [_gauss(a, b, spacing) for a, b in zip(self.begin, self.end, strict=True)]
        faces = []
        for axis in range(3):
            first, other = (axis + 1) % 3, (axis + 2) % 3
            u, v = (part.ravel() for part in np.meshgrid(rules[first][0], rules[other][0]))
            areas = np.outer(rules[other][1], rules[first][1]).ravel()
            for sign, at in ((-1.0, self.begin[axis]), (1.0, self.end[axis])):
                if f"{'xyz'[axis]}{'-' if sign < 0 else '+'}" in self.open:
                    continue
                points, normals = np.full((len(u), 3), at), np.zeros((len(u), 3))
                points[:, first], points[:, other], normals[:, axis] = u, v, sign
                faces.append((points, normals, areas))
        return Surface(*(np.concatenate(part) for part in zip(*faces, strict=True)))

    def encloses(self, points: np.ndarray) -> np.ndarray:
        """Whether positions, (n, 3), lie inside or on the surface."""
        low, high = np.array(self.begin), np.array(self.end)
        near = 1e-9 * (high - low)
        return np.asarray(((points >= low - near) & (points <= high + near)).all(axis=1))


class CylinderSettings(Section):
    """Circular cylinder with its two ends; ends may be left out."""

    begin: Point = Field(alias="from", description="centre of one end")
    end: Point = Field(alias="to", description="centre of the other end")
    radius: Length
    open: list[Literal["from", "to"]] = Field([], description="ends that are left out")

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.begin == self.end:
            raise ValueError("'from' and 'to' are the same point; a cylinder needs a length")
        return self

    @property
    def _axis(self) -> tuple[np.ndarray, float]:
        along = np.array(self.end) - self.begin
        length = float(np.linalg.norm(along))
        return along / length, length

    def points(self, spacing: float) -> int:
        """Estimate the number of positions."""
        r, length = self.radius / spacing, self._axis[1] / spacing
        return int(2 * np.pi * r * (length + r))

    def surface(self, spacing: float) -> Surface:
        """Return the positions of quadrature."""
        along, length = self._axis
        first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        first /= np.linalg.norm(first)
        other = np.cross(along, first)

        def ring(count_radius: float) -> np.ndarray:
            angle = _turns(2.0 * np.pi * count_radius, spacing)[:, None]
            return np.asarray(np.cos(angle) * first + np.sin(angle) * other)

        places, weights = _gauss(0.0, length, spacing)
        around = ring(self.radius)
        arc = 2.0 * np.pi * self.radius / len(around)
        side = np.array(self.begin) + places[:, None, None] * along + self.radius * around
        pieces = [
            (
                side.reshape(-1, 3),
                np.broadcast_to(around, side.shape).reshape(-1, 3),
                np.repeat(weights * arc, len(around)),
            )
        ]
        for name, sign, at in (("from", -1.0, self.begin), ("to", 1.0, self.end)):
            if name in self.open:
                continue
            for radius, weight in zip(*_gauss(0.0, self.radius, spacing), strict=True):
                around = ring(radius)
                areas = np.full(len(around), 2.0 * np.pi * radius * weight / len(around))
                normals = np.tile(sign * along, (len(around), 1))
                pieces.append((np.array(at) + radius * around, normals, areas))
        return Surface(*(np.concatenate(part) for part in zip(*pieces, strict=True)))

    def encloses(self, points: np.ndarray) -> np.ndarray:
        """Whether positions, (n, 3), lie inside or on the surface."""
        along, length = self._axis
        from_begin = points - np.array(self.begin)
        height = from_begin @ along
        distance = np.linalg.norm(from_begin - height[:, None] * along, axis=1)
        near = 1e-9 * max(length, self.radius)
        return np.asarray(
            (height >= -near) & (height <= length + near) & (distance <= self.radius + near)
        )


class SurfaceSettings(Section):
    """Permeable surface, one of three shapes."""

    spacing: Length = Field(description="distance between positions on the surface, about")
    sphere: SphereSettings | None = None
    box: BoxSettings | None = None
    cylinder: CylinderSettings | None = None

    @model_validator(mode="after")
    def _require_one_shape(self) -> Self:
        shapes = [shape for shape in (self.sphere, self.box, self.cylinder) if shape is not None]
        if len(shapes) != 1:
            raise ValueError("needs exactly one of 'sphere', 'box' and 'cylinder'")
        if (count := shapes[0].points(self.spacing)) > MAX_POINTS:
            raise ValueError(
                f"has about {count:.2g} positions at this spacing; the maximum is {MAX_POINTS:.0e}"
            )
        return self

    @property
    def shape(self) -> SphereSettings | BoxSettings | CylinderSettings:
        """The given shape."""
        shape = self.sphere or self.box or self.cylinder
        assert shape is not None
        return shape

    def surface(self) -> Surface:
        """Return the positions of quadrature."""
        return self.shape.surface(self.spacing)
