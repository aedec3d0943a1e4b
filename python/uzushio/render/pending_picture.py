"""Picture between its submission and its end: images of its rounds, counts, notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.render.annotate import Annotator, Caption
from uzushio.render.background import averaged
from uzushio.render.bodies import BodySlice, BodySurface
from uzushio.render.cameras import flat_axis
from uzushio.render.limits import EMPTY_RANGE, Range
from uzushio.render.picture import Picture
from uzushio.render.picture_sections import PictureSections
from uzushio.render.ticks import number as formatted
from uzushio.render.value_factors import Factors
from uzushio.render.view import IsosurfaceLayer, SliceLayer, VolumeLayer


@dataclasses.dataclass
class PendingPicture:
    """Picture between `submit` and `finish`."""

    caption: Caption
    rounds_left: int
    nan_count: int = 0
    hits: dict[int, int] = dataclasses.field(default_factory=dict)
    factors: Factors = dataclasses.field(default_factory=dict)
    ranges: dict[int, Range] = dataclasses.field(default_factory=dict)
    sections: PictureSections = dataclasses.field(default_factory=PictureSections)
    image: NDArray[Any] | None = None  # of the rounds so far, at the root

    def add_range(self, number: int, value_range: Range) -> None:
        """Add the range of a layer's scaled values."""
        field = self.caption.view.layers[number].field  # type: ignore[union-attr]
        factor, before = self.factors.get(field, 1.0), self.ranges.get(number, EMPTY_RANGE)
        self.ranges[number] = (
            min(before[0], value_range[0] / factor),
            max(before[1], value_range[1] / factor),
        )


def finished_picture(pending: PendingPicture, annotator: Annotator, samples: int) -> Picture:
    """Return the finished picture, at the root.

    Args:
        pending: picture with its image, None if nothing was drawn.
        annotator: annotator of pictures of this size.
        samples: samples along each side of a pixel of the image.
    """
    caption = pending.caption
    caption.nan = pending.nan_count > 0
    for n, scale in caption.scales.items():  # ranges of volumes come from the ray caster
        if isinstance(caption.view.layers[n], VolumeLayer) and n in pending.ranges:
            caption.scales[n] = dataclasses.replace(scale, values=pending.ranges[n])
    with pending.sections.section("annotate"):
        image = None if pending.image is None else averaged(pending.image, samples)
        pixels = annotator.annotated(image, caption)
    return Picture(
        pixels,
        caption.step,
        caption.time,
        caption.limits(),
        pending.nan_count,
        tuple(_notes(pending)),
        pending.sections.seconds(),
        caption.camera,
        is_blank(image),
    )


def is_blank(image: NDArray[Any] | None) -> bool:
    """Return whether no pixel of a premultiplied image is covered; shape (height, width, 4)."""
    return image is None or not image[..., 3].any()


def over(front: NDArray[Any], behind: NDArray[Any]) -> NDArray[Any]:
    """Blend a premultiplied image over another one; shapes (height, width, 4)."""
    if front.dtype != np.uint8:
        return np.asarray(front + behind * (1 - front[..., 3:]))
    result: NDArray[Any] = behind.astype(np.uint16)
    result *= (255 - front[..., 3:]).astype(np.uint16)
    result += 128
    result = (result + (result >> 8)) >> 8
    result += front
    return np.asarray(np.minimum(result, 255), np.uint8)


def slice_note(field: str) -> str:
    """Return the note on a slice that is not visible."""
    return f"The slice of {field} lies outside of the mesh, or has no values."


def scale_notes(caption: Caption) -> Iterator[str]:
    """Yield notes on values without a place on a logarithmic scale."""
    for scale in caption.scales.values():
        lo, hi = scale.values
        if scale.colors.scale == "log" and lo <= min(0.0, hi):
            colour = "the colour below the limits" if scale.colors.below else "the lowest colour"
            yield (
                f"Values of {scale.field} that are not above 0 have no place on its logarithmic "
                f"scale, and are drawn in {colour}."
            )


def _notes(pending: PendingPicture) -> Iterator[str]:
    """Yield notes on layers that are not visible, and on values without a colour."""
    yield from scale_notes(pending.caption)
    flat = flat_axis(pending.caption.bounds) is not None
    for n, layer in enumerate(pending.caption.view.layers):
        if isinstance(layer, BodySlice | BodySurface):
            continue
        if isinstance(layer, SliceLayer) and pending.caption.scales[n].values == EMPTY_RANGE:
            if not pending.nan_count:
                yield slice_note(layer.field)
            continue
        if isinstance(layer, VolumeLayer) and flat:
            yield f"The mesh is flat, which hides a volume of {layer.field}: draw a slice."
        if not isinstance(layer, IsosurfaceLayer) or pending.hits.get(n, 0):
            continue
        lo, hi = pending.ranges.get(n, EMPTY_RANGE)
        values = ", ".join(formatted(value) for value in layer.values)
        if not lo <= hi:
            yield f"There is no surface of {layer.field} = {values}: it has no values."
        elif all(not lo <= value <= hi for value in layer.values):
            yield (
                f"There is no surface of {layer.field} = {values}: it lies between "
                f"{formatted(lo)} and {formatted(hi)}."
            )
        else:
            advice = " The mesh is flat: draw a slice, with `levels` for lines." if flat else ""
            yield f"No surface of {layer.field} = {values} is inside of the picture.{advice}"
