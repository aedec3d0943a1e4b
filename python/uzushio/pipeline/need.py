"""Values that an action reads, and the parts of them that a rank holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uzushio.domain.box import Box

if TYPE_CHECKING:
    from uzushio.domain.axes import Lines
    from uzushio.pipeline.stream import Grid, Stream


@dataclass(frozen=True)
class Need:
    """Values that an action reads together.

    They are on the grid of the first field. Fields of another grid with the same number of points
    (a staggered one) are interpolated to it.

    Attributes:
        fields: names of fields of the stream, of their components ("velocity.x"), of sources.
        ghosts: layers of points around the owned points of a part, within the grid.
        cells: whether the parts hold all corners of their cells (for drawing) or only points (for
            sums).
        periodic_cells: whether the cells between the last and the first point of periodic axes are
            included, as in pictures. They belong to the part with the last point; the point at
            their far end has the next index and the coordinate of the period's end. Not with a
            region.
        region: indices of the grid; None for all.
        corners: for elements of a curvilinear mesh: whether the parts hold the coordinates of
            their vertices. Those of vertices always do.
        vertices: whether values of elements are interpolated to the vertices of their mesh. A
            vertex that several meshes share has the same value in each. Not with `corners`.
    """

    fields: tuple[str, ...]
    ghosts: int = 0
    cells: bool = False
    periodic_cells: bool = False
    region: Box | None = None
    corners: bool = False
    vertices: bool = False

    def grid(self, stream: Stream) -> Grid:
        """Return the grid of the values."""
        grid = stream.grid_of(self.fields[0])
        return stream.vertex_grid(grid) if self.vertices else grid

    def corner_field(self, grid: Grid) -> str | None:
        """Return the field with the coordinates of the parts' corners, if they hold them."""
        return grid.corner_field if self.corners or not grid.of_elements else None


@dataclass(frozen=True, eq=False)
class Part:
    """Box of a grid with the values of a `Need`, in this rank's memory.

    A rank has zero or more parts. All parts of all ranks together contain each point of the grid
    (of the need's region) once in `points`, and each cell once in `cells`.

    Attributes:
        grid: grid of the points.
        points: global indices of the owned points.
        cells: global indices of the owned cells (cell i: points i to i + 1); counts of 0 if there
            are none. Without `Need.cells` their corners may be missing.
        stored: global indices of the arrays, ghosts included.
        fields: by name, arrays (z, y, x), components last if there are several, of the box
            `stored`. Read-only, strided, possibly the solver's own memory: no reference to them
            may remain when `Action.run` returns.
        corners: coordinates x, y, z of the stored points of a curvilinear grid, (z, y, x, 3); with
            `Need.corners` those of the vertices of the stored elements.
    """

    grid: Grid
    points: Box
    cells: Box
    stored: Box
    fields: dict[str, np.ndarray]
    corners: np.ndarray | None = None

    @property
    def coordinates(self) -> Lines:
        """Coordinates of the stored points, z, y, x; raises `PipelineError` if curvilinear."""
        return self.grid.lines(self.stored)

    def positions(self) -> np.ndarray:
        """Return the coordinates x, y, z of the owned points of a curvilinear grid.

        For elements, the need has `corners`.
        """
        assert self.corners is not None
        return self.grid.centres(self.corners)[self.points.slices(self.stored.start)]

    def owned(self, name: str) -> np.ndarray:
        """Return the values at the owned points, without ghosts."""
        return self.fields[name][self.points.slices(self.stored.start)]
