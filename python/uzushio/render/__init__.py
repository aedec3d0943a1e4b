"""Pictures of fields that lie on many ranks.

::

    view = View(
        layers=[IsosurfaceLayer(field="q", values=20, color=Colors(field="u"))], camera="isometric"
    )
    with Renderer(comm, *view.size) as renderer, Movie("q.mp4") as movie:
        for step in steps:
            picture = renderer.picture(view, blocks, domain, time=step.time)
            if picture is not None:  # at the root
                picture.save(f"q{step.index:06d}.png")
                movie.write(picture)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uzushio.render.cameras import NAMED as CAMERAS
    from uzushio.render.cameras import Viewpoint
    from uzushio.render.casting import ghosts
    from uzushio.render.colors import Colors
    from uzushio.render.mesh_renderer import MeshRenderer
    from uzushio.render.movie import Movie
    from uzushio.render.picture import Picture, save_png
    from uzushio.render.renderer import Renderer
    from uzushio.render.view import IsosurfaceLayer, MeshLayer, SliceLayer, View, VolumeLayer

_HOMES = {
    "CAMERAS": "cameras",
    "Viewpoint": "cameras",
    "Colors": "colors",
    "ghosts": "casting",
    "MeshRenderer": "mesh_renderer",
    "Movie": "movie",
    "Picture": "picture",
    "save_png": "picture",
    "Renderer": "renderer",
    "IsosurfaceLayer": "view",
    "MeshLayer": "view",
    "SliceLayer": "view",
    "View": "view",
    "VolumeLayer": "view",
}

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
    "ghosts",
    "save_png",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"uzushio.render.{_HOMES[name]}")
    return getattr(module, "NAMED" if name == "CAMERAS" else name)
