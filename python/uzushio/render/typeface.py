"""Text as coverage masks: one font, drawn by FreeType once for each text and size."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import RenderError

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_RAISED = str.maketrans("0123456789-+n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ")
_POWER = re.compile(r"(?:\^|\*\*)(?:\{([-+0-9n]+)\}|\(([-+0-9n]+)\)|([-+]?[0-9n]+))")


class Mask(NamedTuple):
    """Coverage of a text's pixels, and where they lie relative to its beginning on the baseline."""

    coverage: NDArray[np.uint8]
    """Shape (height, width)."""
    left: int
    top: int
    advance: float
    """Columns from the beginning of the text to that of another behind it."""


def typeset(text: str) -> str:
    """Return text with raised exponents: s^-2 and s**-2 become s⁻²."""
    return _POWER.sub(lambda found: next(filter(None, found.groups())).translate(_RAISED), text)


def raised(number: int) -> str:
    """Return a whole number as an exponent."""
    return str(number).translate(_RAISED)


class Typeface:
    """A font in an upright and a slanted cut.

    Args:
        path: of a TrueType file for both; DejaVu Sans, which matplotlib brings, if None.

    Raises:
        RenderError: There is no such font.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._paths = (
            (path, path) if path else (_bundled("DejaVuSans"), _bundled("DejaVuSans-Oblique"))
        )
        self.mask = lru_cache(maxsize=1024)(self._mask)
        self._font = lru_cache(maxsize=32)(self._open)
        self._font(12, False)
        self._font(12, True)

    def name(self, name: str, rest: str, size: int) -> Mask:
        """Return a name followed by other text; one of a single letter is slanted."""
        first = self.mask(name, size, len(name) == 1)
        if not rest:
            return first
        second = self.mask(rest, size, False)
        shift = round(first.advance + 0.35 * size)
        top = min(first.top, second.top)
        bottom = max(m.top + m.coverage.shape[0] for m in (first, second))
        right = shift + second.left + second.coverage.shape[1]
        whole = np.zeros((bottom - top, right - first.left), np.uint8)
        for part, x in ((first, 0), (second, shift + second.left - first.left)):
            height, width = part.coverage.shape
            y = part.top - top
            whole[y : y + height, x : x + width] = part.coverage
        return Mask(whole, first.left, top, shift + second.advance)

    def width(self, text: str, size: int, slanted: bool = False) -> float:
        """Return how many columns a text takes."""
        return float(self._font(size, slanted).getlength(text))

    def wrapped(self, text: str, size: int, width: float, lines: int) -> list[str]:
        """Return a text in lines that are no wider than `width`, as far as words allow.

        What does not fit is cut off with an ellipsis.
        """
        words = text.split()
        found: list[str] = []
        while words and len(found) < lines:
            count = len(words) if len(found) == lines - 1 else 1
            while count < len(words) and self.width(" ".join(words[: count + 1]), size) <= width:
                count += 1
            found.append(self._cut(" ".join(words[:count]), size, width))
            words = words[count:]
        return found

    def _cut(self, text: str, size: int, width: float) -> str:
        if self.width(text, size) <= width:
            return text
        while text and self.width(text + "…", size) > width:
            text = text[:-1].rstrip()
        return text + "…"

    def _open(self, size: int, slanted: bool) -> FreeTypeFont:
        from PIL import ImageFont

        path = self._paths[slanted]
        try:
            return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
        except OSError as error:
            raise RenderError(
                f"The font {path} cannot be used ({error}); name a TrueType file with `font`."
            ) from error

    def _mask(self, text: str, size: int, slanted: bool = False) -> Mask:
        font = self._font(size, slanted)
        image: Any
        image, (left, top) = font.getmask2(text, mode="L", anchor="ls")
        width, height = image.size
        coverage = np.array(image, dtype=np.uint8).reshape(height, width)
        coverage.flags.writeable = False
        return Mask(coverage, int(left), int(top), float(font.getlength(text)))


def _bundled(name: str) -> Path:
    """The file of a font of matplotlib's, which is not imported for it."""
    package = find_spec("matplotlib")
    folders = list(package.submodule_search_locations or []) if package else []
    for folder in folders:
        path = Path(folder) / "mpl-data/fonts/ttf" / f"{name}.ttf"
        if path.is_file():
            return path
    raise RenderError(
        f"The font {name}.ttf, which matplotlib brings, is missing; reinstall matplotlib, or name "
        "a TrueType file with `font`."
    )
