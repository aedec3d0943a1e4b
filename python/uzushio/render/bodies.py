"""Bodies in pictures: where a field that is 1 in the fluid and 0 in bodies is below 0.5."""

from __future__ import annotations

from collections.abc import Collection

from uzushio.render.colors import Colors
from uzushio.render.view import IsosurfaceLayer, Layer, SliceLayer, View

#: Colour of bodies, and of their rims in slices of fields that have values in them.
BODY, RIM = "#b0b0b0", "#303030"
_INSIDE = Colors(map=(BODY, BODY), limits=(-1.0, 0.5), above="none", nan="none")
_RIM = Colors(map=(RIM, RIM), limits=(0.3, 0.7), below="none", above="none", nan="none")


class BodySlice(SliceLayer):
    """Bodies in the plane of a slice, or their rims; transparent in the fluid."""

    @property
    def legend(self) -> tuple[str, str, tuple[float, ...], str]:
        """Text, unit, values and colour of the entry in the legend."""
        return ("rims of bodies", "", (), RIM) if self.color is _RIM else ("bodies", "", (), BODY)


class BodySurface(IsosurfaceLayer):
    """Surfaces of bodies."""

    @property
    def legend(self) -> tuple[str, str, tuple[float, ...], str]:
        """Text, unit, values and colour of the entry in the legend."""
        return "bodies", "", (), BODY


def with_bodies(view: View, mask: str, conducted: Collection[str] = ()) -> View:
    """Return a view with layers of its bodies: in its slices, and surfaces beside other layers.

    Args:
        view: the view, without layers of meshes.
        mask: field that is 1 in the fluid and 0 in bodies.
        conducted: fields that have values in bodies, which slices show, with a rim.
    """
    layers: list[Layer] = []
    for layer in view.layers:
        if isinstance(layer, SliceLayer) and layer.field != mask:
            plane = {"normal": layer.normal, "at": layer.at, "origin": layer.origin}
            colors = _RIM if layer.field in conducted else _INSIDE
            more = {"opacity": layer.opacity, "clipped": layer.clipped}
            # Of surfaces in one plane the first layer is in front.
            layers.append(BodySlice(field=mask, color=colors, **plane, **more))
        layers.append(layer)
    others = [layer.field for layer in view.layers if not isinstance(layer, SliceLayer)]  # type: ignore[union-attr]
    if others and mask not in others:
        layers.append(BodySurface(field=mask, values=(0.5,), color=BODY))
    return view.model_copy(update={"layers": tuple(layers)})
