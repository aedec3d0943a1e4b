"""Draw views on 1, 3 and 8 ranks of this job, and compare the pictures."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from mpi4py import MPI

from uzushio.raycast import Block
from uzushio.render import (
    Colors,
    IsosurfaceLayer,
    Renderer,
    SliceLayer,
    View,
    VolumeLayer,
    ghosts,
)

CELLS, SIZE = 24, (160, 120)
LINE = np.linspace(-1.0, 1.0, CELLS + 1)
Z, Y, X = np.meshgrid(LINE, LINE, LINE, indexing="ij")
FIELDS = {
    "u": np.sin(5 * X) * np.cos(4 * Y) * np.sin(3 * Z + 1) + 0.3 * X,
    "q": X**2 + Y**2 + Z**2 + 0.1 * np.sin(9 * X),
}
SURFACE = {"field": "q", "color": Colors(field="u")}
OPAQUE: list[list[Any]] = [
    [SliceLayer(field="u"), SliceLayer(field="q", normal=(1, 1, 0))],
    [IsosurfaceLayer(values=0.6, **SURFACE), SliceLayer(field="u", normal="x")],
]
TRANSLUCENT: list[list[Any]] = [
    [SliceLayer(field="u", opacity=0.5), SliceLayer(field="u", normal="x", opacity=0.5)],
    [IsosurfaceLayer(values=(0.6, 0.3), opacity=0.5, **SURFACE)],
    [VolumeLayer(field="u")],
    [VolumeLayer(field="u", shading=True), SliceLayer(field="u")],
]
#: Largest difference of a pixel, of 255, from the picture of one rank.
LIMITS = {
    ("rgba8", "opaque"): 0,
    ("rgba_float", "opaque"): 0,
    ("rgba8", "translucent"): 2,
    ("rgba_float", "translucent"): 1,
}


def block(comm: MPI.Comm, view: View) -> Block:
    """Return this rank's slab of the cube."""
    begin, end = (CELLS * n // comm.size for n in (comm.rank, comm.rank + 1))
    cells = (begin, 0, 0), (end - begin, CELLS, CELLS)
    below, above = ghosts(view, (LINE,) * 3, cells)
    edges = zip(*cells, below, above, strict=True)
    stored = tuple(slice(first - lo, first + n + 1 + hi) for first, n, lo, hi in edges)
    start = [part.start for part in stored]
    own = {name: values[stored] for name, values in FIELDS.items()}
    return Block([LINE[part] for part in stored], start, cells, own)


def pixels_of(
    comm: MPI.Comm, layers: list[Any], pixels: Literal["rgba8", "rgba_float"]
) -> np.ndarray | None:
    """Return the picture on rank 0."""
    view = View(layers=tuple(layers), size=SIZE)
    with Renderer(comm, *SIZE, pixels=pixels) as renderer:
        picture = renderer.picture(view, [block(comm, view)], (LINE,) * 3)
    return None if picture is None else picture.pixels.astype(int)


world = MPI.COMM_WORLD
parts = {n: world.Split(0 if world.rank < n else MPI.UNDEFINED) for n in (1, 3, 8)}
for (pixels, kind), limit in LIMITS.items():
    for layers in OPAQUE if kind == "opaque" else TRANSLUCENT:
        results = {
            n: pixels_of(comm, layers, pixels)  # type: ignore[arg-type]
            for n, comm in parts.items()
            if comm != MPI.COMM_NULL
        }
        if world.rank == 0:
            for n in (3, 8):
                difference = int(np.abs(results[n] - results[1]).max())
                assert difference <= limit, f"{difference} of 255: {n} ranks, {pixels}, {layers}"
if world.rank == 0:
    print("the pictures of 3 and 8 ranks are that of one rank within the limits")
