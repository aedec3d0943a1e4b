"""How the figures look: one size of type, few lines, colours that stay apart in every eye."""

from __future__ import annotations

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
}


def style() -> AbstractContextManager[None]:
    """Make the figures of a `with` block look alike."""
    return mpl.rc_context(_STYLE)


def sheet(
    title: str,
    width: float,
    height: float,
    layout: Literal["constrained", "compressed"] = "constrained",
) -> Figure:
    """Make an empty figure of so many inches with a title."""
    figure = Figure(figsize=(width, height), layout=layout)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.0)
    return figure


def write(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, PDF or SVG, as the suffix says; returns `path`."""
    figure.savefig(path, dpi=RESOLUTION, bbox_inches="tight", pad_inches=0.08)
    return path
