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

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.render.arrays import draw as draw
    from uzushio.render.cameras import CAMERAS as CAMERAS
    from uzushio.render.cameras import Viewpoint as Viewpoint
    from uzushio.render.casting import ghosts as ghosts
    from uzushio.render.colors import Colors as Colors
    from uzushio.render.mesh_renderer import MeshRenderer as MeshRenderer
    from uzushio.render.movie import Movie as Movie
    from uzushio.render.picture import Picture as Picture
    from uzushio.render.picture import save_png as save_png
    from uzushio.render.renderer import Renderer as Renderer
    from uzushio.render.view import IsosurfaceLayer as IsosurfaceLayer
    from uzushio.render.view import MeshLayer as MeshLayer
    from uzushio.render.view import SliceLayer as SliceLayer
    from uzushio.render.view import View as View
    from uzushio.render.view import VolumeLayer as VolumeLayer
else:
    __getattr__, __dir__ = lazy.names(__name__)
