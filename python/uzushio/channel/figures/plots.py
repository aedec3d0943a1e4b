"""Plots of the statistics, in wall units and averaged over the two halves of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from uzushio.channel.figures.pictures import Slices
from uzushio.channel.reference import Profiles
from uzushio.figure_style import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PURPLE,
    sheet,
)

if TYPE_CHECKING:
    import xarray as xr

#: Constants of the logarithmic law for Re_tau near 180; J. Kim, P. Moin and R. Moser, J. Fluid
#: Mech. 177 (1987), section 4.
LOG_SLOPE, LOG_OFFSET = 2.5, 5.5

COMPONENTS = {"u": BLUE, "v": ORANGE, "w": GREEN}
BUDGET = {
    "production": BLUE,
    "dissipation": ORANGE,
    "viscous_diffusion": GREEN,
    "turbulent_transport": PURPLE,
    "pressure_transport": AMBER,
}

BUDGET_UP_TO = 60.0  #: z+ up to which the budget is drawn; nearly all happens below


@dataclass(frozen=True)
class Mean:
    """A mean profile of the lower half in wall units: heights, velocities, friction Reynolds no."""

    z: np.ndarray
    u: np.ndarray
    re_tau: float

    @classmethod
    def of(cls, statistics: xr.Dataset) -> Self:
        """Take the time average."""
        return cls(*half(statistics, "u", 1), float(statistics.attrs["re_tau"]))

    @classmethod
    def of_slices(cls, slices: Slices) -> Self:
        """Take the plane means of one instant."""
        z, u = fold(slices.z, slices.mean / slices.u_tau)
        re_tau = slices.u_tau / slices.viscosity
        return cls(z * re_tau, u, re_tau)


def fold(z: np.ndarray, profile: np.ndarray, sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Average a profile over the halves of the channel.

    Args:
        z: heights from 0 to 2, increasing, shape (n,).
        profile: shape (n,).
        sign: 1 for profiles that are even about the centre, -1 for odd ones.

    Returns:
        The heights up to the centre and the average there.
    """
    lower = z <= 1.0 + 1e-9
    other = np.interp(2.0 - z[lower], z, profile)
    return z[lower], 0.5 * (profile[lower] + sign * other)


def half(
    statistics: xr.Dataset, name: str, power: int, sign: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Fold the profile `name` of unit velocity to the `power`; heights and values in wall units."""
    profile = statistics[name]
    u_tau = float(statistics.attrs["u_tau"])
    z, values = fold(statistics[str(profile.dims[0])].values, profile.values, sign)
    return z * u_tau / float(statistics.attrs["viscosity"]), values / u_tau**power


def mean_profile(mean: Mean, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the mean velocity over the logarithm of the height, with the laws of the wall."""
    figure = sheet(title, 6.4, 4.4)
    axes = figure.subplots()
    wall = np.geomspace(0.1, 14.0, 50)
    outer = np.geomspace(8.0, max(mean.re_tau, 20.0), 50)
    axes.plot(wall, wall, "--", color=GREY, lw=1, label="$u^+ = z^+$")
    law = LOG_SLOPE * np.log(outer) + LOG_OFFSET
    label = f"$u^+ = {LOG_SLOPE:g}\\,\\ln z^+ + {LOG_OFFSET:g}$"
    axes.plot(outer, law, ":", color=GREY, lw=1.4, label=label)
    # Straight between the points of the grid and the wall, which a logarithmic axis bends.
    fine = np.geomspace(0.3, mean.z[-1], 400)
    profile = np.interp(fine, np.append(0.0, mean.z), np.append(0.0, mean.u))
    axes.plot(fine, profile, color=BLUE, label=f"this run, $Re_\\tau = {mean.re_tau:.4g}$")
    for one, marker in zip(references, MARKERS, strict=False):
        shown = one.z > 0
        _points(axes, one.z[shown], one.u[shown], marker, BLACK, _name(one))
    top = 1.08 * max([float(mean.u.max()), *(one.centre_velocity for one in references)])
    axes.set(xscale="log", xlim=(0.3, 1.15 * mean.re_tau), ylim=(0, top))
    axes.set(xlabel="$z^+$", ylabel="mean velocity $\\overline{u}^{\\,+}$")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.legend(loc="upper left")
    return figure


def stresses(statistics: xr.Dataset, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the r.m.s. of the three components and the Reynolds shear stress."""
    figure = sheet(title, 6.4, 4.4)
    axes = figure.subplots()
    for name, colour in COMPONENTS.items():
        z, values = half(statistics, f"{name}_rms", 1)
        axes.plot(z, values, color=colour, label=f"${name}'^+_\\mathrm{{rms}}$")
        for one, marker in zip(references, MARKERS, strict=False):
            _points(axes, one.z, getattr(one, f"{name}_rms"), marker, colour)
    z, uw = half(statistics, "uw", 2, -1.0)
    axes.plot(z, -uw, color=PURPLE, label="$-\\overline{u'w'}^{\\,+}$")
    for one, marker in zip(references, MARKERS, strict=False):
        _points(axes, one.z, one.minus_uw, marker, PURPLE)
    end = max([float(statistics.attrs["re_tau"]), *(one.z[-1] for one in references)])
    axes.set(xlim=(0, end), ylim=(0, None), xlabel="$z^+$")
    axes.set(ylabel="r.m.s. velocity and shear stress in wall units")
    _legend(axes, references)
    return figure


def budget(statistics: xr.Dataset, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the terms of the budget of turbulent kinetic energy near the wall."""
    figure = sheet(title, 7.0, 4.6)
    axes = figure.subplots()
    viscosity = float(statistics.attrs["viscosity"])
    with_budget = [one for one in references if one.budget]
    for name, colour in BUDGET.items():
        z, values = half(statistics, name, 4)
        sign = -1.0 if name == "dissipation" else 1.0
        axes.plot(z, sign * viscosity * values, color=colour, label=name.replace("_", " "))
        for one, marker in zip(with_budget, MARKERS, strict=False):
            near = one.z <= BUDGET_UP_TO
            _points(axes, one.z[near], one.budget[name][near], marker, colour)
    z, residual = half(statistics, "budget_residual", 4)
    axes.plot(z, viscosity * residual, color=GREY, lw=1, ls="--", label="sum of the terms")
    axes.axhline(0, color=BLACK, lw=0.6, zorder=0)
    axes.set(
        xlim=(0, BUDGET_UP_TO), xlabel="$z^+$", ylabel="gain of energy, times $\\nu/u_\\tau^4$"
    )
    _legend(axes, with_budget)
    return figure


def vorticity(statistics: xr.Dataset, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the r.m.s. of the vorticity; references give its value at the wall."""
    figure = sheet(title, 6.4, 4.4)
    axes = figure.subplots()
    viscosity = float(statistics.attrs["viscosity"])
    for name, colour in zip("xyz", COMPONENTS.values(), strict=True):
        z, values = half(statistics, f"vorticity_{name}_rms", 2)
        axes.plot(
            z, viscosity * values, color=colour, label=f"$\\omega'^+_{{{name},\\mathrm{{rms}}}}$"
        )
    at_wall = [one for one in references if one.wall_vorticity]
    for one, marker in zip(at_wall, MARKERS, strict=False):
        for value, colour in zip(one.wall_vorticity or (), COMPONENTS.values(), strict=False):
            _points(axes, np.zeros(1), np.array([value]), marker, colour)
    axes.set(xlim=(0, statistics.attrs["re_tau"]), ylim=(0, None))
    axes.set(xlabel="$z^+$", ylabel="r.m.s. vorticity, times $\\nu/u_\\tau^2$")
    _legend(axes, at_wall, " (at the wall)")
    return figure


def spectra(statistics: xr.Dataset, title: str) -> Figure:
    """Plot energy spectra over streamwise (above) and spanwise (below) wave numbers."""
    heights = np.unique(np.round(np.linspace(0, statistics.sizes["height"] - 1, 4)).astype(int))
    figure = sheet(title, 1.2 + 2.3 * len(heights), 5.4)
    grid = figure.subplots(2, len(heights), sharey="row", sharex="row", squeeze=False)
    u_tau = float(statistics.attrs["u_tau"])
    plus = u_tau / float(statistics.attrs["viscosity"])
    for row, axis in zip(grid, "xy", strict=True):
        wave = statistics[f"k{axis}"].values[1:]
        energy = statistics[f"spectrum_{axis}"].values[..., 1:] / wave[0] / u_tau**2
        for axes, i in zip(row, heights, strict=True):
            for component, (name, colour) in enumerate(COMPONENTS.items()):
                axes.plot(wave, energy[i, component], color=colour, label=f"${name}$")
            axes.set(xscale="log", xlabel=f"$k_{axis}\\,h$")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        row[0].set_ylabel(f"$E(k_{axis})\\,/\\,u_\\tau^2 h$")
        peak = float(energy[heights].max())
        if peak > 0.0:
            lowest = max(0.5 * float(energy[heights].min()), 1e-10 * peak)
            row[0].set(yscale="log", ylim=(lowest, 3.0 * peak))
    for axes, i in zip(grid[0], heights, strict=True):
        z = float(statistics["height"][i])
        axes.set_title(f"$z/h = {z:.3g}$,  $z^+ = {min(z, 2.0 - z) * plus:.3g}$")
    grid[0, 0].legend(loc="lower left")
    return figure


def _points(
    axes: Axes, x: np.ndarray, y: np.ndarray, marker: str, colour: str, label: str | None = None
) -> None:
    """Draw a reference's points, hollow."""
    axes.plot(x, y, marker, mfc="none", mec=colour, mew=0.8, label=label, clip_on=False)


def _name(one: Profiles) -> str:
    return f"{one.label}, $Re_\\tau = {one.re_tau:.4g}$"


def _legend(axes: Axes, references: Sequence[Profiles], note: str = "") -> None:
    """Name the lines at the upper right, and below the markers that all quantities share."""
    lines = axes.legend(loc="upper right", bbox_to_anchor=(1.0, 1.0))
    axes.add_artist(lines)
    if not references:
        return
    markers = [
        Line2D([], [], ls="", marker=marker, mfc="none", mec=BLACK, mew=0.8)
        for _, marker in zip(references, MARKERS, strict=False)
    ]
    names = [f"{_name(one)}{note}" for one in references]
    figure = axes.get_figure()
    assert figure is not None
    figure.legend(markers, names, loc="outside lower right", ncols=2)
