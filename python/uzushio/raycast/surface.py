"""Slices and isosurfaces of curvilinear blocks, as triangles, and their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio import _core
from uzushio.raycast.camera import Camera, Point
from uzushio.raycast.caster import default_threads

#: Rows of colours of a painted surface.
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class CurvilinearBlock:
    """Cells of a curvilinear mesh with values at their vertices.

    Attributes:
        corners: (z, y, x, 3), x, y and z of the stored vertices, contiguous along x.
        fields: by name, one value for each stored vertex; float32 or float64.
        first: indices z, y, x of the first cell.
        cells: number of cells along each axis.
    """

    corners: NDArray[np.float64]
    fields: Mapping[str, NDArray[Any]]
    first: tuple[int, ...]
    cells: tuple[int, ...]

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Bounds of the vertices along x, y and z, (3, 2); (inf, -inf) if there are none."""
        # Those of a mesh that does not fold are reached at its sides.
        sides = [np.take(self.corners, [0, -1], axis).reshape(-1, 3) for axis in range(3)]
        places = np.concatenate(sides).T.copy()
        ends = np.stack([places.min(axis=1), places.max(axis=1)], axis=1)
        if not np.isfinite(ends).all():
            known = self.corners[np.isfinite(self.corners).all(axis=-1)]
            low, high = known.min(axis=0, initial=np.inf), known.max(axis=0, initial=-np.inf)
            ends = np.stack([low, high], axis=1)
        return ends


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles with values at their points.

    Attributes:
        core: the compiled core's triangles.
        names: names of the fields of the values.
    """

    core: Any
    names: tuple[str, ...]

    @property
    def points(self) -> NDArray[np.float64]:
        """Positions x, y, z, (n, 3)."""
        return np.asarray(self.core.points)

    @property
    def triangles(self) -> NDArray[np.uint32]:
        """Numbers of the points of each triangle, (n, 3)."""
        return np.asarray(self.core.triangles)

    def values(self, name: str) -> NDArray[np.float64]:
        """Return the values of a field at the points."""
        return np.asarray(self.core.values(self.names.index(name)))

    def clip(self, origin: Point, normal: Point) -> Surface:
        """Return the part in the half space behind a plane; the normal points out of it."""
        return Surface(self.core.clip(origin, normal), self.names)


def isosurface(
    block: CurvilinearBlock,
    name: str,
    value: float,
    names: Sequence[str] = (),
    normals: bool = True,
    threads: int | None = None,
) -> Surface:
    """Return the surface of a block where a field has a value.

    Cells with values that are not finite have no surface. Blocks with equal values at the vertices
    that they share have no gap between their surfaces.

    Args:
        block: the block.
        name: name of the field.
        value: value on the surface.
        names: fields with values at the points of the surface.
        normals: whether points have normals, along the gradient of the field.
        threads: number of threads; None: those of this rank.
    """
    core = _core.raycast.isosurface(
        block.corners,
        block.first,
        block.cells,
        block.fields[name],
        value,
        [block.fields[other] for other in names],
        normals,
        threads or default_threads(),
    )
    return Surface(core, tuple(names))


def slice_surface(
    block: CurvilinearBlock,
    origin: Point,
    normal: Point,
    names: Sequence[str] = (),
    threads: int | None = None,
) -> Surface:
    """Return the intersection of a block with a plane; other arguments as of `isosurface`."""
    core = _core.raycast.slice(
        block.corners,
        block.first,
        block.cells,
        tuple(origin),
        tuple(normal),
        [block.fields[name] for name in names],
        threads or default_threads(),
    )
    return Surface(core, tuple(names))


@dataclass(frozen=True, eq=False)
class SurfacePaint:
    """Colours of a surface.

    Attributes:
        color: red, green, blue, opacity from 0 to 255, without a field.
        values: number of the field whose values have colours; -1: none.
        table: colours below `low`, from `low` to `high`, above `high`, and of values that are not
            finite; (n, 4).
        low: value of the first colour.
        high: value of the last colour.
        logarithmic: whether colours are equidistant in the logarithm of the value.
        lit: whether the surface is lit from the camera.
    """

    color: tuple[int, int, int, int] = (204, 204, 204, 255)
    values: int = -1
    table: NDArray[np.uint8] | None = None
    low: float = 0.0
    high: float = 1.0
    logarithmic: bool = False
    lit: bool = False

    @staticmethod
    def of_table(number: int, colors: Any, lit: bool) -> SurfacePaint:
        """Return the paint of a `ColorTable` for values of a number."""
        rgba = np.asarray(colors.rgba, float)
        places = np.linspace(0, len(rgba) - 1, _ROWS)
        rows = np.stack([np.interp(places, range(len(rgba)), channel) for channel in rgba.T], 1)
        below, above = colors.ends
        table = np.concatenate([[below], rows, [above], [colors.nan]])
        table[:, 3] = 1.0
        return SurfacePaint(
            values=number,
            table=np.round(255 * table).astype(np.uint8),
            low=float(colors.lo),
            high=float(colors.hi),
            logarithmic=bool(colors.logarithmic),
            lit=lit,
        )


def paint(
    surfaces: Sequence[tuple[Surface, SurfacePaint]],
    camera: Camera,
    image: NDArray[Any],
    threads: int | None = None,
) -> None:
    """Draw opaque surfaces; pixels without one are transparent and infinitely far.

    Args:
        surfaces: surfaces with their colours.
        camera: camera of the picture.
        image: pixels of type `uzushio.compositing.DEPTH_PIXEL`, (height, width), contiguous.
        threads: number of threads; None: those of this rank.
    """
    height, width = image.shape
    _core.raycast.paint(
        [(surface.core, how) for surface, how in surfaces],
        camera,
        image.view(np.uint8).reshape(height, width, 8),
        threads or default_threads(),
    )
