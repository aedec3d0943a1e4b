"""Covariances along an axis, and averages in wall units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from uzushio._base.config.quantities import with_unit
from uzushio._base.figure_style import caption, sheet
from uzushio.solvers.thermal.case import ThermalCase

if TYPE_CHECKING:
    import xarray as xr

Curves = Mapping[str, np.ndarray]


def figures(
    case: ThermalCase, statistics: xr.Dataset, axis: str, title: str
) -> Iterator[tuple[str, Figure]]:
    """Yield the names and figures of covariances and of averages in wall units, if there are any.

    Args:
        case: the case.
        statistics: averages of fields that depend on one axis.
        axis: that axis.
        title: title of the figures.
    """
    panels = covariances(case, statistics)
    if panels:
        yield "mean_covariances", _covariances(case, statistics, axis, title, panels)
    if "velocity_plus" in statistics and _is_sheared(statistics):
        yield "mean_wall_units", _wall_units(case, statistics, axis, title, panels)


def covariances(case: ThermalCase, statistics: xr.Dataset) -> dict[tuple[str, str], Curves]:
    """Return the profiles of covariances of velocity and scalars, by both names and by symbol."""
    names = ["velocity", *case.scalars]
    by_pair: dict[tuple[str, str], Curves] = {}
    for name in names:
        for other in names:
            key = f"covariance_{name}_{other}"
            if key not in statistics:
                continue
            values = statistics[key].values
            if values.ndim == 3:
                curves = {
                    f"$\\overline{{{_prime(p)}{_prime(q)}}}$": values[:, p, q]
                    for p in range(values.shape[1])
                    for q in range(p, values.shape[2])
                }
            elif values.ndim == 2:
                curves = {
                    f"$\\overline{{{_prime(p)}s'}}$": values[:, p] for p in range(values.shape[1])
                }
            else:
                curves = {"": values}
            by_pair[name, other] = curves
    return by_pair


def _prime(component: int) -> str:
    return f"{'uvw'[component]}'"


def _words(name: str, other: str) -> str:
    if name == other == "velocity":
        return "Reynolds stress / density"
    if "velocity" in (name, other):
        scalar = other if name == "velocity" else name
        return f"turbulent flux\nof {scalar.replace('_', ' ')}"
    if name == other:
        return f"variance of {name.replace('_', ' ')}"
    return f"covariance of {name.replace('_', ' ')} and {other.replace('_', ' ')}"


def _unit(case: ThermalCase, names: tuple[str, str]) -> str:
    powers = names.count("velocity")
    units = [case.scalars[name].unit for name in names if name != "velocity"]
    used = [unit for unit in units if unit != "1"]
    squared = f"{used[0]}$^2$" if len(used) == 2 and used[0] == used[1] else " ".join(used)
    return case.units.text(powers, -powers, squared or "1")


def _covariances(
    case: ThermalCase,
    statistics: xr.Dataset,
    axis: str,
    title: str,
    panels: Mapping[tuple[str, str], Curves],
) -> Figure:
    """Draw one panel for each pair of fields."""
    size = 7.4, 2.7 * len(panels) + 0.9
    figure = sheet(f"{title}, averages", *size, "constrained", f"Covariances along {axis}")
    drawn = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (names, curves) in zip(drawn, panels.items(), strict=True):
        for number, (label, values) in enumerate(curves.items()):
            axes.plot(statistics[axis].values, values, label=label, linestyle=_dashes(number))
        axes.set_ylabel(with_unit(_words(*names), _unit(case, names)))
        if len(curves) > 1:
            axes.legend(loc="best", ncols=2)
    drawn[-1].set_xlabel(case.units.axis(axis, length=1))
    samples = int(statistics.attrs.get("samples", 0))
    caption(figure, f"Averages of {samples:,} samples; $s$: the scalar.")
    return figure


def _dashes(number: int) -> str:
    return ("-", "--", "-.", ":")[number % 4]


def _is_sheared(statistics: xr.Dataset) -> bool:
    """Return whether the flow along the walls is more than its fluctuations."""
    u_tau = statistics["u_tau"].values
    mean = np.abs(statistics["velocity_plus"].values).max(initial=0.0)
    fluctuations = statistics["velocity_rms"].values.max(initial=0.0)
    return bool((u_tau > 0.0).all() and mean * u_tau.max() > fluctuations)


def _wall_units(
    case: ThermalCase,
    statistics: xr.Dataset,
    axis: str,
    title: str,
    panels: Mapping[tuple[str, str], Curves],
) -> Figure:
    """Draw mean, r.m.s. and covariances from each wall to the middle, in its wall units."""
    scalars = [name for name in case.scalars if f"{name}_plus" in statistics]
    stresses = panels.get(("velocity", "velocity"))
    rows = 2 + bool(stresses) + len(scalars)
    figure = sheet(
        f"{title}, averages in wall units",
        7.4, 2.5 * rows + 0.9, "constrained", f"Averages in wall units along {axis}",
    )  # fmt: skip
    drawn = figure.subplots(rows, 1, sharex=True)
    distance = statistics["wall_distance_plus"].values
    walls, u_tau = [str(wall) for wall in statistics["wall"].values], statistics["u_tau"].values
    components = "uvw"[: len(case.grid.axes)]
    # Only the wall's own half of the profile is in its units.
    position = statistics[axis].values
    nearest = np.argmin([np.abs(position - _end(case, axis, wall)) for wall in walls], axis=0)
    for number in range(len(walls)):
        at = np.flatnonzero(nearest == number)
        at = at[np.argsort(distance[at])]
        style, unit = _dashes(number), u_tau[number]
        for row, key, scale in ((0, "velocity_plus", 1.0), (1, "velocity_rms", unit)):
            for p, component in enumerate(components):
                values, label = statistics[key].values[at, p] / scale, f"${component}$"
                drawn[row].plot(distance[at], values, style, color=f"C{p}", label=label)
        for p, (label, values) in enumerate((stresses or {}).items()):
            drawn[2].plot(distance[at], values[at] / unit**2, style, color=f"C{p}", label=label)
        for axes, name in zip(drawn[rows - len(scalars) :], scalars, strict=True):
            axes.plot(distance[at], statistics[f"{name}_plus"].values[at], style, color="C0")
    labels = ["mean velocity$^+$", "r.m.s. velocity$^+$"]
    labels += ["Reynolds stress$^+$"] if stresses else []
    labels += [f"mean {name.replace('_', ' ')}$^+$" for name in scalars]
    for axes, label in zip(drawn, labels, strict=True):
        axes.set_ylabel(label)
        axes.set_xscale("log")
        handles, names = axes.get_legend_handles_labels()
        if names:  # those of the first wall
            axes.legend(handles[: len({*names})], names[: len({*names})], loc="best", ncols=2)
    drawn[-1].set_xlabel("distance from the wall$^+$")
    wall_values = ", ".join(
        f"{value:.4g} at {wall}" for value, wall in zip(u_tau, walls, strict=True)
    )
    unit = case.units.after_number(length=1, time=-1)
    lines = f"Full lines: {walls[0]}, dashed lines: {walls[1]}. " if len(walls) > 1 else ""
    caption(
        figure,
        f"{lines}Wall units of the nearest wall: $u_\\tau$ = {wall_values}{unit}; $\\nu$ = "
        f"{case.fluid.viscosity:.4g}{case.units.after_number(length=2, time=-1)}.",
    )
    return figure


def _end(case: ThermalCase, axis: str, wall: str) -> float:
    faces = case.grid.axes["xyz".index(axis)].positions()
    return float(faces[0] if wall.endswith("min") else faces[-1])
