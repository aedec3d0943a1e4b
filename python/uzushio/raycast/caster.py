"""Ray casting of blocks into an image."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uzushio import _core
from uzushio.raycast.block import Block
from uzushio.raycast.camera import Camera
from uzushio.raycast.ghosts import segment_limits
from uzushio.raycast.layers import Scene

Format = Literal["rgba8", "rgba_float"]
Bounds = tuple[int, int, int, int]

_TYPES: dict[str, type[Any]] = {"rgba8": np.uint8, "rgba_float": np.float32}


@dataclass(frozen=True, eq=False)
class Result:
    """Image and statistics of one call of `cast`.

    Attributes:
        image: Shape (height, width, 4), colour premultiplied by opacity, without background.
        depth: Shape (height, width), float32, or None if not requested: distance along the camera's
            view direction at which the opacity reaches 0.5; infinity where it does not. For a
            volume it is the distance of the front of that segment.
        bounds: Columns from and to, rows from and to (ends exclusive), outside of which nothing was
            drawn; None if nothing is inside the picture.
        nan_count: Number of values that are not finite (NaN, infinite, beyond the range of
            float32): pixels of slices and of iso-surfaces coloured by another field, and points of
            this rank's cells in the fields of iso-surfaces and volumes.
        hits: For each layer, number of pixels in which these blocks show it.
        ranges: For each layer, minimum and maximum of the finite values of its field in these
            blocks; None for slices, and where there is no such value.
    """

    image: NDArray[Any]
    depth: NDArray[np.float32] | None
    bounds: Bounds | None
    nan_count: int
    hits: list[int]
    ranges: list[tuple[float, float] | None]


def default_threads() -> int:
    """Return the threads of a rank: cores of this node over its ranks, or `OMP_NUM_THREADS`."""
    if (requested := os.environ.get("OMP_NUM_THREADS", "").split(",")[0]).isdigit() and int(
        requested
    ):
        return int(requested)
    cores = len(os.sched_getaffinity(0))
    if cores < (os.cpu_count() or cores):
        return cores  # the launcher has bound this rank to them
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
    depth: bool | NDArray[np.float32] = False,
    threads: int = 0,
    check: Callable[[], None] | None = None,
) -> Result:
    """Draw the blocks of a scene.

    Args:
        scene: The same on all ranks.
        camera: Camera of the picture.
        width: Columns.
        height: Rows.
        blocks: This rank's, front to back; see `visibility_order`.
        format: Of the image.
        out: Memory for the image, C-contiguous, such as the result of `Compositor.canvas`; all of
            it is written.
        depth: Whether to compute the depth, or memory for it, of shape (height, width).
        threads: Number of threads; `default_threads` if 0.
        check: Called several times a second while the image is drawn; an exception that it raises
            ends the call.

    Raises:
        ValueError: A block lacks a field of the scene or is not part of its domain, or memory has
            the wrong shape, type or layout.
    """
    if format not in _TYPES:
        raise ValueError(f"format is {format!r}; it may be {', '.join(_TYPES)}")
    if width < 1 or height < 1 or threads < 0:
        raise ValueError(
            f"width and height must be positive and threads not negative, not {width} × {height} "
            f"and {threads}"
        )
    image = _memory(out, (height, width, 4), np.dtype(_TYPES[format]), "image")
    depths = None
    if depth is not False:
        given = None if depth is True else depth
        depths = _memory(given, (height, width), np.dtype(np.float32), "depth")
    parts = [(block.core, _field_indices(scene, block)) for block in blocks if not block.empty]
    bounds, nan_count, hits, ranges = _core.raycast.cast(
        scene,
        segment_limits(scene.domain, scene.layers, scene.step),
        camera,
        parts,
        image,
        depths,
        threads or default_threads(),
        check,
    )
    return Result(image, depths, bounds, nan_count, hits, ranges)


def _memory(
    given: NDArray[Any] | None, shape: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> NDArray[Any]:
    if given is None:
        return np.empty(shape, dtype)
    if given.shape != shape or given.dtype != dtype or not given.flags.c_contiguous:
        raise ValueError(
            f"the memory for the {name} must be contiguous, of shape {shape} and type {dtype}, not "
            f"{given.shape} and {given.dtype}"
        )
    return given


def _field_indices(scene: Scene, block: Block) -> list[int]:
    """Return the index in a block of each field of a scene."""
    for name, axis, start, stored in zip(
        "zyx", scene.domain, block.start, block.coordinates, strict=True
    ):
        whole = axis[max(start, 0) : start + len(stored)]
        tolerance = 1e-6 * (axis[-1] - axis[0])
        if len(whole) != len(stored) or not np.allclose(whole, stored, rtol=0, atol=tolerance):
            raise ValueError(
                f"a block's points {start} to {start + len(stored) - 1} along {name} have other "
                "coordinates than in the scene's domain"
            )
    names = list(block.fields)
    for field in scene.fields:
        if field not in names:
            raise ValueError(
                f"a block has no field {field!r}, which the scene needs; it has "
                f"{', '.join(map(repr, names)) or 'none'}"
            )
    return [names.index(field) for field in scene.fields]
