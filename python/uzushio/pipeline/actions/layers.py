"""Actions `slice`, `isosurface` and `volume`: pictures of one layer, without a view of their own.

What a view has besides its layers (camera, size, title, …) stands in the section `view`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from uzushio.config.section import Section
from uzushio.pipeline.actions.picture import Files, ShowsView
from uzushio.pipeline.result_files import plain_name
from uzushio.render.view import IsosurfaceLayer, SliceLayer, View, VolumeLayer


class Around(View):
    """A view without its layers."""

    layers: tuple[()] = ()


class SliceSettings(SliceLayer, Files):
    """A slice, what is around it, and where to."""

    view: Around = Field(default_factory=Around, description="camera, size, title, …")


class IsosurfaceSettings(IsosurfaceLayer, Files):
    """Surfaces, what is around them, and where to."""

    view: Around = Field(default_factory=Around, description="camera, size, title, …")


class VolumeSettings(VolumeLayer, Files):
    """A volume, what is around it, and where to."""

    view: Around = Field(default_factory=Around, description="camera, size, title, …")


class OneLayer(ShowsView):
    """A picture of one layer."""

    layer_model: ClassVar[type[Section]]

    def view(self) -> View:
        """The layer, and what is around it."""
        own = {name: getattr(self.settings, name) for name in self.layer_model.model_fields}
        around = self.settings.view
        given = {name: getattr(around, name) for name in around.model_fields_set}
        return View.model_validate(given | {"layers": (self.layer_model.model_validate(own),)})

    @classmethod
    def default_name(cls, settings: Any) -> str:
        """Kind and field."""
        return plain_name(f"{settings.kind}_{settings.field}")


class Slice(OneLayer):
    """A picture of a slice."""

    settings_model: ClassVar[type[Section]] = SliceSettings
    layer_model: ClassVar[type[Section]] = SliceLayer


class Isosurface(OneLayer):
    """A picture of surfaces."""

    settings_model: ClassVar[type[Section]] = IsosurfaceSettings
    layer_model: ClassVar[type[Section]] = IsosurfaceLayer


class Volume(OneLayer):
    """A picture of a volume."""

    settings_model: ClassVar[type[Section]] = VolumeSettings
    layer_model: ClassVar[type[Section]] = VolumeLayer
