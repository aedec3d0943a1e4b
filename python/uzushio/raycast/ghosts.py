"""Points that a block needs beyond its own cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from uzushio.raycast.block import Cells, Triple, start_count
from uzushio.raycast.layers import Isosurface, Layer, Slice, check_coordinates

#: Samples of a ray for each cell that it may meet, at most.
_SAMPLES = 8


def default_step(coordinates: Sequence[ArrayLike]) -> float:
    """Return the mean spacing of the mesh along the axis on which it is finest.

    In a domain that is far thinner than it is long it is more, so that a ray takes `_SAMPLES` times
    as many samples as it meets cells at most.
    """
    lengths = np.array([float(c[-1] - c[0]) for c in map(np.asarray, coordinates)])
    cells = np.array([len(c) - 1 for c in map(np.asarray, coordinates)])
    least = float(np.linalg.norm(lengths)) / (_SAMPLES * int(cells.sum()))
    return max(float((lengths / cells).min()), least)


def ghost_layers(
    coordinates: Sequence[ArrayLike],
    cells: Cells,
    layers: Sequence[Layer],
    step: float | None = None,
) -> tuple[Triple, Triple]:
    """Return how many points a block needs beyond the points of its own cells.

    With them the picture does not depend on how the domain is cut. A ray's segments, of length
    `step`, belong to the block in whose cells their middles lie, so that samples are needed up to
    half a step beyond; on a stretched mesh that may be several points. The gradient that lights
    surfaces takes one more. Slices alone need none.

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
    reach = 0.5 * (default_step(domain) if step is None else step) * (1 + 1e-3)
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
        lowest = int(np.searchsorted(x, x[first] - reach, side="right")) - 1 - gradient
        highest = int(np.searchsorted(x, x[last] + reach, side="left")) + gradient
        below.append(first - max(lowest, 0))
        above.append(min(highest, len(x) - 1) - last)
    return (below[0], below[1], below[2]), (above[0], above[1], above[2])
