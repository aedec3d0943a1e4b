"""Annotation of pictures: text, legends and axes, and the margins for them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.domain.axes import Bounds
from uzushio.raycast import Camera
from uzushio.render import axes, legend, marks, triad
from uzushio.render.background import on_background, plain
from uzushio.render.bodies import BodySlice, BodySurface
from uzushio.render.cameras import Rectangle
from uzushio.render.casting import ColorScale
from uzushio.render.legend import ColorBar, ColorPatch, LegendEntry
from uzushio.render.marks import Mark
from uzushio.render.outline import Strokes, edges, strokes
from uzushio.render.typeface import Typeface, typeset
from uzushio.render.view import IsosurfaceLayer, View

#: Distance of annotation from the picture's edge, in heights of letters.
MARGIN = 1.2
HEADLINE = 1.25  # height of the title's letters
ABOVE = 1.4  # height of the title below the margin


@dataclass
class Caption:
    """Data for the annotation of a picture.

    Attributes:
        view: The view.
        bounds: Of the domain along x, y and z.
        time: Time of the step.
        step: Its number.
        units: Of fields by name.
        labels: Labels of fields in legends, by name, where the view has none.
        scales: Colour scales of the layers, by index in the view.
        camera: The camera; set when the scales are known.
        nan: Whether values that are not finite were drawn.
    """

    view: View
    bounds: Bounds
    time: float = 0.0
    step: int = 0
    units: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    scales: dict[int, ColorScale] = field(default_factory=dict)
    camera: Camera = field(init=False)
    nan: bool = False

    def entries(self) -> list[LegendEntry]:
        """Return the legends, each once, in the order of the layers."""
        entries: list[LegendEntry] = []
        for number, layer in enumerate(self.view.layers):
            scale = self.scales.get(number)
            if isinstance(layer, BodySlice | BodySurface):
                if scale is None or scale.values[0] < 0.5:
                    entries.append(ColorPatch(*layer.legend))
            elif scale is not None:
                if scale.colors.legend and scale.known:
                    entries.append(self._bar(scale))
                elif scale.colors.legend:
                    text = f"{self._label(scale)}: no values"
                    entries.append(ColorPatch(text, "", (), scale.colors.nan))
            elif isinstance(layer, IsosurfaceLayer) and isinstance(layer.color, str):
                unit = self.units.get(layer.field, "")
                label = self.labels.get(layer.field, layer.field)
                entries.append(ColorPatch(label, unit, layer.values, layer.color))
        if self.nan:
            colors = [s.colors.nan for s in self.scales.values() if s.colors.nan != "none"]
            entries += [ColorPatch("not finite", "", (), color) for color in dict.fromkeys(colors)]
        return list(dict.fromkeys(entries))

    def limits(self) -> dict[str, tuple[float, float]]:
        """Return the limits of the colours by label."""
        return {
            self._label(scale): scale.limits
            for number, scale in self.scales.items()
            if scale.known and not isinstance(self.view.layers[number], BodySlice)
        }

    def _label(self, scale: ColorScale) -> str:
        return scale.colors.label or self.labels.get(scale.field, scale.field)

    def _bar(self, scale: ColorScale) -> ColorBar:
        lo, hi = scale.limits
        slack = 1e-3 * (hi - lo)
        pointed = scale.values[0] < lo - slack, scale.values[1] > hi + slack
        colors = scale.colors
        unit = self.units.get(scale.field, "") if colors.unit is None else colors.unit
        return ColorBar(self._label(scale), unit, colors, scale.limits, pointed)


@dataclass(frozen=True)
class _PaintedBackground:
    """Background with the marks that are the same in successive pictures.

    Attributes:
        pixels: The background with the marks painted on it.
        places: Indices of the pixels that they touch.
        crossed: Whether edges of the domain cross them.
    """

    pixels: NDArray[np.uint8]
    places: NDArray[np.int64]
    crossed: bool

    @staticmethod
    def of(
        constant: list[Mark], behind: NDArray[np.uint8], before: Strokes | None
    ) -> _PaintedBackground:
        """Paint marks on a background."""
        pixels = behind.copy()
        marks.paint(pixels, constant)
        touched = np.zeros((*behind.shape[:2], 3), np.uint8)
        full = np.full(3, 255, np.uint8)
        marks.paint(
            touched,
            [m._replace(coverage=(m.coverage > 0) * np.uint8(255), color=full) for m in constant],
        )
        places = np.flatnonzero(touched[..., 0])
        crossed = before is not None and bool(np.isin(before.places, places).any())
        return _PaintedBackground(pixels, places, crossed)


def letter_height(view: View, width: int = 0, height: int = 0) -> int:
    """Return the height of letters in pixels in a picture of this size, the view's if not given."""
    if view.text_size is not None:
        return max(1, round(view.text_size))
    columns, rows = width or view.size[0], height or view.size[1]
    return round(min(max(9.0, min(rows / 42, columns / 50)), 64.0))


class Annotator:
    """Annotation of pictures of one size, with a cache of marks that do not change."""

    def __init__(self, width: int, height: int) -> None:
        self._picture = Rectangle(0, width, 0, height)
        self._faces = lru_cache(maxsize=4)(Typeface)
        self._camera_cache: tuple[Any, list[Mark]] = (None, [])
        self._legend_cache: tuple[Any, list[Mark]] = (None, [])
        self._edge_cache: tuple[Any, NDArray[np.uint8] | None, Strokes | None] = (None, None, None)
        self._painted_cache: tuple[Any, _PaintedBackground | None] = (None, None)
        self._silhouette_cache: tuple[Any, marks.Silhouette | None] = (None, None)

    def em(self, view: View) -> int:
        """Return the height of letters in pixels."""
        return letter_height(view, round(self._picture.width), round(self._picture.height))

    def camera(self, caption: Caption) -> Camera:
        """Return the camera that leaves room for the annotation; the same on all ranks."""
        view = caption.view
        inside = self.domain_rectangle(view, caption.entries() if view.legend else [])
        width, height = round(self._picture.width), round(self._picture.height)
        return view.camera.camera(caption.bounds, width, height, inside)

    def domain_rectangle(self, view: View, entries: list[LegendEntry]) -> Rectangle:
        """Return the part of the picture for the domain, free of annotation.

        It is the same on all ranks, because it does not depend on the font.
        """
        em = self.em(view)
        left = right = top = bottom = MARGIN * em
        if view.axes:
            left, right, top, bottom = (em * (0.4 + room) for room in axes.MARGINS)
        if view.title or view.time_stamp:
            top = max(top, (MARGIN + ABOVE + 0.8) * em)
        column = legend.column_width(entries, em) if view.legend else 0.0
        if column:
            right += column + (MARGIN - 0.4) * em
        elif view.orientation:
            left = max(left, (2 * triad.RADIUS) * em)
        width, height = self._picture.width, self._picture.height
        # In a very small picture the domain may lie under the annotation.
        if width - left - right < 0.3 * width:
            left = right = 0.02 * width
        if height - top - bottom < 0.3 * height:
            top = bottom = 0.02 * height
        return Rectangle(left, width - right, top, height - bottom)

    def annotated(self, image: NDArray[Any] | None, caption: Caption) -> NDArray[np.uint8]:
        """Return the picture: background, image, the domain's edges and annotation.

        Args:
            image: Bytes or floats, premultiplied; shape (height, width, 4). None: empty.
            caption: Data for the annotation.
        """
        key = caption.view, caption.camera, caption.bounds
        if self._edge_cache[0] != key:
            self._edge_cache = (key, *self._edges(caption))
        _, behind, before = self._edge_cache
        assert behind is not None
        constant = self._constant_marks(caption)
        ground = self._painted_background(constant, behind, before)
        # Constant marks are part of the background, unless the image covers them.
        ready = (
            ground is not None
            and not ground.crossed
            and (image is None or not image[..., 3].reshape(-1)[ground.places].any())
        )
        pixels = on_background(image, ground.pixels if ground is not None and ready else behind)
        if before is not None:
            before.paint(pixels)
        if not ready:
            marks.paint(pixels, constant)
        marks.paint(pixels, self._headline(caption, self._faces(caption.view.font)))
        return pixels

    def _painted_background(
        self, constant: list[Mark], behind: NDArray[np.uint8], before: Strokes | None
    ) -> _PaintedBackground | None:
        """Return the background with the constant marks; None if they are new.

        A moving camera changes them with each picture, so they are painted here only when they are
        the same a second time.
        """
        key = self._camera_cache[0], self._legend_cache[0]
        if self._painted_cache[0] != key:
            self._painted_cache = key, None
            return None
        ground = self._painted_cache[1]
        if ground is None:
            ground = _PaintedBackground.of(constant, behind, before)
            self._painted_cache = key, ground
        return ground

    def _constant_marks(self, caption: Caption) -> list[Mark]:
        """Return the marks that do not change as long as camera and colours do not."""
        view = caption.view
        face: Typeface = self._faces(view.font)
        entries = caption.entries() if view.legend else []
        column = legend.column_width(entries, self.em(view))
        still = view, caption.camera, caption.bounds, column
        if self._camera_cache[0] != still:
            self._camera_cache = still, self._camera_marks(caption, entries, face)
        place = self._column(view, entries)
        legends = tuple(entries), place, self.em(view), view.ink, view.font
        if self._legend_cache[0] != legends:
            drawn = legend.draw(entries, place, self.em(view), view.ink, face) if entries else []
            self._legend_cache = legends, drawn
        drawn = self._legend_cache[1]
        behind = self._behind_legends(caption, drawn, place) if drawn else []
        return [*self._camera_cache[1], *behind, *drawn]

    def draw(self, pixels: NDArray[np.uint8], caption: Caption) -> None:
        """Annotate a picture of shape (height, width, 3)."""
        marks.paint(pixels, self._constant_marks(caption))
        marks.paint(pixels, self._headline(caption, self._faces(caption.view.font)))

    def _edges(self, caption: Caption) -> tuple[NDArray[np.uint8], Strokes | None]:
        """Return the background with the domain's edges at the back, and the edges in front."""
        view, width, height = caption.view, round(self._picture.width), round(self._picture.height)
        behind = plain(view.background, width, height).copy()
        if not view.outline:
            return behind, None
        color = marks.shade(view.ink)
        thick = max(1.0, self.em(view) / 14)
        back, front = edges(caption.camera, caption.bounds, width, height)
        strokes(back, thick, color, 0.45, width, height).paint(behind)
        return behind, strokes(front, thick, color, 0.7, width, height)

    def _column(self, view: View, entries: list[LegendEntry]) -> Rectangle:
        """Return the rectangle of the legends."""
        em = self.em(view)
        right = self._picture.right - MARGIN * em
        top = (MARGIN + (ABOVE + 0.8 if view.title or view.time_stamp else 0.0)) * em
        bottom = self._picture.bottom - MARGIN * em
        if view.orientation:
            bottom -= 2 * triad.RADIUS * em
        return Rectangle(right - legend.column_width(entries, em), right, top, bottom)

    def _camera_marks(
        self, caption: Caption, entries: list[LegendEntry], face: Typeface
    ) -> list[Mark]:
        """Return axes and orientation, which depend on the camera only."""
        view, em = caption.view, self.em(caption.view)
        camera_marks: list[Mark] = []
        occupied: list[Rectangle] = []
        if entries:
            occupied.append(self._column(view, entries))
        if view.title or view.time_stamp:
            high = (MARGIN + ABOVE) * em
            occupied.append(Rectangle(0, self._picture.right, 0, high))
        if view.orientation:
            room = triad.RADIUS * em
            x = self._picture.right - room if entries else room
            y = self._picture.bottom - room
            camera_marks += triad.draw(caption.camera, (x, y), view.axis_names, em, face)
            occupied.append(Rectangle(x - room, x + room, y - room, y + room))
        if view.axes:
            unit = f"[{view.length_unit}]" if view.length_unit else ""
            camera_marks += axes.draw(
                caption.camera,
                caption.bounds,
                view.axis_names,
                unit,
                self._picture,
                em,
                view.ink,
                view.paper,
                face,
                occupied,
            )
        return camera_marks

    def _behind_legends(self, caption: Caption, drawn: list[Mark], column: Rectangle) -> list[Mark]:
        """Return a background of the legends, if the domain extends behind them."""
        if not self._silhouette(caption).meets(column):
            return []
        rim = 0.6 * self.em(caption.view)
        inked = [mark.rectangle for mark in drawn]
        ground = Rectangle(
            min(r.left for r in inked) - rim,
            max(r.right for r in inked) + rim,
            min(r.top for r in inked) - rim,
            max(r.bottom for r in inked) + rim,
        )
        paper = marks.shade(caption.view.paper)
        return [marks.box(ground, paper, 0.8)]

    def _silhouette(self, caption: Caption) -> marks.Silhouette:
        """Return the silhouette of the domain in the picture."""
        key = caption.camera, caption.bounds
        if self._silhouette_cache[0] != key or self._silhouette_cache[1] is None:
            width, height = round(self._picture.width), round(self._picture.height)
            corners = list(itertools.product(*caption.bounds))
            self._silhouette_cache = (
                key,
                marks.Silhouette(caption.camera.project(corners, width, height)[:, :2]),
            )
        silhouette = self._silhouette_cache[1]
        assert silhouette is not None
        return silhouette

    def _headline(self, caption: Caption, face: Typeface) -> list[Mark]:
        """Return the title at the left and the time stamp at the right."""
        view, em = caption.view, self.em(caption.view)
        color = marks.shade(view.ink)
        rim = marks.shade(view.paper)
        baseline = (MARGIN + 1.0) * em
        end = self._picture.right - MARGIN * em
        headline: list[Mark] = []
        if view.time_stamp:
            words = typeset(view.time_stamp.format(time=caption.time, step=caption.step))
            mask = face.mask(words, em)
            # All digits have the same width, so the time stamp does not move.
            end -= mask.advance
            headline.append(marks.text_on_baseline(mask, end, baseline, color))
            end -= 2 * em
        if view.title:
            size = round(HEADLINE * em)
            words = typeset(view.title.format(time=caption.time, step=caption.step))
            lines = face.wrapped(words, size, end - MARGIN * em, 1)
            for line in lines:
                mask = face.mask(line, size)
                headline.append(marks.text_on_baseline(mask, MARGIN * em, baseline, color))
        covered = self._silhouette(caption)
        radius = max(1, round(0.12 * em))
        rims = [marks.halo(m, rim, radius) for m in headline if covered.meets(m.rectangle)]
        return [*rims, *headline]
