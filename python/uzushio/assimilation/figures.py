"""Pictures of the estimate, and plots of J and the parameters over the iterations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from uzushio._base.figure_style import (
    BLACK,
    BLUE,
    FORMATS,
    GREEN,
    GREY,
    ORANGE,
    caption,
    color_bar,
    image,
    sheet,
    style,
    write_each,
)
from uzushio.assimilation import fit_figure
from uzushio.assimilation.assimilation import Assimilation
from uzushio.assimilation.deviations import Deviation
from uzushio.assimilation.fit import Fit
from uzushio.assimilation.history import History
from uzushio.assimilation.model import Quantity
from uzushio.assimilation.panels import Panels

#: Limit of the residual's colours, in standard deviations of the noise.
_STRONGEST = 4.0


def draw(
    folder: Path,
    work: Assimilation,
    panels: Panels,
    deviations: Sequence[Deviation],
    fit: Fit | None = None,
) -> Iterator[Path]:
    """Draw all figures.

    Args:
        folder: an existing folder.
        work: the assimilation; `output.figures` of its case names the formats.
        panels: fields.
        deviations: standard deviations of the parameters.
        fit: goodness of fit; None: without its figure.

    Yields:
        The path of each file after it is written.
    """
    head = work.case.title or "Assimilation"
    formats = work.case.output.figures or FORMATS
    with style():
        yield from write_each(states(panels, head), folder / "states", formats)
        yield from write_each(progress(work, deviations, head), folder / "progress", formats)
        if fit is not None:
            yield from write_each(fit_figure.figure(fit, panels, head), folder / "fit", formats)


def states(panels: Panels, title: str) -> Figure:
    """Draw initial states above, and the last observed step below."""
    ratio = len(panels.y) / len(panels.x)
    height = 2.6 + 5.0 * min(max(ratio, 0.3), 2.0)
    words = "The estimated initial state beside {}, and the run from it beside an observation"
    beside = "the first guess" if panels.truth is None else "the truth and the first guess"
    is_line = panels.is_line
    figure = sheet(
        title, 11.0, height, "constrained" if is_line else "compressed", words.format(beside)
    )
    grid = figure.subplots(2, 3, sharex=True, sharey=not is_line)
    name = _labelled(panels.state)
    low, high = _range(panels)
    if panels.truth is not None:
        _field(grid[0, 0], panels, panels.truth, "Truth, initial state", low, high, name)
    else:
        change = panels.estimate - panels.first_guess
        end = float(np.abs(change).max()) or 1.0
        words = "Estimate less first guess"
        _field(grid[0, 0], panels, change, words, -end, end, name, "RdBu_r")
    _field(grid[0, 1], panels, panels.first_guess, "First guess", low, high, name)
    _field(grid[0, 2], panels, panels.estimate, "Estimate", low, high, name)
    when = f"step {panels.step}, t = {panels.time:.4g}"
    _field(grid[1, 0], panels, panels.observation, f"Observed, {when}", low, high, name)
    _field(grid[1, 1], panels, panels.run, "Run from the estimate, then", low, high, name)
    _field(
        grid[1, 2],
        panels,
        panels.residual,
        "Observed less run",
        -_STRONGEST,
        _STRONGEST,
        "in σ of the noise",
        "RdBu_r",
    )
    for axes in grid.flat:
        axes.set(xlabel="x", ylabel=axes.get_ylabel() if is_line else "y")
        axes.tick_params(labelbottom=True, labelleft=True)
    observed = np.isfinite(panels.observation).all()
    caption(
        figure,
        "Above initial states; below the last observation, the run from the estimate at its step, "
        "and what is between them in σ, the standard deviation of the noise.",
        " ".join(
            filter(None, [panels.place, "" if observed or is_line else "Grey: not observed."])
        ),
    )
    return figure


def _labelled(quantity: Quantity) -> str:
    """Return the label of a quantity: description, symbol and unit."""
    words = f"{quantity.description}, {quantity.name}" if quantity.description else quantity.name
    return words if quantity.unit == "1" else f"{words} ({quantity.unit})"


def _range(panels: Panels) -> tuple[float, float]:
    """Return common limits of colours for all states; noise may exceed them."""
    shown = [panels.first_guess, panels.run]
    shown += [] if panels.truth is None else [panels.truth]
    low, high = (
        min(float(values.min()) for values in shown),
        max(float(values.max()) for values in shown),
    )
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _field(
    axes: Axes,
    panels: Panels,
    values: np.ndarray,
    title: str,
    low: float,
    high: float,
    label: str,
    colours: str = "viridis",
) -> None:
    if panels.is_line:
        axes.plot(panels.x, values[0], color=BLUE, lw=1.0)
        seen = values[np.isfinite(values)]
        low, high = float(seen.min(initial=low)), float(seen.max(initial=high))
        margin = 0.03 * (high - low)
        axes.set(title=title, ylabel=label, ylim=(low - margin, high + margin))
        return
    axes.set_facecolor("#e0e0e0")  # points without observations
    ends = (panels.x[0], panels.x[-1], panels.y[0], panels.y[-1])
    shown = image(axes, values, ends, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    axes.set_title(title)
    finite = values[np.isfinite(values)]
    color_bar(shown, axes, label, bool((finite < low).any()), bool((finite > high).any()))


def progress(work: Assimilation, deviations: Sequence[Deviation], title: str) -> Figure:
    """Plot J minus its last value, the gradient, and each parameter with its band."""
    history, truth, parameters = work.history, work.problem.truth, work.problem.model.parameters
    count = 2 + 2 * len(parameters)
    names = " and ".join(parameter.name for parameter in parameters)
    words = f"J, its gradient and {names} over the iterations of the search"
    figure = sheet(title, 9.0, 0.9 + 2.3 * count, description=words)
    grid = figure.subplots(count, 1)
    iteration, value, window = (history.of(name) for name in ("iteration", "J", "window"))
    # A stage repeats the iteration at which the one before it ended.
    starts = [0, *(np.flatnonzero(np.diff(iteration) == 0) + 1), len(iteration)]
    seen: set[float] = set()
    for number, (begin, end) in enumerate(itertools.pairwise(starts)):
        if end == len(iteration) and end - begin == 1 and float(window[begin]) in seen:
            continue  # the result of the first search, which was kept
        rows, steps = slice(begin, end), float(window[begin])
        last = float(value[rows][-1])
        above = np.where(value[rows] > last, value[rows] - last, np.nan)
        again = " again" if steps in seen else ""
        seen.add(steps)
        label = f"{steps:.0f} steps{again}, J = {last:.8g}"
        grid[0].semilogy(iteration[rows], above, marker=".", color=f"C{number % 8}", label=label)
    grid[0].set(title="J above the last value of its stage", ylabel="$J - J_\\mathrm{last}$")
    if (above > 0.5).any():
        grid[0].axhline(0.5, color=GREY, lw=0.8, ls="--")
        grid[0].annotate(
            "one standard deviation",
            (0.0, 0.5),
            xytext=(4, 3),
            textcoords="offset points",
            color=GREY,
            fontsize=8.0,
        )
    grid[1].semilogy(
        iteration,
        np.maximum(history.of("gradient"), 1e-300),
        color=ORANGE,
        marker=".",
        label="$|g|_\\infty$",
    )
    grid[1].set(title="Largest element of the projected gradient, scaled", ylabel="$|g|_\\infty$")
    steps_seen, whole = history.window, work.windows[-1]
    part = f"of {steps_seen} of {whole} steps" if steps_seen < whole else ""
    for index, quantity in enumerate(parameters):
        known = None if truth is None else float(truth.parameters[index])
        pair = grid[2 + 2 * index : 4 + 2 * index]
        _parameter(pair[0], pair[1], history, deviations[index], known, quantity, part)
    for axes in grid:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("iteration")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    grid[0].set_xlim(grid[1].get_xlim())
    grid[0].get_legend().set_title("J looks at")
    caption(
        figure,
        "J is half the sum of squared differences to observations and background, in standard "
        "deviations of each; 0.5 of it is one standard deviation of the estimate.",
        _of_bands(deviations),
    )
    return figure


def _of_bands(deviations: Sequence[Deviation]) -> str:
    """Return a description of the bands about the parameters."""
    spread = next(
        (deviation.ensemble for deviation in deviations if deviation.ensemble is not None), None
    )
    if spread is not None:
        return f"Bands: ± 1 standard deviation, the spread of {spread.members} assimilations."
    if any(deviation.sd is not None for deviation in deviations):
        return "Bands: ± 1 standard deviation, from the curvature of J at the estimate."
    return ""


def _parameter(
    axes: Axes,
    close: Axes,
    history: History,
    parameter_deviation: Deviation,
    truth: float | None,
    quantity: Quantity,
    part: str,
) -> None:
    """Plot one parameter: all iterations, and the last ones at the scale of its band."""
    iteration, values = history.of("iteration"), history.of(quantity.name)
    last = float(values[-1])
    sd = parameter_deviation.best
    deviation = f" ± {sd:.2g}" if sd is not None else ""
    if part and sd is not None and parameter_deviation.ensemble is None:
        deviation += f" ({part})"
    _lines(axes, iteration, values, truth)
    label = quantity.name if quantity.unit == "1" else f"{quantity.name} ({quantity.unit})"
    axes.set(title=f"{_labelled(quantity)} = {last:.6g}{deviation}", ylabel=label)
    axes.axhline(float(values[0]), color=BLACK, lw=0.6, ls=":", label="first guess")
    _lines(close, iteration, values, truth)
    close.set(title="The same, last half", ylabel=label)
    near = len(values) // 2
    low, high = float(values[near:].min()), float(values[near:].max())
    if sd is not None:
        close.axhspan(
            last - sd, last + sd, color=BLUE, alpha=0.18, lw=0, label="± 1 standard deviation"
        )
        low, high = max(low, last - 8.0 * sd), min(high, last + 8.0 * sd)
        low, high = min(low, last - 2.0 * sd), max(high, last + 2.0 * sd)
        close.set_title("The same, last half, with ± 1 standard deviation")
    margin = 0.05 * (high - low) or 1.0
    close.set(xlim=(iteration[near], iteration[-1] + 0.5), ylim=(low - margin, high + margin))


def _lines(axes: Axes, iteration: np.ndarray, values: np.ndarray, truth: float | None) -> None:
    axes.plot(iteration, values, color=BLUE, marker=".", label="estimate")
    if truth is not None:
        axes.axhline(truth, color=GREEN, lw=1.0, ls="--", label="truth")
