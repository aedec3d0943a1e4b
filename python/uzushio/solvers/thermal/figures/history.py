"""Kinetic energy, transfer of scalars and forces on bodies over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from uzushio._base.config.quantities import with_unit
from uzushio._base.figure_style import caption, sheet
from uzushio._base.files import atomic_file
from uzushio.solvers.thermal.case import ThermalCase
from uzushio.solvers.thermal.nusselt import nusselt_factors

#: Part of the samples at the start that may be outside the axes, because they are much larger.
_START = 0.05


def write(path: Path, times: np.ndarray, values: Mapping[str, np.ndarray]) -> Path:
    """Write the samples as CSV; return the path."""
    rows = np.column_stack([times, *values.values()])
    with atomic_file(path) as part:
        header = ",".join(["time", *values])
        np.savetxt(part, rows, "%.10g", ",", header=header, comments="")
    return path


def history(
    case: ThermalCase, times: np.ndarray, values: Mapping[str, np.ndarray], title: str
) -> Figure:
    """Draw the energy, the transfer of each scalar and the forces over time.

    Args:
        case: the case.
        times: times of the samples.
        values: samples, with the names of `ThermalSolver`.
        title: title of the figure.
    """
    units, energy = case.units, values["energy"]
    dimension = len(case.grid.axes)
    panels = [(units.label("kinetic energy", length=2 + dimension, time=-2), {"": energy})]
    for name, scalar in case.scalars.items():
        factors = nusselt_factors(case, name)
        head = f"flux/{name}/"
        by_place = {
            key.removeprefix(head): series for key, series in values.items() if key.startswith(head)
        }
        numbers = {side: by_place[side] * factor for side, factor in factors.items()}
        fluxes = {place: series for place, series in by_place.items() if place not in factors}
        if numbers:
            which = "" if len(case.scalars) == 1 else f" of {name.replace('_', ' ')}"
            panels.append((f"Nusselt number{which}", numbers))
        if fluxes:
            label = f"flux of {name.replace('_', ' ')}"
            panels.append((with_unit(label, units.text(1, -1, scalar.unit)), fluxes))
    forces = {
        key.removeprefix("force/").replace("/", ", "): series
        for key, series in values.items()
        if key.startswith("force/")
    }
    if forces:
        unit = units.label("force / density", length=1 + dimension, time=-2)
        panels.append((unit, forces))
    size = 7.4, 2.3 * len(panels) + 0.9
    words = "Kinetic energy, transfer of scalars and forces on bodies over time"
    figure = sheet(title, *size, "constrained", words)
    drawn = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (label, curves) in zip(drawn, panels, strict=True):
        for number, (name, curve) in enumerate(curves.items()):
            axes.plot(times, curve, label=name, linestyle=("-", "--", "-.", ":")[number % 4])
        axes.set_ylabel(label)
        _limit(axes, list(curves.values()))
        if len(curves) > 1 or "" not in curves:
            axes.legend(loc="best", ncols=2 if len(curves) > 3 else 1)
    drawn[-1].set_xlabel(units.axis("t", time=1, name="time"))
    caption(
        figure,
        "The force is that of the fluid on the body." if forces else "",
        "Fluxes are means over the surface: through boundaries into the box, from bodies into "
        "the flow. The Nusselt number is the flux over that of conduction between both walls."
        if case.scalars
        else "",
    )
    return figure


def _limit(axes: Axes, curves: list[np.ndarray]) -> None:
    """Leave a much larger start out of the axes, so that the rest can be seen."""
    first = int(_START * len(curves[0])) + 1
    later = np.concatenate([curve[first:] for curve in curves])
    if len(later) < 2 or not np.isfinite(later).all():
        return
    low, high = float(later.min()), float(later.max())
    whole = np.concatenate(curves)
    if np.ptp(whole) > 4.0 * max(high - low, 1e-3 * max(abs(low), abs(high))):
        margin = 0.15 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(low - margin, high + margin)
