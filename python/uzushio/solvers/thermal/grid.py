"""Section `grid` of the case file of a thermal flow: the faces of its cells."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from uzushio._base.config.section import Section, unit
from uzushio.case.model import Length


class GridAxis(Section):
    """Cells along one axis."""

    cells: Annotated[int, Field(gt=0, le=2**20)] = Field(description="number of cells")
    length: Length = Field(1.0, description="extent of the box", json_schema_extra=unit("length"))
    start: float = Field(0.0, description="lower end of the box", json_schema_extra=unit("length"))
    stretching: Annotated[float, Field(ge=0.0, le=8.0)] = Field(
        0.0, description="stretching of the grid; 0: uniform, larger: finer at `fine_at`"
    )
    fine_at: Literal["both", "lower", "upper"] | float = Field(
        "both",
        description="where a stretched grid has fine cells: its ends (tanh), or a position, from "
        "which cells widen to both sides (sinh)",
    )
    faces: list[float] | None = Field(
        None,
        description="cells + 1 positions of the cell faces instead of length, start and stretching",
        json_schema_extra=unit("length"),
    )

    @model_validator(mode="after")
    def _faces_fit(self) -> Self:
        if self.faces is not None:
            if len(self.faces) != self.cells + 1:
                raise ValueError(
                    f"faces has {len(self.faces)} positions, must have cells + 1 = {self.cells + 1}"
                )
            if not (np.diff(self.faces) > 0.0).all():
                raise ValueError("faces must increase")
        end = self.start + self.length
        if isinstance(self.fine_at, float) and not self.start <= self.fine_at <= end:
            raise ValueError(
                f"fine_at is {self.fine_at:g}, must be within the box, {self.start:g} to {end:g}"
            )
        return self

    def positions(self) -> np.ndarray:
        """Positions of the cell faces, shape (cells + 1,)."""
        if self.faces is not None:
            return np.asarray(self.faces)
        s = np.linspace(0.0, 1.0, self.cells + 1)
        if self.stretching:
            g = self.stretching
            if self.fine_at == "both":
                s = 0.5 * (1.0 + np.tanh(g * (2.0 * s - 1.0)) / np.tanh(g))
            elif self.fine_at == "lower":
                s = 1.0 - np.tanh(g * (1.0 - s)) / np.tanh(g)
            elif self.fine_at == "upper":
                s = np.tanh(g * s) / np.tanh(g)
            else:
                s = _clustered(s, g, (self.fine_at - self.start) / self.length)
            s[0], s[-1] = 0.0, 1.0
        return self.start + self.length * s


def _clustered(s: np.ndarray, g: float, centre: float) -> np.ndarray:
    """Return a sinh of s with its least slope where it is `centre`, from 0 at 0 to 1 at 1.

    Source: D. A. Anderson, J. C. Tannehill, R. H. Pletcher, Computational Fluid Mechanics and Heat
    Transfer (1984), section 5-6.
    """
    above, below = 1.0 + np.expm1(g) * centre, 1.0 + np.expm1(-g) * centre
    middle = 0.5 / g * np.log(above / below)
    width = (
        centre / np.sinh(g * middle) if centre > 0.5 else (1 - centre) / np.sinh(g * (1 - middle))
    )
    return np.asarray(centre + width * np.sinh(g * (s - middle)))


class Grid(Section):
    """Rectilinear grid of a box. Without `z` the flow is two-dimensional."""

    x: GridAxis
    y: GridAxis
    z: GridAxis | None = None

    @property
    def axes(self) -> list[GridAxis]:
        """Return the axes x, y and, in three dimensions, z."""
        return [self.x, self.y] + ([self.z] if self.z else [])
