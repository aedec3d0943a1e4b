"""Ray casting of blocks of structured fields, all layers in one pass per ray.

::

    domain = (z, y, x)  # coordinates of the mesh's points, three 1-D arrays
    block = Block(domain, (0, 0, 0), ((0, 0, 0), cells), {"u": u})
    scene = Scene([Isosurface("u", [0.5], color=(1, 0.8, 0.2))], domain)
    picture = cast(scene, camera, 1024, 768, [block]).image  # premultiplied, no background

A picture does not depend on the decomposition of the domain into blocks, if each block has the
ghost layers that `ghost_layers` returns. Images of several ranks are combined by
`uzushio.compositing` in the order of `visibility_order`. A `Layer` is a `Slice`, `Isosurface` or
`Volume`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.raycast.block import Block, cell_centres
    from uzushio.raycast.camera import Camera
    from uzushio.raycast.caster import Result, cast, default_threads
    from uzushio.raycast.ghosts import default_step, ghost_layers
    from uzushio.raycast.layers import (
        ColorTable,
        HalfSpace,
        Isosurface,
        Layer,
        Lighting,
        Scene,
        Slice,
        Transfer,
        Volume,
    )
    from uzushio.raycast.order import rounds, visibility_order

__all__ = [
    "Block",
    "Camera",
    "ColorTable",
    "HalfSpace",
    "Isosurface",
    "Layer",
    "Lighting",
    "Result",
    "Scene",
    "Slice",
    "Transfer",
    "Volume",
    "cast",
    "cell_centres",
    "default_step",
    "default_threads",
    "ghost_layers",
    "rounds",
    "visibility_order",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
