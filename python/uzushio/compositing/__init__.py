"""Sort-last compositing: every rank has an image of the whole view, together they are the picture.

::

    compositor = Compositor(comm, width=1024, height=768)
    for camera in cameras:
        image = compositor.canvas()  # (height, width, 4): draw into it
        draw(camera, image)
        compositor.set_order(front_to_back(camera))
        compositor.submit()
        picture = compositor.finish()  # at the root: (height, width, 4)

Colours are premultiplied by opacity. `algorithms()` lists what `algorithm=` takes, besides
``hybrid(ALGORITHM)``, by which ranks of a node composite in shared memory first, and ``auto``.
`DEPTH_PIXEL` is the dtype of a pixel with a depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.compositing.compositor import (
        DEPTH_PIXEL,
        Compositor,
        Machine,
        Tile,
        algorithms,
        visibility_order,
    )

__all__ = ["DEPTH_PIXEL", "Compositor", "Machine", "Tile", "algorithms", "visibility_order"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__, dict.fromkeys(__all__, "compositor"))
