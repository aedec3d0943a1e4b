"""Pictures of fields: of arrays in one process, or of blocks on many ranks.

Arrays of NumPy or xarray, without MPI; a notebook displays the picture::

    draw({"u": u}, SliceLayer(field="u", normal="y"), coordinates=(z, y, x)).save("u.png")

On many ranks::

    view = View(
        layers=[IsosurfaceLayer(field="q", values=20, color=Colors(field="u"))], camera="isometric"
    )
    with Renderer(comm, *view.size) as renderer, Movie("q.mp4") as movie:
        for step in steps:
            picture = renderer.picture(view, blocks, domain, time=step.time)
            if picture is not None:  # at the root
                picture.save(f"q{step.index:06d}.png")
                movie.write(picture)

`CAMERAS` maps names of cameras to the direction from the domain to the camera, and up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio import lazy

if TYPE_CHECKING:
    from uzushio.render.arrays import draw
    from uzushio.render.cameras import NAMED as CAMERAS
    from uzushio.render.cameras import Viewpoint
    from uzushio.render.casting import ghosts
    from uzushio.render.colors import Colors
    from uzushio.render.mesh_renderer import MeshRenderer
    from uzushio.render.movie import Movie
    from uzushio.render.picture import Picture, save_png
    from uzushio.render.renderer import Renderer
    from uzushio.render.view import IsosurfaceLayer, MeshLayer, SliceLayer, View, VolumeLayer

# For type checkers, as `CAMERAS` has another name in its module.
__all__ = [
    "CAMERAS",
    "Colors",
    "IsosurfaceLayer",
    "MeshLayer",
    "MeshRenderer",
    "Movie",
    "Picture",
    "Renderer",
    "SliceLayer",
    "View",
    "Viewpoint",
    "VolumeLayer",
    "draw",
    "ghosts",
    "save_png",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
