"""Points that a block needs beyond its own cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uzushio.raycast.block import Cells, Triple, start_count
from uzushio.raycast.layers import Isosurface, Layer, Slice, Volume, check_coordinates

#: Samples of a ray for each cell that it may meet, at most.
_SAMPLES = 8
#: Parts of an axis below which cells are no longer told apart, as in src/raycast/axis.cpp.
_BINS = 16384
#: Segments may be a little longer than their limit, as in src/raycast/segment_ends.cpp.
_TOLERANCE = 1.02


def default_step(coordinates: Sequence[ArrayLike]) -> float:
    """Return the mean spacing of the mesh along the axis on which it is finest.

    In a domain that is far thinner than it is long it is more, so that a ray takes `_SAMPLES` times
    as many samples as it meets cells at most.
    """
    lengths = np.array([float(c[-1] - c[0]) for c in map(np.asarray, coordinates)])
    cells = np.array([len(c) - 1 for c in map(np.asarray, coordinates)])
    least = float(np.linalg.norm(lengths)) / (_SAMPLES * int(cells.sum()))
    return max(float((lengths / cells).min()), least)


def segment_limits(
    coordinates: Sequence[ArrayLike], layers: Sequence[Layer], step: float | None
) -> tuple[float, float]:
    """Return how long a segment of a ray is at most: a length, and in cells that it touches.

    The latter is what `step` is in units of `default_step`. Without a volume nothing is sampled,
    and `step` does not matter.
    """
    usual = default_step(coordinates)
    if step is None or not any(isinstance(layer, Volume) for layer in layers):
        return usual, 1.0
    return step, step / usual


def ghost_layers(
    coordinates: Sequence[ArrayLike],
    cells: Cells,
    layers: Sequence[Layer],
    step: float | None = None,
) -> tuple[Triple, Triple]:
    """Return how many points a block needs beyond the points of its own cells.

    With them the picture does not depend on how the domain is cut. A ray's segments belong to the
    block in whose cells their middles lie, so that values are needed up to half a segment beyond.
    A segment is no longer than the cells that it touches, so that this is one point, unless the
    scene's step is longer than the default. The gradient that lights surfaces takes one more.
    Slices alone need none.

    Args:
        coordinates: (z, y, x) of all points of the whole domain.
        cells: The block's own cells.
        layers: What is to be drawn.
        step: The scene's; `default_step` if None.

    Returns:
        Points below and above, each (z, y, x), cut off where the domain ends.
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
        least = (x[-1] - x[0]) / _BINS
        reach = _touched(widths[:first][::-1], least, *limits) + gradient
        below.append(min(reach, first))
        reach = _touched(widths[last:], least, *limits) + gradient
        above.append(min(reach, len(widths) - last))
    return (below[0], below[1], below[2]), (above[0], above[1], above[2])


def max_touched(coordinates: Sequence[ArrayLike]) -> int:
    """Return the most cells beyond a face of any block that half a segment may touch.

    It is 1 with the default step, unless an axis is longer than some 32,000 of its narrowest cells.

    Args:
        coordinates: (z, y, x) of all points of the whole domain.
    """
    domain = check_coordinates(coordinates, "the domain")
    limits = segment_limits(domain, (), None)
    most = 1
    for x in domain:
        least = (x[-1] - x[0]) / _BINS
        for widths in (np.diff(x), np.diff(x)[::-1]):
            for face in np.flatnonzero(widths < 0.5 * _TOLERANCE * least):
                most = max(most, _touched(widths[face:], least, *limits))
    return most


def _touched(widths: np.ndarray, least: float, step: float, in_cells: float) -> int:
    """Cells beyond a block's face, of these widths, that half a segment may touch."""
    begins = np.cumsum(widths) - widths
    narrowest = np.minimum.accumulate(np.maximum(widths, least))
    return int((begins < 0.5 * _TOLERANCE * np.minimum(step, in_cells * narrowest)).sum())
