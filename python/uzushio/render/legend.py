"""Legends: a colour bar with ticks for each scale, a patch for each single colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio._base.config.quantities import with_unit
from uzushio.render import marks
from uzushio.render.cameras import Rectangle
from uzushio.render.colors import Colors
from uzushio.render.marks import Mark
from uzushio.render.ticks import number, ticks
from uzushio.render.typeface import Typeface, typeset

#: Lengths in heights of letters, except for `MIN_LETTERS`.
LINE = 1.35  # from one line of text to the next
BAR_WIDTH = 1.15
GAP = 0.45
MIN_WIDTH, MAX_WIDTH = 8.5, 15.0  # of the column
MIN_HEIGHT, MAX_HEIGHT = 4.5, 20.0  # of a bar
ENTRY_GAP = 1.7  # between legends
MIN_LETTERS = 7  # height of letters in pixels
ABOVE, BELOW = 0.5, 0.35  # of a bar


class ColorBar(NamedTuple):
    """Colour bar of one scale."""

    label: str
    unit: str
    colors: Colors
    limits: tuple[float, float]
    pointed: tuple[bool, bool]
    """Whether there are values below and above the limits."""


class ColorPatch(NamedTuple):
    """Patch of a single colour: a surface, or values that are not finite."""

    label: str
    unit: str
    values: tuple[float, ...]
    color: str


LegendEntry = ColorBar | ColorPatch


def heading(label: str, unit: str) -> str:
    """Return a label with its unit."""
    return typeset(with_unit(label, unit))


def column_width(entries: Sequence[LegendEntry], em: float) -> float:
    """Return the width of the legends in pixels.

    It depends on numbers of letters only, because all ranks need it and only one has the font.
    """
    if not entries:
        return 0.0
    longest = max(
        max((len(word) for word in heading(entry.label, entry.unit).split()), default=0)
        for entry in entries
    )
    return em * min(max(MIN_WIDTH, 0.66 * longest + 1.0), MAX_WIDTH)


def draw(
    entries: Sequence[LegendEntry], column: Rectangle, em: int, ink: str, face: Typeface
) -> list[Mark]:
    """Draw legends below each other in the middle of a column.

    If they exceed its height, letters are smaller, down to `MIN_LETTERS`.
    """
    while True:
        headings = [_heading(entry, em, column.width, face) for entry in entries]
        bars = sum(isinstance(entry, ColorBar) for entry in entries)
        rest = sum(len(lines) for lines in headings) * LINE * em
        rest += ((len(entries) - 1) * ENTRY_GAP + bars * (ABOVE + BELOW)) * em
        height = min(max((column.height - rest) / max(1, bars), MIN_HEIGHT * em), MAX_HEIGHT * em)
        used = rest + height * bars
        if used <= column.height or em <= MIN_LETTERS:
            break
        em -= 1
    y = column.top + max(0.0, (column.height - used) / 2)
    drawn: list[Mark] = []
    for entry, lines in zip(entries, headings, strict=True):
        color = marks.shade(ink)
        x = column.left + (0 if isinstance(entry, ColorBar) else em * (BAR_WIDTH + GAP))
        if isinstance(entry, ColorPatch):
            drawn += _square(column.left, y + 0.2 * em, em, entry.color, ink)
        for line in lines:
            drawn.append(marks.text_on_baseline(face.mask(line, em), x, y + em, color))
            y += LINE * em
        if isinstance(entry, ColorBar):
            y += ABOVE * em
            drawn += _bar(entry, column.left, y, height, em, ink, face)
            y += height + BELOW * em
        y += ENTRY_GAP * em
    return drawn


def _heading(entry: LegendEntry, em: int, width: float, face: Typeface) -> list[str]:
    """Return the lines of text above a bar or beside a patch."""
    if isinstance(entry, ColorBar):
        return face.wrapped(heading(entry.label, entry.unit), em, width, 3)
    return face.wrapped(_surface(entry), em, width - em * (BAR_WIDTH + GAP), 3)


def _surface(patch: ColorPatch) -> str:
    """Return the text beside a patch."""
    if not patch.values:
        return patch.label
    values = ", ".join(number(value) for value in patch.values)
    return typeset(f"{patch.label} = {values}" + (f" {patch.unit}" if patch.unit else ""))


def _bar(
    bar: ColorBar, x: float, y: float, height: float, em: int, ink: str, face: Typeface
) -> list[Mark]:
    color = marks.shade(ink)
    scale = ticks(*bar.limits, max_count=max(2, int(height / (1.9 * em))), scale=bar.colors.scale)
    above_bar = 0.95 * em if scale.factor else 0.0
    point = 0.8 * em
    left, right = round(x), round(x + BAR_WIDTH * em)
    top = round(y + above_bar + point * bar.pointed[1])
    bottom = round(y + height - point * bar.pointed[0])
    ramp = bar.colors.ramp(bottom - top)[::-1]
    column = np.round(255 * ramp[:, None, :3]).astype(np.uint8)
    shape = (bottom - top, right - left)
    drawn = [Mark(left, top, np.full(shape, 255, np.uint8), np.broadcast_to(column, (*shape, 3)))]
    edge = 0.75
    drawn += marks.frame(Rectangle(left, right, top, bottom), color, 1, edge)
    below, above = bar.colors.table(bar.limits).ends
    for there, base, tip, end in (
        (bar.pointed[1], top - 1, top - point, above),
        (bar.pointed[0], bottom + 1, bottom + point, below),
    ):
        if there:
            drawn += _tip(left, right, base, tip, end, color, edge)
    for value, label in zip(scale.values, scale.labels, strict=True):
        row = bottom - _place(value, bar) * (bottom - top)
        row = min(max(row, top + 0.5), bottom - 0.5)
        drawn.append(marks.line((right + 1, row), (right + 1 + 0.35 * em, row), 1.0, color, edge))
        mask = face.mask(label, em)
        # Digits have the height of capitals, so baselines are equidistant.
        drawn.append(
            marks.text_on_baseline(mask, right + (0.35 + GAP) * em, row + 0.365 * em, color)
        )
    if scale.factor:
        mask = face.mask(scale.factor, round(0.9 * em))
        baseline = y + 0.55 * em
        drawn.append(marks.text_on_baseline(mask, right + 0.4 * em, baseline, color))
    return drawn


def _place(value: float, bar: ColorBar) -> float:
    lo, hi = bar.limits
    if bar.colors.scale == "log":
        return float(np.log(value / lo) / np.log(hi / lo))
    return (value - lo) / (hi - lo)


def _tip(
    left: int,
    right: int,
    base: float,
    tip: float,
    end: Sequence[float],
    edge: NDArray[np.uint8],
    opacity: float,
) -> list[Mark]:
    """Draw the pointed end of a bar."""
    fill = np.round(255 * np.array(end[:3])).astype(np.uint8)
    middle = (left + right) / 2
    corners = [(left, base), (right, base), (middle, tip)]
    return [
        marks.polygon(corners, fill),
        marks.line((left - 0.5, base), (middle, tip), 1.0, edge, opacity),
        marks.line((right + 0.5, base), (middle, tip), 1.0, edge, opacity),
    ]


def _square(x: float, y: float, em: int, fill: str, ink: str) -> list[Mark]:
    """Draw a patch of one colour with a rim."""
    side = round(0.85 * em)
    left, top = round(x + (BAR_WIDTH * em - side) / 2), round(y)
    place = Rectangle(left, left + side, top, top + side)
    color = marks.shade(ink)
    inner = marks.shade(fill)
    return [marks.box(place, inner), *marks.frame(place, color, 1, 0.75)]
