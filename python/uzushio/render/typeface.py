"""Coverage masks of text: one font, drawn by FreeType once for each text and size.

matplotlib's mathtext is not used: a label with a subscript takes 5.6 ms of processor time, here
0.4 ms, and the time stamp is drawn anew for each picture. It needs marks around formulas, while
labels and units are plain text here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import RenderError

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_RAISED = str.maketrans("0123456789-+n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ")
#: u_τ and p_{wall}, but not q_criterion: names of fields are unchanged.
_LOWERED = re.compile(r"_(?:\{([^{}]+)\}|([^\W_]|\d+)(?![^\W⁰¹²³⁴⁵⁶⁷⁸⁹]))")
#: Friction velocity and its Reynolds number, typed without a Greek letter.
_TAU = re.compile(r"(?<![A-Za-z0-9_])(Re|u)_tau(?![A-Za-z0-9_])")
_POWER = re.compile(r"(?:\^|\*\*)(?:\{([-+0-9n]+)\}|\(([-+0-9n]+)\)|([-+]?[0-9n]+))")


#: Size of subscripts, relative to other letters.
LOWER = 0.7


class TextMask(NamedTuple):
    """Coverage of a text's pixels, and their offset from its beginning on the baseline."""

    coverage: NDArray[np.uint8]
    """Shape (height, width)."""
    left: int
    top: int
    advance: float
    """Columns from the beginning of the text to that of following text."""


def typeset(text: str) -> str:
    """Return text with superscript exponents, s^-2 and s**-2 become s⁻², and u_τ for u_tau.

    `Typeface.mask` handles subscripts, such as u_τ and p_{wall}.
    """
    raised = _POWER.sub(lambda match: next(filter(None, match.groups())).translate(_RAISED), text)
    return _TAU.sub(r"\1_τ", raised)


def mathtext(text: str) -> str:
    """Return the same for matplotlib, with subscripts in its notation."""
    plain = typeset(text.replace("$", r"\$"))
    return _LOWERED.sub(lambda match: rf"$_\mathregular{{{match[1] or match[2]}}}$", plain)


def html(text: str) -> str:
    """Return the same as HTML, escaped, with subscripts as elements."""
    return _LOWERED.sub(lambda match: f"<sub>{match[1] or match[2]}</sub>", escape(typeset(text)))


def raised(number: int) -> str:
    """Return an integer as superscript."""
    return str(number).translate(_RAISED)


class Typeface:
    """Font in an upright and a slanted style.

    Args:
        path: path of a TrueType file for both; matplotlib's DejaVu Sans if None.

    Raises:
        RenderError: The font is missing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._paths = (
            (path, path) if path else (_bundled("DejaVuSans"), _bundled("DejaVuSans-Oblique"))
        )
        self.mask = lru_cache(maxsize=1024)(self._mask)
        self._font = lru_cache(maxsize=32)(self._open)
        self._font(12, False)
        self._font(12, True)

    def name(self, name: str, rest: str, size: int) -> TextMask:
        """Return a name followed by other text; a single letter is slanted."""
        first = self.mask(name, size, len(name) == 1)
        if not rest:
            return first
        gap = first.advance + 0.35 * size
        return _joined([(first, 0.0, 0), (self.mask(rest, size, False), gap, 0)])

    def width(self, text: str, size: int, slanted: bool = False) -> float:
        """Return the width of a text in pixels."""
        return sum(
            float(self._font(round(LOWER * size) if low else size, slanted).getlength(run))
            for run, low in _runs(text)
        )

    def wrapped(self, text: str, size: int, width: float, lines: int) -> list[str]:
        """Return a text in lines of at most `width`, broken between words.

        Text that does not fit is cut off with an ellipsis.
        """
        words = text.split()
        wrapped: list[str] = []
        while words and len(wrapped) < lines:
            count = len(words) if len(wrapped) == lines - 1 else 1
            while count < len(words) and self.width(" ".join(words[: count + 1]), size) <= width:
                count += 1
            wrapped.append(self._cut(" ".join(words[:count]), size, width))
            words = words[count:]
        return wrapped

    def _cut(self, text: str, size: int, width: float) -> str:
        if self.width(text, size) <= width:
            return text
        # The width grows with the number of letters.
        longest = bisect_right(
            range(len(text)), width, lo=1, key=lambda count: self.width(text[:count] + "…", size)
        )
        return text[: longest - 1].rstrip() + "…"

    def _open(self, size: int, slanted: bool) -> FreeTypeFont:
        from PIL import ImageFont

        path = self._paths[slanted]
        try:
            return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
        except OSError as error:
            raise RenderError(
                f"The font {path} cannot be used ({error}); name a TrueType file with `font`."
            ) from error

    def _mask(self, text: str, size: int, slanted: bool = False) -> TextMask:
        """Return a text's coverage, with smaller subscripts."""
        parts: list[tuple[TextMask, float, int]] = []
        x = 0.0
        for run, low in _runs(text):
            part = self._plain(run, round(LOWER * size) if low else size, slanted)
            parts.append((part, x, round(0.2 * size) if low else 0))
            x += part.advance
        return parts[0][0] if len(parts) == 1 else _joined(parts)

    def _plain(self, text: str, size: int, slanted: bool) -> TextMask:
        font = self._font(size, slanted)
        image: Any
        image, (left, top) = font.getmask2(text, mode="L", anchor="ls")
        width, height = image.size
        coverage = np.array(image, dtype=np.uint8).reshape(height, width)
        coverage.flags.writeable = False
        return TextMask(coverage, int(left), int(top), float(font.getlength(text)))


def _runs(text: str) -> list[tuple[str, bool]]:
    """Return a text in runs, each with whether it is a subscript."""
    runs = []
    place = 0
    for match in _LOWERED.finditer(text):
        runs += [(text[place : match.start()], False), (match[1] or match[2], True)]
        place = match.end()
    runs.append((text[place:], False))
    return [piece for piece in runs if piece[0]] or [("", False)]


def _joined(parts: list[tuple[TextMask, float, int]]) -> TextMask:
    """Join masks, each with its offset in columns to the right and rows down."""
    places = [(round(x) + mask.left, y + mask.top) for mask, x, y in parts]
    shapes = [mask.coverage.shape for mask, _, _ in parts]
    left, top = (min(place[axis] for place in places) for axis in (0, 1))
    right = max(place[0] + shape[1] for place, shape in zip(places, shapes, strict=True))
    bottom = max(place[1] + shape[0] for place, shape in zip(places, shapes, strict=True))
    whole = np.zeros((bottom - top, right - left), np.uint8)
    for (mask, _, _), (x, y), (height, width) in zip(parts, places, shapes, strict=True):
        part = whole[y - top : y - top + height, x - left : x - left + width]
        np.maximum(part, mask.coverage, out=part)
    whole.flags.writeable = False
    last, shift, _ = parts[-1]
    return TextMask(whole, left, top, shift + last.advance)


def _bundled(name: str) -> Path:
    """Return the file of a font of matplotlib's, without importing matplotlib."""
    package = find_spec("matplotlib")
    folders = list(package.submodule_search_locations or []) if package else []
    for folder in folders:
        path = Path(folder) / "mpl-data/fonts/ttf" / f"{name}.ttf"
        if path.is_file():
            return path
    raise RenderError(
        f"The font {name}.ttf of matplotlib is missing; reinstall matplotlib, or name a TrueType "
        "file with `font`."
    )
