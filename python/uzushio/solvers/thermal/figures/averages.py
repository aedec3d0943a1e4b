"""Averages of fields: profiles if they depend on one axis, otherwise planes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from uzushio._base.config.quantities import with_unit
from uzushio._base.figure_style import caption, sheet
from uzushio.solvers.thermal.case import AXES, ThermalCase
from uzushio.solvers.thermal.figures import moments, pictures
from uzushio.solvers.thermal.slices import axes_of_planes, plane_of

if TYPE_CHECKING:
    import xarray as xr


def figures(case: ThermalCase, statistics: xr.Dataset, title: str) -> Iterator[tuple[str, Figure]]:
    """Yield the names and figures of the averages of velocity and scalars."""
    names = [
        name
        for name in ("velocity", *case.scalars, "pressure", "eddy_viscosity")
        if name in statistics
    ]
    left = {str(dim) for name in names for dim in statistics[name].dims} & {*AXES}
    if len(left) == 1:
        axis = left.pop()
        yield "mean_profiles", _profiles(case, statistics, names, axis, title)
        yield from moments.figures(case, statistics, axis, title)
        return
    if left != {*AXES[: len(case.grid.axes)]}:
        return
    fields = {}
    for name in names:
        if name not in ("pressure", "eddy_viscosity"):
            values = np.asarray(statistics[name].values)
            fields[name] = values if "z" in left else values[np.newaxis]
    if not fields:
        return
    for axes in axes_of_planes(len(case.grid.axes)):
        figure = pictures.plane(case, plane_of(case, axes, fields), f"{title}, averages", "Mean")
        yield f"mean_plane_{''.join(AXES[axis] for axis in axes)}", figure


def _profiles(
    case: ThermalCase, statistics: xr.Dataset, names: list[str], axis: str, title: str
) -> Figure:
    """Draw mean and r.m.s. along the axis that is left."""
    units = case.units
    size = 7.6, 2.5 * len(names) + 0.9
    figure = sheet(f"{title}, averages", *size, "constrained", f"Averages of fields along {axis}")
    grid = figure.subplots(len(names), 2, squeeze=False, sharex=True)
    position = statistics[axis].values
    for row, name in zip(grid, names, strict=True):
        unit = _unit(case, name)
        for axes, suffix, what in zip(row, ("", "_rms"), ("mean", "r.m.s."), strict=True):
            values = statistics[name + suffix].values
            if name == "velocity":
                for number, curve in enumerate(np.moveaxis(values, -1, 0)):
                    axes.plot(position, curve, label=f"${'uvw'[number]}$")
                axes.legend(loc="best")
            else:
                axes.plot(position, values)
            axes.set_ylabel(with_unit(f"{what} {name.replace('_', ' ')}", unit))
    for axes in grid[-1]:
        axes.set_xlabel(units.axis(axis, length=1))
    samples = int(statistics.attrs.get("samples", 0))
    caption(figure, f"Averages of {samples:,} samples. R.m.s.: root of the variance.")
    return figure


def _unit(case: ThermalCase, name: str) -> str:
    if name in case.scalars:
        return case.scalars[name].unit
    lengths, times = {"velocity": (1, -1), "pressure": (2, -2), "eddy_viscosity": (2, -1)}[name]
    return case.units.text(lengths, times)
