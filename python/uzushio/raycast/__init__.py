"""Ray casting of blocks of structured fields, all layers in one pass per ray.

::

    domain = (z, y, x)  # coordinates of the mesh's points, three 1-D arrays
    block = Block(domain, (0, 0, 0), ((0, 0, 0), cells), {"u": u})
    scene = Scene([Isosurface("u", [0.5], color=(1, 0.8, 0.2))], domain)
    picture = cast(scene, camera, 1024, 768, [block]).image  # premultiplied, no background

A picture depends on the decomposition of the domain into blocks by rounding only, if each block has
the ghost layers that `ghost_layers` returns. Images of several ranks are combined by
`uzushio.compositing` in the order of `visibility_order`. A `Layer` is a `Slice`, `Isosurface` or
`Volume`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.raycast.block import Block as Block
    from uzushio.raycast.block import cell_centres as cell_centres
    from uzushio.raycast.camera import Camera as Camera
    from uzushio.raycast.caster import Result as Result
    from uzushio.raycast.caster import cast as cast
    from uzushio.raycast.caster import default_threads as default_threads
    from uzushio.raycast.ghosts import default_step as default_step
    from uzushio.raycast.ghosts import ghost_layers as ghost_layers
    from uzushio.raycast.layers import ColorTable as ColorTable
    from uzushio.raycast.layers import HalfSpace as HalfSpace
    from uzushio.raycast.layers import Isosurface as Isosurface
    from uzushio.raycast.layers import Layer as Layer
    from uzushio.raycast.layers import Lighting as Lighting
    from uzushio.raycast.layers import Scene as Scene
    from uzushio.raycast.layers import Slice as Slice
    from uzushio.raycast.layers import Transfer as Transfer
    from uzushio.raycast.layers import Volume as Volume
    from uzushio.raycast.order import rounds as rounds
    from uzushio.raycast.order import visibility_order as visibility_order
else:
    __getattr__, __dir__ = lazy.names(__name__)
