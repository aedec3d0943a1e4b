"""Actions `slice`, `isosurface` and `volume`: pictures of one layer, without a named view.

The section `view` holds the keys of a view except its layers: camera, size, title, ….
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from uzushio._base.config.section import Section
from uzushio.pipeline.actions.picture import PictureFiles, ViewAction
from uzushio.pipeline.result_files import plain_name
from uzushio.render.view import IsosurfaceLayer, SliceLayer, View, VolumeLayer


class ViewWithoutLayers(View):
    """View without its layers."""

    layers: tuple[()] = ()


class SliceSettings(SliceLayer, PictureFiles):
    """Slice layer, other keys of its view, and files."""

    view: ViewWithoutLayers = Field(
        default_factory=ViewWithoutLayers, description="camera, size, title, …"
    )


class IsosurfaceSettings(IsosurfaceLayer, PictureFiles):
    """Isosurface layer, other keys of its view, and files."""

    view: ViewWithoutLayers = Field(
        default_factory=ViewWithoutLayers, description="camera, size, title, …"
    )


class VolumeSettings(VolumeLayer, PictureFiles):
    """Volume layer, other keys of its view, and files."""

    view: ViewWithoutLayers = Field(
        default_factory=ViewWithoutLayers, description="camera, size, title, …"
    )


class LayerAction(ViewAction):
    """Picture of one layer."""

    layer_model: ClassVar[type[Section]]

    def view(self) -> View:
        """Return the view with this layer."""
        own = {name: getattr(self.settings, name) for name in self.layer_model.model_fields}
        base = self.settings.view
        given = {name: getattr(base, name) for name in base.model_fields_set}
        return View.model_validate(given | {"layers": (self.layer_model.model_validate(own),)})

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """Return kind and field."""
        return plain_name(f"{settings.kind}_{settings.field}")


class Slice(LayerAction):
    """Picture of a slice."""

    settings_model: ClassVar[type[Section]] = SliceSettings
    layer_model: ClassVar[type[Section]] = SliceLayer


class Isosurface(LayerAction):
    """Picture of isosurfaces."""

    settings_model: ClassVar[type[Section]] = IsosurfaceSettings
    layer_model: ClassVar[type[Section]] = IsosurfaceLayer


class Volume(LayerAction):
    """Picture of a volume."""

    settings_model: ClassVar[type[Section]] = VolumeSettings
    layer_model: ClassVar[type[Section]] = VolumeLayer
