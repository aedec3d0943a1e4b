"""Marks on a picture: text, lines, polygons and bars, anti-aliased."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio.render.cameras import Rectangle
from uzushio.render.colors import rgba
from uzushio.render.typeface import TextMask

#: Column and row; pixel i reaches from i to i + 1.
Point = Sequence[float] | NDArray[np.float64]


class Mark(NamedTuple):
    """Colour or small image with a coverage for each pixel."""

    left: int
    top: int
    coverage: NDArray[np.uint8]
    """Shape (height, width)."""
    color: NDArray[np.uint8]
    """Shape (3,) or (height, width, 3)."""

    @property
    def rectangle(self) -> Rectangle:
        """Rectangle of the pixels that it may cover."""
        height, width = self.coverage.shape
        return Rectangle(self.left, self.left + width, self.top, self.top + height)


def paint(pixels: NDArray[np.uint8], marks: Iterable[Mark]) -> None:
    """Draw marks into a picture of shape (height, width, 3), in order."""
    rows, columns = pixels.shape[:2]
    for left, top, coverage, color in marks:
        height, width = coverage.shape
        y0, y1 = max(top, 0), min(top + height, rows)
        x0, x1 = max(left, 0), min(left + width, columns)
        if y0 >= y1 or x0 >= x1:
            continue
        inner = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
        part = pixels[y0:y1, x0:x1]
        amount = coverage[inner][..., None].astype(np.uint16)
        shade = color if color.ndim == 1 else color[inner]
        total = part * (255 - amount) + shade * amount + np.uint16(128)
        part[:] = (total + (total >> 8)) >> 8  # a division by 255 that rounds


def shade(color: str) -> NDArray[np.uint8]:
    """Return a colour's bytes, without its opacity."""
    return np.round(255 * np.array(rgba(color)[:3])).astype(np.uint8)


def text(mask: TextMask, middle: Point, color: NDArray[np.uint8]) -> Mark:
    """Place text centred at a point."""
    height, width = mask.coverage.shape
    left, top = round(middle[0] - width / 2), round(middle[1] - height / 2)
    return Mark(left, top, mask.coverage, color)


def text_on_baseline(mask: TextMask, x: float, y: float, color: NDArray[np.uint8]) -> Mark:
    """Place text that begins at (x, y), where y is the baseline."""
    return Mark(round(x) + mask.left, round(y) + mask.top, mask.coverage, color)


def halo(mark: Mark, color: NDArray[np.uint8], radius: int, opacity: float = 0.8) -> Mark:
    """Return a soft rim for a mark, which keeps it legible over an image."""
    from PIL import Image, ImageFilter

    wide = Image.fromarray(np.pad(mark.coverage, 3 * radius))
    spread = np.asarray(wide.filter(ImageFilter.GaussianBlur(radius)), np.float32)
    coverage = (opacity * np.minimum(3.0 * spread, 255.0)).astype(np.uint8)
    return Mark(mark.left - 3 * radius, mark.top - 3 * radius, coverage, color)


class Silhouette:
    """Part of a picture that the domain may cover: the convex hull of its corners.

    Args:
        corners: Columns and rows; shape (n, 2). If any is not finite: the whole picture.
    """

    def __init__(self, corners: NDArray[np.float64]) -> None:
        self._everywhere = not bool(np.isfinite(corners).all())
        points = sorted({(float(x), float(y)) for x, y in corners} if not self._everywhere else ())
        hull = np.array([*_chain(points), *_chain(points[::-1])]).reshape(-1, 2)
        edges = np.concatenate([np.roll(hull, -1, axis=0) - hull, np.eye(2)])
        self._axes = np.stack([-edges[:, 1], edges[:, 0]])  # separating axes, by columns
        reach = hull @ self._axes
        self._reach = (reach.min(axis=0), reach.max(axis=0)) if len(hull) else None

    def meets(self, place: Rectangle) -> bool:
        """Return whether the domain may cover part of a rectangle."""
        if self._reach is None:
            return self._everywhere
        left, right, top, bottom = place
        box = np.array([(left, top), (right, top), (right, bottom), (left, bottom)]) @ self._axes
        low, high = self._reach
        return not ((box.max(axis=0) < low) | (high < box.min(axis=0))).any()


def _chain(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return half of a convex hull (A. M. Andrew), without its last point."""
    chain: list[tuple[float, float]] = []
    for x, y in points:
        while len(chain) > 1:
            (x0, y0), (x1, y1) = chain[-2:]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                break
            chain.pop()
        chain.append((x, y))
    return chain[:-1]


def line(
    start: Point,
    end: Point,
    width: float,
    color: NDArray[np.uint8],
    opacity: float = 1.0,
) -> Mark:
    """Draw a straight line."""
    (x0, y0), (x1, y1) = start, end
    left, top, x, y = _grid((x0, x1), (y0, y1), width / 2 + 1)
    length = float(np.hypot(x1 - x0, y1 - y0))
    along_x, along_y = ((x1 - x0) / length, (y1 - y0) / length) if length else (1.0, 0.0)
    along = (x - x0) * along_x + (y - y0) * along_y
    across = np.abs((x - x0) * along_y - (y - y0) * along_x)
    body = _unit(width / 2 + 0.5 - across) - _unit(0.5 - width / 2 - across)
    ends = _unit(along + 0.5) * _unit(length - along + 0.5)
    return Mark(left, top, _bytes(body * ends * opacity), color)


def polygon(corners: Sequence[Point], color: NDArray[np.uint8], opacity: float = 1.0) -> Mark:
    """Fill a convex polygon with corners (column, row) in order around it."""
    points = np.asarray(corners, float)
    left, top, x, y = _grid(points[:, 0], points[:, 1], 1)
    inside = np.ones((y.size, x.size))
    following = np.roll(points, -1, axis=0)
    middle = points.mean(axis=0)
    for (x0, y0), (x1, y1) in zip(points, following, strict=True):
        normal = np.array([y1 - y0, x0 - x1]) / np.hypot(x1 - x0, y1 - y0)
        if normal @ (middle - (x0, y0)) < 0:
            normal = -normal
        inside = np.minimum(inside, _unit((x - x0) * normal[0] + (y - y0) * normal[1] + 0.5))
    return Mark(left, top, _bytes(inside * opacity), color)


def box(rectangle: Rectangle, color: NDArray[np.uint8], opacity: float = 1.0) -> Mark:
    """Fill a rectangle of whole pixels."""
    left, right, top, bottom = (round(edge) for edge in rectangle)
    return Mark(
        left, top, np.full((bottom - top, right - left), round(255 * opacity), np.uint8), color
    )


def frame(
    rectangle: Rectangle, color: NDArray[np.uint8], width: int = 1, opacity: float = 1.0
) -> list[Mark]:
    """Draw a frame just outside a rectangle."""
    left, right, top, bottom = rectangle
    sides = (
        Rectangle(left - width, right + width, top - width, top),
        Rectangle(left - width, right + width, bottom, bottom + width),
        Rectangle(left - width, left, top, bottom),
        Rectangle(right, right + width, top, bottom),
    )
    return [box(side, color, opacity) for side in sides]


def _grid(
    xs: Sequence[float] | NDArray[np.float64],
    ys: Sequence[float] | NDArray[np.float64],
    margin: float,
) -> tuple[int, int, NDArray[np.float64], NDArray[np.float64]]:
    """Return first column and row of the pixels around some points, and their centres.

    The columns' have the shape (1, n), the rows' (m, 1).
    """
    left, right = int(np.floor(min(xs) - margin)), int(np.ceil(max(xs) + margin))
    top, bottom = int(np.floor(min(ys) - margin)), int(np.ceil(max(ys) + margin))
    x = np.arange(left + 0.5, right, dtype=np.float64)
    y = np.arange(top + 0.5, bottom, dtype=np.float64)
    return left, top, x[None, :], y[:, None]


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values limited to 0 to 1; `np.clip` takes longer for small arrays."""
    return np.minimum(np.maximum(values, 0.0), 1.0)


def _bytes(coverage: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.round(255 * coverage).astype(np.uint8)
