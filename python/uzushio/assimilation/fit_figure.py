"""Figure of the goodness of fit: residuals over time, their distribution, and maps of them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from uzushio._base.figure_style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    caption,
    color_bar,
    image,
    sheet,
)
from uzushio.assimilation.fit import Fit
from uzushio.assimilation.panels import Panels

#: Range of the histogram in sigma, as in `Fit`.
_WIDEST = 8.0
#: Limit of the colours of mean residuals, in their standard deviations.
_STRONGEST = 4.0


def figure(fit: Fit, panels: Panels, title: str) -> Figure:
    """Draw the fit at each time, the distribution of the residuals, and their maps."""
    words = "Residuals of the estimate over time, their distribution, and their maps"
    ratio = min(max(len(panels.y) / len(panels.x), 0.3), 1.5)
    drawn = sheet(title, 11.0, 4.4 + 4.6 * ratio, "constrained", words)
    grid = drawn.subplots(2, 2, height_ratios=(3.0, 4.6 * ratio))
    _over_time(grid[0, 0], fit)
    _distribution(grid[0, 1], fit)
    ends = (panels.x[0], panels.x[-1], panels.y[0], panels.y[-1])
    count = max(1.0, fit.values / max(1, np.isfinite(fit.rms).sum()))
    limit = _STRONGEST / np.sqrt(min(count, len(fit.times)))
    largest = 2.0 if panels.rms is None else np.nanpercentile(panels.rms, 99)
    maps = (
        (
            grid[1, 0],
            panels.rms,
            "r.m.s. of o − a over all times",
            0.0,
            max(2.0, float(largest)),
            "viridis",
        ),
        (grid[1, 1], panels.mean, "Mean of o − a over all times", -limit, limit, "RdBu_r"),
    )
    for axes, values, name, low, high, colours in maps:
        axes.set(title=name, xlabel="x", ylabel="y")
        if values is not None and panels.is_line:
            axes.plot(panels.x, values[0], color=BLUE, lw=1.0)
            axes.set(ylabel="in σ of the observations")
            continue
        axes.set_facecolor("#e0e0e0")
        if values is None:
            continue
        shown = image(axes, values, ends, cmap=colours, vmin=low, vmax=high)
        seen = values[np.isfinite(values)]
        below, above = bool((seen < low).any()), bool((seen > high).any())
        color_bar(shown, axes, "in σ of the observations", below, above)
    seen_everywhere = panels.is_line or panels.rms is None or np.isfinite(panels.rms).all()
    caption(
        drawn,
        f"o: observations, b: run of the first guess, a: run of the estimate. 2J/N = "
        f"{fit.ratio:.4g} (expected {fit.expected_at_most:.4g} ± {fit.spread:.2g}) for N = "
        f"{fit.values}: {fit.verdict}.",
        " ".join(filter(None, [panels.place, "" if seen_everywhere else "Grey: never observed."])),
    )
    return drawn


def _over_time(axes: Axes, fit: Fit) -> None:
    """Plot the r.m.s. of innovations and residuals, and the figure of Desroziers."""
    time = np.array([time_fit.time for time_fit in fit.times])
    names = ("innovation_rms", "chi_square", "desroziers")
    innovation, chi_square, desroziers = (
        np.array([getattr(time_fit, name) for time_fit in fit.times], dtype=np.float64)
        for name in names
    )
    marker = "." if len(time) < 200 else ""
    count = np.array([max(1, time_fit.values) for time_fit in fit.times])
    band = 2.0 * np.sqrt(0.5 / count)
    axes.fill_between(time, 1.0 - band, 1.0 + band, color=GREY, alpha=0.3, lw=0, label="1 ± 2 sd")
    axes.plot(time, innovation, color=GREY, marker=marker, label="r.m.s. of o − b")
    axes.plot(time, np.sqrt(chi_square), color=BLUE, marker=marker, label="r.m.s. of o − a")
    root = np.sqrt(np.where(desroziers > 0.0, desroziers, np.nan))
    label = "√ of mean (o − a)(o − b)"
    axes.plot(time, root, color=ORANGE, lw=0.9, ls="--", marker=marker, ms=3, label=label)
    axes.set(title="At each time", xlabel="t", ylabel="in σ of the observations", yscale="log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.5)  # room for the legend
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
    for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        axis(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.legend(fontsize=7.5, ncols=2, loc="upper left")


def _distribution(axes: Axes, fit: Fit) -> None:
    """Plot the distribution of the residuals beside the normal one."""
    width = 2.0 * _WIDEST / len(fit.histogram)
    edges = -_WIDEST + width * np.arange(len(fit.histogram) + 1)
    density = fit.histogram / (width * max(1, fit.values))
    axes.stairs(density, edges, color=BLUE, fill=True, alpha=0.5, label="o − a")
    centres = 0.5 * (edges[1:] + edges[:-1])
    normal = np.exp(-0.5 * centres**2) / np.sqrt(2.0 * np.pi)
    axes.plot(centres, normal, color=BLACK, lw=1.0, label="normal, σ = 1")
    least = 0.5 / (width * max(1, fit.values))
    outside = fit.values - int(fit.histogram.sum())
    axes.set(
        title=f"Distribution; {outside} of {fit.values} beyond ± {_WIDEST:g} σ",
        xlabel="o − a, in σ of the observations",
        ylabel="density",
        yscale="log",
        ylim=(least, 2.0),
        xlim=(-_WIDEST, _WIDEST),
    )
    axes.legend(fontsize=7.5)
