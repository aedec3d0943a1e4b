"""Ghost layers of blocks for ray casting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uzushio.domain.box import Triple
from uzushio.raycast.block import Cells, start_count
from uzushio.raycast.layers import Isosurface, Layer, Slice, Volume, check_coordinates

#: Maximum number of samples of a ray for each cell that it can meet.
_MAX_SAMPLES_PER_CELL = 8
#: Resolution of an axis in bins, as in src/raycast/axis.cpp.
_MAX_BINS = 16384
#: Factor by which a segment may exceed its limit, as in src/raycast/segment_ends.cpp.
_TOLERANCE = 1.02


def default_step(coordinates: Sequence[ArrayLike]) -> float:
    """Return the mean spacing of the mesh along the axis on which it is finest.

    In a domain that is much thinner than long it is larger, so that a ray takes at most
    `_MAX_SAMPLES_PER_CELL` samples for each cell that it can meet.
    """
    lengths = np.array([float(c[-1] - c[0]) for c in map(np.asarray, coordinates)])
    cells = np.array([len(c) - 1 for c in map(np.asarray, coordinates)])
    minimum = float(np.linalg.norm(lengths)) / (_MAX_SAMPLES_PER_CELL * int(cells.sum()))
    return max(float((lengths / cells).min()), minimum)


def segment_limits(
    coordinates: Sequence[ArrayLike], layers: Sequence[Layer], step: float | None
) -> tuple[float, float]:
    """Return the maximum length of a segment of a ray, and its maximum in widths of its cells.

    The latter is `step` in units of `default_step`. Without a volume nothing is sampled, and `step`
    has no effect.
    """
    default = default_step(coordinates)
    if step is None or not any(isinstance(layer, Volume) for layer in layers):
        return default, 1.0
    return step, step / default


def ghost_layers(
    coordinates: Sequence[ArrayLike],
    cells: Cells,
    layers: Sequence[Layer],
    step: float | None = None,
) -> tuple[Triple, Triple]:
    """Return the number of ghost points that a block needs around its own cells.

    With them the picture does not depend on the decomposition. A segment of a ray belongs to the
    block that owns the cell of its middle, so values are needed half a segment beyond the cells. A
    segment is at most as long as the cells that it touches: this is one point, unless the scene's
    step exceeds the default. The gradient for lighting needs one more. Slices need none.

    Args:
        coordinates: (z, y, x) of all points of the whole domain.
        cells: The block's own cells.
        layers: Layers to draw.
        step: The scene's step; `default_step` if None.

    Returns:
        Points below and above, each (z, y, x), limited by the ends of the domain.
    """
    domain = check_coordinates(coordinates, "the domain")
    start, count = start_count(cells)
    if min(count) == 0 or all(isinstance(layer, Slice) for layer in layers):
        return (0, 0, 0), (0, 0, 0)
    limits = segment_limits(domain, layers, step)
    gradient = int(
        any(
            (layer.lighting if isinstance(layer, Isosurface) else layer.shading) is not None
            for layer in layers
            if not isinstance(layer, Slice)
        )
    )
    below, above = [], []
    for x, first, cells_here in zip(domain, start, count, strict=True):
        last = first + cells_here
        widths = np.diff(x)
        bin_width = (x[-1] - x[0]) / _MAX_BINS
        reach = _touched(widths[:first][::-1], bin_width, *limits) + gradient
        below.append(min(reach, first))
        reach = _touched(widths[last:], bin_width, *limits) + gradient
        above.append(min(reach, len(widths) - last))
    return (below[0], below[1], below[2]), (above[0], above[1], above[2])


def max_touched(coordinates: Sequence[ArrayLike]) -> int:
    """Return the maximum number of cells beyond a block's face that half a segment can touch.

    It is 1 with the default step, unless an axis is longer than some 32,000 of its narrowest cells.

    Args:
        coordinates: (z, y, x) of all points of the whole domain.
    """
    domain = check_coordinates(coordinates, "the domain")
    limits = segment_limits(domain, (), None)
    result = 1
    for x in domain:
        bin_width = (x[-1] - x[0]) / _MAX_BINS
        for widths in (np.diff(x), np.diff(x)[::-1]):
            for face in np.flatnonzero(widths < 0.5 * _TOLERANCE * bin_width):
                result = max(result, _touched(widths[face:], bin_width, *limits))
    return result


def _touched(widths: np.ndarray, bin_width: float, step: float, in_cells: float) -> int:
    """Return the number of cells beyond a block's face that half a segment can touch."""
    begins = np.cumsum(widths) - widths
    narrowest = np.minimum.accumulate(np.maximum(widths, bin_width))
    return int((begins < 0.5 * _TOLERANCE * np.minimum(step, in_cells * narrowest)).sum())
