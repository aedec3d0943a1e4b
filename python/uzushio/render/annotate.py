"""What is written on a picture, and the room that is kept for it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uzushio.raycast import Camera
from uzushio.render import axes, legend, marks, triad
from uzushio.render.background import on_background, plain
from uzushio.render.cameras import Rectangle
from uzushio.render.casting import Bounds, Scale
from uzushio.render.legend import Bar, Entry, Patch
from uzushio.render.marks import Mark
from uzushio.render.outline import Strokes, edges, strokes
from uzushio.render.typeface import Typeface, typeset
from uzushio.render.view import IsosurfaceLayer, View

#: Heights of letters between the picture's edge and what is written.
MARGIN = 1.2
HEADLINE = 1.25  # height of the title's letters
ABOVE = 1.4  # how far the title reaches down from the margin


@dataclass
class Caption:
    """What there is to say about a picture.

    Attributes:
        view: What is shown.
        bounds: Of the domain along x, y and z.
        time: Of the step.
        step: Its number.
        units: Of fields by name.
        labels: What legends call fields, by name, where the view does not say.
        scales: Of the coloured layers, by their number in the view.
        camera: From where; set when the scales are known.
        nan: Whether values that are not finite were drawn.
    """

    view: View
    bounds: Bounds
    time: float = 0.0
    step: int = 0
    units: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    scales: dict[int, Scale] = field(default_factory=dict)
    camera: Camera = field(init=False)
    nan: bool = False

    def entries(self) -> list[Entry]:
        """The legends, each once, in the order of the layers."""
        found: list[Entry] = []
        for number, layer in enumerate(self.view.layers):
            if number in self.scales and self.scales[number].colors.legend:
                found.append(self._bar(self.scales[number]))
            elif isinstance(layer, IsosurfaceLayer) and isinstance(layer.color, str):
                unit = self.units.get(layer.field, "")
                label = self.labels.get(layer.field, layer.field)
                found.append(Patch(label, unit, layer.values, layer.color))
        if self.nan:
            colors = [scale.colors.nan for scale in self.scales.values()]
            found += [Patch("not finite", "", (), color) for color in dict.fromkeys(colors)]
        return list(dict.fromkeys(found))

    def limits(self) -> dict[str, tuple[float, float]]:
        """The limits of the colours by label."""
        return {self._label(s): s.limits for s in self.scales.values()}

    def _label(self, scale: Scale) -> str:
        return scale.colors.label or self.labels.get(scale.field, scale.field)

    def _bar(self, scale: Scale) -> Bar:
        lo, hi = scale.limits
        slack = 1e-3 * (hi - lo)
        pointed = scale.values[0] < lo - slack, scale.values[1] > hi + slack
        colors = scale.colors
        unit = self.units.get(scale.field, "") if colors.unit is None else colors.unit
        return Bar(self._label(scale), unit, colors, scale.limits, pointed)


@dataclass(frozen=True)
class _Ground:
    """A background with what is written on it in each picture alike.

    Attributes:
        pixels: The background, marks painted on it.
        marks: These marks.
        places: Numbers of the pixels that they touch.
        crossed: Whether edges of the domain cross them.
    """

    pixels: NDArray[np.uint8]
    marks: list[Mark]
    places: NDArray[np.int64]
    crossed: bool

    @staticmethod
    def of(found: list[Mark], behind: NDArray[np.uint8], before: Strokes | None) -> _Ground:
        """Paint marks on a background."""
        pixels = behind.copy()
        marks.paint(pixels, found)
        touched = np.zeros((*behind.shape[:2], 3), np.uint8)
        full = np.full(3, 255, np.uint8)
        marks.paint(
            touched,
            [m._replace(coverage=(m.coverage > 0) * np.uint8(255), color=full) for m in found],
        )
        places = np.flatnonzero(touched[..., 0])
        crossed = before is not None and bool(np.isin(before.places, places).any())
        return _Ground(pixels, found, places, crossed)


class Annotator:
    """Writes on pictures of one size, and remembers what does not change from one to the next."""

    def __init__(self, width: int, height: int) -> None:
        self._picture = Rectangle(0, width, 0, height)
        self._faces = lru_cache(maxsize=4)(Typeface)
        self._still: tuple[Any, list[Mark]] = (None, [])
        self._legends: tuple[Any, list[Mark]] = (None, [])
        self._frame: tuple[Any, NDArray[np.uint8] | None, Strokes | None] = (None, None, None)
        self._painted: tuple[Any, _Ground | None] = (None, None)
        self._outlined: tuple[Any, marks.Silhouette | None] = (None, None)

    def em(self, view: View) -> int:
        """The height of letters in pixels."""
        if view.text_size is not None:
            return round(view.text_size)
        return round(min(max(9.0, min(self._picture.height / 42, self._picture.width / 50)), 64.0))

    def camera(self, caption: Caption) -> Camera:
        """Return the camera, placed so that what is written has room; the same on all ranks."""
        view = caption.view
        free = self.frame(view, caption.entries() if view.legend else [])
        width, height = round(self._picture.width), round(self._picture.height)
        return view.camera.camera(caption.bounds, width, height, free)

    def frame(self, view: View, entries: list[Entry]) -> Rectangle:
        """Return where in the picture the domain may be, so that nothing is written on it.

        It is the same on all ranks: no font is asked.
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
            left = max(left, (2 * triad.ROOM) * em)
        width, height = self._picture.width, self._picture.height
        # A picture too small for all this shows the domain, whatever lies over it.
        if width - left - right < 0.3 * width:
            left = right = 0.02 * width
        if height - top - bottom < 0.3 * height:
            top = bottom = 0.02 * height
        return Rectangle(left, width - right, top, height - bottom)

    def finished(self, image: NDArray[Any] | None, caption: Caption) -> NDArray[np.uint8]:
        """Return the picture: background, what is drawn, the domain's edges, and what is written.

        Args:
            image: Bytes or floats, premultiplied; shape (height, width, 4). None: nothing is drawn.
            caption: What there is to say.
        """
        key = caption.view, caption.camera, caption.bounds
        if self._frame[0] != key:
            self._frame = (key, *self._edges(caption))
        _, behind, before = self._frame
        assert behind is not None
        ground = self._ground(caption, behind, before)
        # What stands still is in the background already, unless something is drawn over it.
        free = image is None or not image[..., 3].reshape(-1)[ground.places].any()
        ready = free and not ground.crossed
        pixels = on_background(image, ground.pixels if ready else behind)
        if before is not None:
            before.paint(pixels)
        if not ready:
            marks.paint(pixels, ground.marks)
        marks.paint(pixels, self._headline(caption, self._faces(caption.view.font)))
        return pixels

    def _ground(
        self, caption: Caption, behind: NDArray[np.uint8], before: Strokes | None
    ) -> _Ground:
        """The background with what stands still from picture to picture."""
        found = self._standing(caption)
        key = self._still[0], self._legends[0]
        ground = self._painted[1]
        if ground is None or self._painted[0] != key:
            ground = _Ground.of(found, behind, before)
            self._painted = key, ground
        return ground

    def _standing(self, caption: Caption) -> list[Mark]:
        """What is written on each picture alike, as long as camera and colours stay."""
        view = caption.view
        face: Typeface = self._faces(view.font)
        entries = caption.entries() if view.legend else []
        column = legend.column_width(entries, self.em(view))
        still = view, caption.camera, caption.bounds, column
        if self._still[0] != still:
            self._still = still, self._still_marks(caption, entries, face)
        legends = view, tuple(entries)
        if self._legends[0] != legends:
            self._legends = legends, self._legend_marks(caption, entries, face)
        return [*self._still[1], *self._legends[1]]

    def draw(self, pixels: NDArray[np.uint8], caption: Caption) -> None:
        """Write on a picture of shape (height, width, 3)."""
        marks.paint(pixels, self._standing(caption))
        marks.paint(pixels, self._headline(caption, self._faces(caption.view.font)))

    def _edges(self, caption: Caption) -> tuple[NDArray[np.uint8], Strokes | None]:
        """The background with the edges at the back of the domain, and the edges in front."""
        view, width, height = caption.view, round(self._picture.width), round(self._picture.height)
        behind = plain(view.background, width, height)
        if not view.outline:
            return behind, None
        color, _ = marks.shade(view.ink)
        thick = max(1.0, self.em(view) / 14)
        back, front = edges(caption.camera, caption.bounds, width, height)
        strokes(back, thick, color, 0.45, width, height).paint(behind)
        return behind, strokes(front, thick, color, 0.7, width, height)

    def _column(self, view: View, entries: list[Entry]) -> Rectangle:
        """Where legends stand."""
        em = self.em(view)
        right = self._picture.right - MARGIN * em
        top = (MARGIN + (ABOVE + 0.8 if view.title or view.time_stamp else 0.0)) * em
        bottom = self._picture.bottom - MARGIN * em
        if view.orientation:
            bottom -= 2 * triad.ROOM * em
        return Rectangle(right - legend.column_width(entries, em), right, top, bottom)

    def _still_marks(self, caption: Caption, entries: list[Entry], face: Typeface) -> list[Mark]:
        """What depends on the camera alone."""
        view, em = caption.view, self.em(caption.view)
        found: list[Mark] = []
        taken: list[Rectangle] = []
        if entries:
            taken.append(self._column(view, entries))
        if view.title or view.time_stamp:
            high = (MARGIN + ABOVE) * em
            taken.append(Rectangle(0, self._picture.right, 0, high))
        if view.orientation:
            room = triad.ROOM * em
            x = self._picture.right - room if entries else room
            y = self._picture.bottom - room
            found += triad.draw(caption.camera, (x, y), view.axis_names, em, face)
            taken.append(Rectangle(x - room, x + room, y - room, y + room))
        if view.axes:
            unit = f"[{view.length_unit}]" if view.length_unit else ""
            found += axes.draw(
                caption.camera,
                caption.bounds,
                view.axis_names,
                unit,
                self._picture,
                em,
                view.ink,
                view.paper,
                face,
                taken,
            )
        return found

    def _legend_marks(self, caption: Caption, entries: list[Entry], face: Typeface) -> list[Mark]:
        view, em = caption.view, self.em(caption.view)
        if not entries:
            return []
        column = self._column(view, entries)
        drawn = legend.draw(entries, column, em, view.ink, face)
        if not self._silhouette(caption).meets(column):
            return drawn
        # The domain reaches behind the legends: they get a ground of their own.
        rim = 0.6 * em
        inked = [mark.rectangle for mark in drawn]
        ground = Rectangle(
            min(r.left for r in inked) - rim,
            max(r.right for r in inked) + rim,
            min(r.top for r in inked) - rim,
            max(r.bottom for r in inked) + rim,
        )
        paper, _ = marks.shade(view.paper)
        return [marks.box(ground, paper, 0.8), *drawn]

    def _silhouette(self, caption: Caption) -> marks.Silhouette:
        """Where the domain is in the picture."""
        key = caption.camera, caption.bounds
        if self._outlined[0] != key or self._outlined[1] is None:
            width, height = round(self._picture.width), round(self._picture.height)
            corners = list(itertools.product(*caption.bounds))
            self._outlined = (
                key,
                marks.Silhouette(caption.camera.project(corners, width, height)[:, :2]),
            )
        found = self._outlined[1]
        assert found is not None
        return found

    def _headline(self, caption: Caption, face: Typeface) -> list[Mark]:
        """Title at the left, time stamp at the right."""
        view, em = caption.view, self.em(caption.view)
        color, _ = marks.shade(view.ink)
        rim, _ = marks.shade(view.paper)
        baseline = (MARGIN + 1.0) * em
        end = self._picture.right - MARGIN * em
        found: list[Mark] = []
        if view.time_stamp:
            words = typeset(view.time_stamp.format(time=caption.time, step=caption.step))
            mask = face.mask(words, em)
            # Digits are all as wide: the stamp stands still while they run.
            end -= mask.advance
            found.append(marks.text_on_baseline(mask, end, baseline, color))
            end -= 2 * em
        if view.title:
            size = round(HEADLINE * em)
            words = typeset(view.title.format(time=caption.time, step=caption.step))
            lines = face.wrapped(words, size, end - MARGIN * em, 1)
            for line in lines:
                mask = face.mask(line, size)
                found.append(marks.text_on_baseline(mask, MARGIN * em, baseline, color))
        covered = self._silhouette(caption)
        radius = max(1, round(0.12 * em))
        rims = [marks.halo(m, rim, radius) for m in found if covered.meets(m.rectangle)]
        return [*rims, *found]
