"""Fields, cameras and decompositions of a domain, for tests of the ray caster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from uzushio.raycast import (
    Block,
    Camera,
    ColorTable,
    Isosurface,
    Lighting,
    Scene,
    Slice,
    Volume,
    cast,
    ghost_layers,
)

WIDTH, HEIGHT = 45, 35

BLUE_RED = ColorTable(np.array([[0, 0, 1], [1, 1, 1], [1, 0, 0]]), -1, 1)
MEDIUM = np.array([[0.6, 1, 0, 0, 0], [0.8, 0, 1, 0, 0.5], [1, 0, 0, 1, 0]])

CAMERAS = {
    "perspective": Camera((3, 2.5, 2), (0, 0, 0)),
    "below": Camera((-2.5, 0.4, -3), (0, 0.1, 0), view_angle=40),
    "parallel": Camera((3, -2.5, 2), (0, 0, 0), parallel_height=2.5),
    "along an axis": Camera((0, 0, 5), (0, 0, 0), up=(0, 1, 0), parallel_height=2.5),
    "inside": Camera((0.1, 0.2, 0.3), (1, 0, 0), view_angle=70),
}

LAYERS: dict[str, list[Any]] = {
    "surfaces": [Isosurface("r", [0.5, 0.75], color=(1, 0.5, 0), opacity=0.5)],
    "coloured surface": [Isosurface("r", [0.5], colors=BLUE_RED, color_field="g")],
    "slices": [
        Slice("g", (0, 0, 0.1), (0, 0.3, 1), BLUE_RED, opacity=0.7),
        Slice("r", (0.1, 0, 0.1), (1, 0.1, 0), BLUE_RED),
    ],
    "volume": [Volume("r", MEDIUM, unit_distance=0.2)],
    "shaded volume": [Volume("r", MEDIUM, unit_distance=0.2, shading=Lighting())],
    "all": [
        Isosurface("r", [0.5], color=(1, 0.5, 0), opacity=0.5),
        Slice("g", (0, 0, 0), (0, 0, 1), BLUE_RED, opacity=0.5),
        Volume("r", MEDIUM, unit_distance=0.4),
        Volume("g", np.array([[0.2, 0, 1, 1, 0], [0.9, 1, 1, 0, 0.1]]), unit_distance=0.4),
    ],
}

#: Cuts along z, y, x by number of blocks: slabs, pencils and bricks of equal and unequal sizes.
CUTS: dict[int, list[tuple[list[int], list[int], list[int]]]] = {
    2: [([14], [], []), ([], [3], []), ([], [], [17])],
    3: [([2, 15], [], []), ([], [], [1, 11])],
    4: [([14], [9], []), ([1, 2, 4], [], [])],
    6: [([9, 20], [7], []), ([], [10], [5, 20])],
    8: [([14], [10], [12]), ([3, 4, 5, 13, 14, 24, 27], [], []), ([13], [2], [23])],
}


def cube(points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates (z, y, x) from −1 to 1."""
    x = np.linspace(-1, 1, points)
    return x, x, x


def domain(stretched: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coordinates (z, y, x); if stretched, spacings along z differ by a factor of 30."""
    z = np.linspace(-1, 1, 29)
    if stretched:
        z = np.tanh(2.9 * z) / np.tanh(2.9)
        assert np.diff(z).max() > 20 * np.diff(z).min()
    return z, np.linspace(-0.8, 0.8, 21), np.linspace(-1, 1, 25)


def fields(points: Sequence[np.ndarray], dtype: str = "f4") -> dict[str, np.ndarray]:
    """Return `r`, the distance from the origin, and the linear function `g`."""
    Z, Y, X = np.meshgrid(*points, indexing="ij")
    return {"r": np.sqrt(X**2 + Y**2 + Z**2).astype(dtype), "g": (X + 0.3 * Y).astype(dtype)}


def whole_domain(points: Sequence[np.ndarray], values: dict[str, np.ndarray]) -> Block:
    cells = tuple(len(c) - 1 for c in points)
    return Block(points, (0, 0, 0), ((0, 0, 0), cells), values)


def boxes(points: Sequence[np.ndarray], cuts: Sequence[Sequence[int]]) -> list[Any]:
    """Return boxes of cells (start, count) between cuts along z, y, x."""
    ranges = [list(pairwise([0, *cut, len(c) - 1])) for cut, c in zip(cuts, points, strict=True)]
    return [
        ((a, c, e), (b - a, d - c, f - e))
        for a, b in ranges[0]
        for c, d in ranges[1]
        for e, f in ranges[2]
    ]


def block_of(scene: Scene, box: Any, values: dict[str, np.ndarray]) -> Block:
    """Return the block of a box with the minimum of ghost layers."""
    below, above = ghost_layers(scene.domain, box, scene.layers, scene.step)
    stored = tuple(
        slice(s - lo, s + n + 1 + hi) for s, n, lo, hi in zip(*box, below, above, strict=True)
    )
    points = [c[s] for c, s in zip(scene.domain, stored, strict=True)]
    start = tuple(s.start for s in stored)
    return Block(points, start, box, {name: v[stored] for name, v in values.items()})


def draw(scene: Scene, camera: Camera, *blocks: Block, side: int = 0, **options: Any) -> Any:
    """Return a picture by one thread, of `side`² pixels or else of WIDTH × HEIGHT."""
    options.setdefault("format", "rgba_float")
    return cast(scene, camera, side or WIDTH, side or HEIGHT, blocks, threads=1, **options)
