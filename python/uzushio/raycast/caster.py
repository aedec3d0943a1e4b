"""From blocks to an image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uzushio.raycast.block import Block
from uzushio.raycast.camera import Camera
from uzushio.raycast.layers import Scene

Format = Literal["rgba8", "rgba_float"]
Bounds = tuple[int, int, int, int]

_TYPES: dict[str, type[Any]] = {"rgba8": np.uint8, "rgba_float": np.float32}


@dataclass(frozen=True, eq=False)
class Result:
    """What `cast` returns.

    Attributes:
        image: Shape (height, width, 4), colour premultiplied by opacity, nothing behind it.
        depth: Shape (height, width), float32, if asked for: distance along the camera's view
            direction at which the opacity reaches 0.5; infinity where it never does. For a
            volume it is that of the front of the segment in which it does.
        bounds: Columns from and to, rows from and to (ends exclusive), outside of which nothing was
            drawn; None if nothing can be in the picture.
        nan_count: Values that are not a number: in a slice the pixels that show one, for the fields
            of iso-surfaces and volumes the points of this rank's cells that hold one.
        hits: For each layer, pixels in which something of it was drawn, blocks of this call
            together.
        ranges: For each layer, least and greatest value of its field in these blocks, without NaN;
            None for slices, and where there is no value.
    """

    image: NDArray[Any]
    depth: NDArray[np.float32] | None
    bounds: Bounds | None
    nan_count: int
    hits: list[int]
    ranges: list[tuple[float, float] | None]


def default_threads() -> int:
    """Return the threads of a rank: cores of this node over its ranks, or `OMP_NUM_THREADS`."""
    if (asked := os.environ.get("OMP_NUM_THREADS", "").split(",")[0]).isdigit() and int(asked):
        return int(asked)
    cores = len(os.sched_getaffinity(0))
    if cores < (os.cpu_count() or cores):
        return cores  # the launcher has bound this rank: they are its own
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"):
        if (ranks := os.environ.get(name, "")).isdigit() and int(ranks):
            return max(1, cores // int(ranks))
    return cores


def cast(
    scene: Scene,
    camera: Camera,
    width: int,
    height: int,
    blocks: Sequence[Block],
    *,
    format: Format = "rgba8",
    out: NDArray[Any] | None = None,
    depth: bool = False,
    threads: int = 0,
) -> Result:
    """Draw the blocks of a scene.

    Args:
        scene: The same on all ranks.
        camera: Where the picture is taken from.
        width: Columns.
        height: Rows.
        blocks: This rank's, front to back; see `visibility_order`.
        format: Of the image.
        out: Memory for the image, of the right shape, type and layout, such as
            `Compositor.canvas` returns; all of it is written.
        depth: Whether the depth is wanted.
        threads: To work with; `default_threads` if 0.
    """
    from uzushio.raycast._first import reference_cast

    image, far, hits = reference_cast(scene, camera, width, height, blocks)
    if out is None:
        out = np.empty((height, width, 4), _TYPES[format])
    out[...] = np.round(255 * image) if format == "rgba8" else image
    some = np.flatnonzero(image[..., 3].any(axis=1)), np.flatnonzero(image[..., 3].any(axis=0))
    bounds = None
    if len(some[0]):
        rows, columns = some
        bounds = (int(columns[0]), int(columns[-1]) + 1, int(rows[0]), int(rows[-1]) + 1)
    return Result(
        out, far.astype(np.float32) if depth else None, bounds, 0, hits, [None] * len(scene.layers)
    )
