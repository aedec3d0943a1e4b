"""Style of figures: one font size, few lines, colours that colour-blind readers can distinguish."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.transforms import Bbox

# Colours of M. Okabe and K. Ito, which colour-blind readers can distinguish.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#B5528A"
SKY, AMBER, GREY, BLACK = "#56B4E9", "#E69F00", "#808080", "#222222"

#: Markers of the references in a figure.
MARKERS = ("o", "x")

#: File formats of `write_each`.
FORMATS = ("png", "pdf", "svg")
#: A symbol with a subscript: Re_tau and u_τ, but not q_criterion.
_SUBSCRIPT = re.compile(r"\b(Re|[A-Za-zνω])_(tau|[a-zτ])(?![A-Za-z0-9])")
_GREEK = {"tau": "\\tau", "τ": "\\tau"}
#: Key of the description in a file's metadata; reports read that of PNG.
_DESCRIPTION = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
#: Letters of a caption per inch.
_LETTERS_PER_INCH = 17.0
RESOLUTION = 150  #: dots per inch
_MARGIN = 0.08  # inches around the content

_STYLE: Any = {
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "mathtext.fontset": "dejavusans",
    "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, BLACK, GREY]),
    "axes.formatter.useoffset": False,
    "svg.fonttype": "path",  # an SVG looks the same where the font is missing
}


def style() -> AbstractContextManager[None]:
    """Return a context in which figures have the common style."""
    return mpl.rc_context(_STYLE)


def sheet(
    title: str,
    width: float,
    height: float,
    layout: Literal["constrained", "compressed"] = "constrained",
    description: str = "",
) -> Figure:
    """Create an empty figure with a title; width and height are in inches.

    The description is written into the files' metadata, for reports and screen readers.
    """
    figure = Figure(figsize=(width, height), layout=layout)
    figure.suptitle(symbols(title), x=0.01, ha="left", fontsize=11.0)
    figure.set_label(description)
    return figure


def symbols(text: str) -> str:
    """Return the text with subscripts in math notation: Re_tau, u_τ, U_b."""
    return _SUBSCRIPT.sub(lambda match: f"${match[1]}_{{{_GREEK.get(match[2], match[2])}}}$", text)


def image(
    axes: Axes, values: np.ndarray, ends: tuple[float, float, float, float], **options: Any
) -> AxesImage:
    """Draw values at points of a uniform grid, each in a cell around its point, with equal scales.

    Args:
        axes: axes, whose grid is removed.
        values: values, the second axis upwards.
        ends: positions of the left, right, lowest and highest points.
        options: keyword arguments of `Axes.imshow`.
    """
    axes.grid(False)
    rows, columns = values.shape
    left, right, bottom, top = ends
    dx, dy = (right - left) / max(columns - 1, 1) or 1.0, (top - bottom) / max(rows - 1, 1) or 1.0
    extent = (left - dx / 2, right + dx / 2, bottom - dy / 2, top + dy / 2)
    return axes.imshow(values, origin="lower", extent=extent, aspect="equal", **options)


def color_bar(image: ScalarMappable, axes: Axes, label: str, below: bool, above: bool) -> None:
    """Draw a colour bar beside axes, pointed where values lie below or above its ends."""
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    place = axes.inset_axes((1.02, 0.0, 0.03, 1.0))
    axes.figure.colorbar(image, cax=place, extend=extend, label=label)


def caption(figure: Figure, *lines: str) -> None:
    """Write a caption in small letters below a figure, such as the method of its bands."""
    width = int(_LETTERS_PER_INCH * figure.get_figwidth())
    text = "\n".join(textwrap.fill(line, width) for line in lines if line)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=8.0, color="#555555")


def write(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, PDF or SVG according to the suffix; return `path`."""
    return _save(figure, path, _laid_out(figure))


def write_each(figure: Figure, path: Path, formats: Iterable[str] = FORMATS) -> Iterator[Path]:
    """Write a figure as PNG for screens, and as PDF and SVG for papers.

    Args:
        figure: the figure.
        path: path without suffix.
        formats: file formats.

    Yields:
        The path of each file after it is written.
    """
    content = _laid_out(figure)
    for kind in formats:
        yield _save(figure, path.with_suffix(f".{kind}"), content)


def _laid_out(figure: Figure) -> Bbox:
    """Lay a figure out for all formats; return the box of its content, in inches.

    With `bbox_inches="tight"`, each format would lay it out and draw it twice.
    """
    figure.set_dpi(RESOLUTION)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    return figure.get_tightbbox().padded(_MARGIN)


def _save(figure: Figure, path: Path, content: Bbox) -> Path:
    metadata = {_DESCRIPTION[path.suffix]: figure.get_label()} if figure.get_label() else None
    figure.savefig(path, dpi=RESOLUTION, bbox_inches=content, metadata=metadata)
    return path
