"""How the figures look: one size of type, few lines, colours that stay apart in every eye."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

# Colours of M. Okabe and K. Ito, told apart also by readers who do not see red or green.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#B5528A"
SKY, AMBER, GREY, BLACK = "#56B4E9", "#E69F00", "#808080", "#222222"

#: A marker for each reference in a figure.
MARKERS = ("o", "x")

#: Endings of the files that `write_each` makes.
FORMATS = ("png", "pdf", "svg")
#: A name and what is lowered behind it: Re_tau and u_τ, but not q_criterion.
_LOWERED = re.compile(r"\b(Re|[A-Za-zνω])_(tau|[a-zτ])(?![A-Za-z0-9])")
_GREEK = {"tau": "\\tau", "τ": "\\tau"}
#: Key of the description in a file's metadata; that of PNG is read by reports.
_DESCRIPTION = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
#: Letters of a caption that go into an inch.
_LETTERS_PER_INCH = 17.0
RESOLUTION = 150  #: dots per inch

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
    """Make the figures of a `with` block look alike."""
    return mpl.rc_context(_STYLE)


def sheet(
    title: str,
    width: float,
    height: float,
    layout: Literal["constrained", "compressed"] = "constrained",
    description: str = "",
) -> Figure:
    """Make an empty figure of so many inches with a title.

    The description in words goes into the files, where reports and screen readers find it.
    """
    figure = Figure(figsize=(width, height), layout=layout)
    figure.suptitle(symbols(title), x=0.01, ha="left", fontsize=11.0)
    figure.set_label(description)
    return figure


def symbols(text: str) -> str:
    """Set letters that are lowered in text: Re_tau, u_τ, U_b."""
    return _LOWERED.sub(lambda found: f"${found[1]}_{{{_GREEK.get(found[2], found[2])}}}$", text)


def caption(figure: Figure, *lines: str) -> None:
    """Write lines of small type below a figure: what was averaged, how its bands were found."""
    width = int(_LETTERS_PER_INCH * figure.get_figwidth())
    text = "\n".join(textwrap.fill(line, width) for line in lines if line)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=8.0, color="#555555")


def write(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, PDF or SVG, as the suffix says; returns `path`."""
    metadata = {_DESCRIPTION[path.suffix]: figure.get_label()} if figure.get_label() else None
    figure.savefig(path, dpi=RESOLUTION, bbox_inches="tight", pad_inches=0.08, metadata=metadata)
    return path


def write_each(figure: Figure, path: Path, formats: Iterable[str] = FORMATS) -> Iterator[Path]:
    """Write a figure as PNG for screens, and as PDF and SVG for papers.

    Args:
        figure: to write.
        path: without the ending.
        formats: endings of the files.

    Yields:
        Each file when it is written.
    """
    for kind in formats:
        yield write(figure, path.with_suffix(f".{kind}"))
        figure.set_layout_engine("none")  # it is laid out now, and need not be again


def write_all(figure: Figure, path: Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write a figure as `write_each`, and return the files."""
    return list(write_each(figure, path, formats))
