"""What an action looks at, and the parts of it that a rank has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uzushio.staging.box import Box

if TYPE_CHECKING:
    from uzushio.pipeline.stream import Coordinates, Grid


@dataclass(frozen=True)
class Need:
    """Values that an action looks at together.

    They are on the grid of the first field. Fields of another grid with the same number of points
    (a staggered one) are interpolated to it.

    Attributes:
        fields: names of fields of the stream, of their components ("velocity.x"), of sources.
        ghosts: layers of points around what belongs to a part, as far as the grid goes.
        cells: whether the parts must hold all corners of their cells, as drawing takes, or points
            alone, as sums do.
        seam: whether the cells between the last point of periodic axes and the first one count,
            as in pictures. They belong to who has the last point; the point at their far end has
            the next index, and coordinates where the period ends. Not with a region.
        region: indices of the grid that are looked at; None for all.
    """

    fields: tuple[str, ...]
    ghosts: int = 0
    cells: bool = False
    seam: bool = False
    region: Box | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A box of a grid with the values of a `Need` on it, in this rank's memory.

    A rank has any number of parts, none too. All parts of all ranks together have each point of
    the grid (of the need's region) once in `points`, and each cell once in `cells`.

    Attributes:
        grid: that the points are of.
        points: global indices of the points that belong to this part.
        cells: global indices of the cells that belong to it (cell i: points i to i + 1); empty
            counts if it has none. Without `Need.cells` their corners may be missing.
        stored: global indices of the arrays, ghosts included.
        fields: by name, arrays (z, y, x) and components last if there are several, of the box
            `stored`. Read-only, strided, possibly the solver's own memory: leave no reference to
            them when the action's run is over.
        corners: of a curvilinear grid: coordinates x, y, z of the points stored, (z, y, x, 3).
    """

    grid: Grid
    points: Box
    cells: Box
    stored: Box
    fields: dict[str, np.ndarray]
    corners: np.ndarray | None = None

    @property
    def coordinates(self) -> Coordinates:
        """Of the points stored, along z, y, x; raises `PipelineError` if curvilinear."""
        return self.grid.lines(self.stored)

    def owned(self, name: str) -> np.ndarray:
        """The values at the points that belong to this part, without ghosts."""
        return self.fields[name][self.points.slices(self.stored.start)]
