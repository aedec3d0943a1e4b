"""Legends: a bar of colours with ticks for each scale, a patch for each single colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio.render import marks
from uzushio.render.cameras import Rectangle
from uzushio.render.colors import Colors, rgba
from uzushio.render.marks import Mark
from uzushio.render.ticks import number, ticks
from uzushio.render.typeface import Typeface, typeset

#: Lengths in heights of the letters, but for `LEAST`.
LINE = 1.35  # from one line of text to the next
BAR_WIDTH = 1.15
GAP = 0.45
NARROW, WIDE = 8.5, 15.0  # of the column
SHORT, TALL = 4.5, 20.0  # of a bar
APART = 1.7  # between legends
LEAST = 7  # height of letters in pixels
ABOVE, BELOW = 0.5, 0.35  # of a bar


class Bar(NamedTuple):
    """A scale of colours as it is in a picture."""

    label: str
    unit: str
    colors: Colors
    limits: tuple[float, float]
    pointed: tuple[bool, bool]
    """Whether there are values below and above the limits."""


class Patch(NamedTuple):
    """What has one colour: a surface, or values that are not finite."""

    label: str
    unit: str
    values: tuple[float, ...]
    color: str


Entry = Bar | Patch


def heading(label: str, unit: str) -> str:
    """Return a label with its unit."""
    return typeset(f"{label} [{unit}]" if unit else label)


def column_width(entries: Sequence[Entry], em: float) -> float:
    """Return the columns of pixels that legends take.

    From the numbers of letters alone: all ranks must find the same, and only one has the font.
    """
    if not entries:
        return 0.0
    longest = max(
        max((len(word) for word in heading(entry.label, entry.unit).split()), default=0)
        for entry in entries
    )
    return em * min(max(NARROW, 0.66 * longest + 1.0), WIDE)


def draw(
    entries: Sequence[Entry], column: Rectangle, em: int, ink: str, face: Typeface
) -> list[Mark]:
    """Draw legends below each other in the middle of a column.

    Where there are too many for its height their letters are smaller, down to `LEAST`.
    """
    while True:
        headings = [_heading(entry, em, column.width, face) for entry in entries]
        bars = sum(isinstance(entry, Bar) for entry in entries)
        rest = sum(len(lines) for lines in headings) * LINE * em
        rest += ((len(entries) - 1) * APART + bars * (ABOVE + BELOW)) * em
        tall = min(max((column.height - rest) / max(1, bars), SHORT * em), TALL * em)
        used = rest + tall * bars
        if used <= column.height or em <= LEAST:
            break
        em -= 1
    y = column.top + max(0.0, (column.height - used) / 2)
    drawn: list[Mark] = []
    for entry, lines in zip(entries, headings, strict=True):
        color, _ = marks.shade(ink)
        x = column.left + (0 if isinstance(entry, Bar) else em * (BAR_WIDTH + GAP))
        if isinstance(entry, Patch):
            drawn += _square(column.left, y + 0.2 * em, em, entry.color, ink)
        for line in lines:
            drawn.append(marks.text_on_baseline(face.mask(line, em), x, y + em, color))
            y += LINE * em
        if isinstance(entry, Bar):
            y += ABOVE * em
            drawn += _bar(entry, column.left, y, tall, em, ink, face)
            y += tall + BELOW * em
        y += APART * em
    return drawn


def _heading(entry: Entry, em: int, width: float, face: Typeface) -> list[str]:
    """The lines above a bar, or beside a patch."""
    if isinstance(entry, Bar):
        return face.wrapped(heading(entry.label, entry.unit), em, width, 3)
    return face.wrapped(_surface(entry), em, width - em * (BAR_WIDTH + GAP), 3)


def _surface(patch: Patch) -> str:
    """What stands beside a patch."""
    if not patch.values:
        return patch.label
    values = ", ".join(number(value) for value in patch.values)
    return typeset(f"{patch.label} = {values}" + (f" {patch.unit}" if patch.unit else ""))


def _bar(
    bar: Bar, x: float, y: float, tall: float, em: int, ink: str, face: Typeface
) -> list[Mark]:
    color, _ = marks.shade(ink)
    scale = ticks(*bar.limits, most=max(2, int(tall / (1.9 * em))), scale=bar.colors.scale)
    above_bar = 0.95 * em if scale.factor else 0.0
    point = 0.8 * em
    left, right = round(x), round(x + BAR_WIDTH * em)
    top = round(y + above_bar + point * bar.pointed[1])
    bottom = round(y + tall - point * bar.pointed[0])
    ramp = bar.colors.ramp(bottom - top)[::-1]
    column = np.round(255 * ramp[:, None, :3]).astype(np.uint8)
    shape = (bottom - top, right - left)
    drawn = [Mark(left, top, np.full(shape, 255, np.uint8), np.broadcast_to(column, (*shape, 3)))]
    edge = 0.75
    drawn += marks.frame(Rectangle(left, right, top, bottom), color, 1, edge)
    table = bar.colors.table(bar.limits)
    for there, base, tip, end in (
        (bar.pointed[1], top - 1, top - point, table.above),
        (bar.pointed[0], bottom + 1, bottom + point, table.below),
    ):
        if there:
            drawn += _tip(left, right, base, tip, end, color, edge)
    for value, label in zip(scale.values, scale.labels, strict=True):
        row = bottom - _place(value, bar) * (bottom - top)
        row = min(max(row, top + 0.5), bottom - 0.5)
        drawn.append(marks.line((right + 1, row), (right + 1 + 0.35 * em, row), 1.0, color, edge))
        mask = face.mask(label, em)
        # Digits are as high as capitals: all labels stand on lines at the same distance.
        drawn.append(
            marks.text_on_baseline(mask, right + (0.35 + GAP) * em, row + 0.365 * em, color)
        )
    if scale.factor:
        mask = face.mask(scale.factor, round(0.9 * em))
        baseline = y + 0.55 * em
        drawn.append(marks.text_on_baseline(mask, right + 0.4 * em, baseline, color))
    return drawn


def _place(value: float, bar: Bar) -> float:
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
    """The pointed end of a bar."""
    fill = np.round(255 * np.array(end[:3])).astype(np.uint8)
    middle = (left + right) / 2
    corners = [(left, base), (right, base), (middle, tip)]
    return [
        marks.polygon(corners, fill),
        marks.line((left - 0.5, base), (middle, tip), 1.0, edge, opacity),
        marks.line((right + 0.5, base), (middle, tip), 1.0, edge, opacity),
    ]


def _square(x: float, y: float, em: int, fill: str, ink: str) -> list[Mark]:
    """A patch of one colour with a rim."""
    side = round(0.85 * em)
    left, top = round(x + (BAR_WIDTH * em - side) / 2), round(y)
    place = Rectangle(left, left + side, top, top + side)
    color, _ = marks.shade(ink)
    inner = np.round(255 * np.array(rgba(fill)[:3])).astype(np.uint8)
    return [marks.box(place, inner), *marks.frame(place, color, 1, 0.75)]
