"""Sort-last compositing: the ranks' images of the whole view are composited to one picture.

::

    compositor = Compositor(comm, width=1024, height=768)
    for camera in cameras:
        image = compositor.canvas()  # (height, width, 4): draw into it
        draw(camera, image)
        compositor.set_order(front_to_back(camera))
        compositor.submit()
        picture = compositor.finish()  # at the root: (height, width, 4)

Colours are premultiplied by opacity. `algorithm=` is one of `algorithms()`, ``hybrid(ALGORITHM)``,
where the ranks of a node composite in shared memory first, or ``auto``. `DEPTH_PIXEL` is the dtype
of a pixel with a depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.compositing.compositor import DEPTH_PIXEL as DEPTH_PIXEL
    from uzushio.compositing.compositor import Compositor as Compositor
    from uzushio.compositing.compositor import MachineRates as MachineRates
    from uzushio.compositing.compositor import Tile as Tile
    from uzushio.compositing.compositor import algorithms as algorithms
    from uzushio.compositing.compositor import visibility_order as visibility_order
else:
    __getattr__, __dir__ = lazy.names(__name__)
