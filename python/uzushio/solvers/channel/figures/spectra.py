"""Plots of one-dimensional energy spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from uzushio._base.figure_style import BLACK, caption, sheet
from uzushio.solvers.channel.figures.averages import Averages
from uzushio.solvers.channel.figures.plots import COMPONENTS, named
from uzushio.solvers.channel.reference import Profiles, Spectrum

if TYPE_CHECKING:
    import xarray as xr

#: Heights in the plot, one row each.
MAX_HEIGHTS = 4
#: Minimum energy in the plot relative to the maximum of the row.
FLOOR = 1e-8
#: Number of published values per decade of wave numbers.
PER_DECADE = 12


def spectra(averages: Averages, references: Sequence[Profiles], title: str) -> Figure:
    """Plot energy spectra over streamwise (left) and spanwise (right) wave numbers.

    One row for each height. Published spectra at nearly the same height are drawn as points.
    """
    count = averages.whole.sizes["height"]
    chosen = np.unique(np.round(np.linspace(0, count - 1, MAX_HEIGHTS)).astype(int))
    words = (
        "One-dimensional energy spectra over streamwise (left) and spanwise wave numbers (right)"
    )
    figure = sheet(title, 9.0, 1.2 + 2.4 * len(chosen), description=words)
    grid = figure.subplots(len(chosen), 2, sharey="row", sharex="col", squeeze=False)
    source = next((reference for reference in references if reference.spectra), None)
    used = False
    for row, i in zip(grid, chosen, strict=True):
        z = float(averages.whole["height"][i])
        plus = min(z, 2.0 - z) * averages.re_tau
        ends = [_draw(axes, averages, axis, i) for axes, axis in zip(row, "xy", strict=True)]
        least, peak = min(low for low, _ in ends), max(high for _, high in ends)
        for axes, axis in zip(row, "xy", strict=True):
            published = None if source is None else source.spectrum(axis, plus)
            note = "" if published is None else f"; published: $z^+ = {published.z:.3g}$"
            axes.set_title(f"$z/h = {z:.3g}$, $z^+ = {plus:.3g}${note}")
            if published is not None:
                _published(axes, published)
                used = True
        row[0].set_ylabel("$E\\,/\\,u_\\tau^2 h$")
        if peak > 0.0:
            row[0].set(yscale="log", ylim=(max(0.3 * least, FLOOR * peak), 3.0 * peak))
    for axes, axis in zip(grid[-1], "xy", strict=True):
        _wave_numbers(axes, axis)
    lines = [Line2D([], [], color=colour) for colour in COMPONENTS.values()]
    names = [f"$E_{{{name}{name}}}$" for name in COMPONENTS]
    if used and source is not None:
        lines.append(Line2D([], [], ls="", marker="o", ms=3, mfc="none", mec=BLACK, mew=0.8))
        names.append(named(source))
    grid[0, 0].legend(lines, names, loc="lower left")
    caption(figure, *averages.caption_lines(["spectra_x", "spectra_y"]))
    return figure


def _draw(axes: Axes, averages: Averages, axis: str, height: int) -> tuple[float, float]:
    """Draw the spectra of the components with bands; return their minimum and maximum."""
    name = f"spectrum_{axis}"
    wave = averages.whole[f"k{axis}"].values[1:]

    def energy(dataset: xr.Dataset) -> np.ndarray:
        values = dataset[name].values[height, :, 1:]
        return np.asarray(values / wave[0] / float(dataset.attrs["u_tau"]) ** 2)

    values, width = energy(averages.whole), averages.half_width(energy)
    for component, colour in enumerate(COMPONENTS.values()):
        line = values[component]
        axes.plot(wave, line, color=colour)
        if width is not None:
            low, high = line - width[component], line + width[component]
            axes.fill_between(
                wave, np.maximum(low, 1e-3 * line), high, color=colour, alpha=0.25, lw=0
            )
    return float(values.min()), float(values.max())


def _published(axes: Axes, published: Spectrum) -> None:
    """Draw published values at wave numbers that are uniform on the logarithmic axis."""
    step = published.k[1]
    decades = np.log10(published.k[-1] / step)
    places = np.geomspace(1, len(published.k) - 1, int(PER_DECADE * decades))
    shown = np.unique(np.round(places).astype(int))
    for name, colour in COMPONENTS.items():
        energy = published.energy[name][shown] / step
        axes.plot(published.k[shown], energy, "o", ms=3, mfc="none", mec=colour, mew=0.8)


def _wave_numbers(axes: Axes, axis: str) -> None:
    direction = {"x": "streamwise", "y": "spanwise"}[axis]
    axes.set(xscale="log", xlabel=f"{direction} wave number $k_{axis}\\,h$")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
