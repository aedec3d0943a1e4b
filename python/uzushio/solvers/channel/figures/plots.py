"""Plots of profiles, in wall units and averaged over the two halves of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from uzushio._base.figure_style import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PURPLE,
    caption,
    sheet,
)
from uzushio.solvers.channel.figures.averages import Averages, Profile, fold
from uzushio.solvers.channel.figures.pictures import Slices
from uzushio.solvers.channel.reference import Profiles

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

BUDGET_UP_TO = 60.0  #: maximum z+ of the plot of the budget; above, the terms are small


@dataclass(frozen=True)
class Mean:
    """Mean profile of the lower half in wall units, with the friction Reynolds number.

    Attributes:
        profile: heights and velocities, with their interval if they are averages over time.
        re_tau: friction Reynolds number.
        re_tau_half_width: half width of its 95 % interval, if known.
        caption_lines: lines of the caption.
    """

    profile: Profile
    re_tau: float
    re_tau_half_width: float | None
    caption_lines: tuple[str, ...]

    @classmethod
    def of(cls, averages: Averages) -> Self:
        """Return the time average."""
        width = averages.half_width(lambda dataset: float(dataset.attrs["re_tau"]))
        return cls(
            averages.profile("u", 1),
            averages.re_tau,
            None if width is None else float(width),
            averages.caption_lines(["u"]),
        )

    @classmethod
    def of_slices(cls, slices: Slices) -> Self:
        """Return the plane means of one instant."""
        z, u = fold(slices.z, slices.mean / slices.u_tau)
        re_tau = slices.u_tau / slices.viscosity
        caption_lines = ("Average over planes and both halves of the channel at one instant only.",)
        return cls(Profile(z * re_tau, u, None), re_tau, None, caption_lines)


def mean_profile(mean: Mean, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the mean velocity over the logarithm of the height, with the laws of the wall."""
    words = "Mean streamwise velocity over the distance from the wall, in wall units"
    figure = sheet(title, 6.4, 4.6, description=words)
    axes = figure.subplots()
    z, u, width = mean.profile
    wall = np.geomspace(0.1, 14.0, 50)
    outer = np.geomspace(8.0, max(mean.re_tau, 20.0), 50)
    axes.plot(wall, wall, "--", color=GREY, lw=1, label="$u^+ = z^+$")
    law = LOG_SLOPE * np.log(outer) + LOG_OFFSET
    label = f"$u^+ = {LOG_SLOPE:g}\\,\\ln z^+ + {LOG_OFFSET:g}$"
    axes.plot(outer, law, ":", color=GREY, lw=1.4, label=label)
    # Linear between grid points and the wall; a logarithmic axis shows these lines as curves.
    fine = np.geomspace(0.3, z[-1], 400)
    known = "" if not mean.re_tau_half_width else f" \\pm {mean.re_tau_half_width:.2g}"
    band = None if width is None else _from_wall(fine, z, width)
    label = f"this run, $Re_\\tau = {mean.re_tau:.4g}{known}$"
    _line(axes, Profile(fine, _from_wall(fine, z, u), band), BLUE, label)
    for reference, marker in zip(references, MARKERS, strict=False):
        shown = reference.z > 0
        points(axes, reference.z[shown], reference.u[shown], marker, BLACK, named(reference))
    top = 1.08 * max([float(u.max()), *(reference.centre_velocity for reference in references)])
    axes.set(xscale="log", xlim=(0.3, 1.15 * mean.re_tau), ylim=(0, top))
    axes.set(xlabel="$z^+$", ylabel="mean velocity $\\overline{u}^{\\,+}$")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.legend(loc="upper left")
    caption(figure, *mean.caption_lines)
    return figure


def _from_wall(at: np.ndarray, z: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate a profile that is zero at the wall."""
    return np.asarray(np.interp(at, np.append(0.0, z), np.append(0.0, values)))


def stresses(averages: Averages, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the r.m.s. of the three components and the Reynolds shear stress."""
    words = "R.m.s. velocity fluctuations and Reynolds shear stress over the distance from the wall"
    figure = sheet(title, 6.4, 4.8, description=words)
    axes = figure.subplots()
    for name, colour in COMPONENTS.items():
        label = f"${name}'^+_\\mathrm{{rms}}$"
        _line(axes, averages.profile(f"{name}_rms", 1), colour, label)
        for reference, marker in zip(references, MARKERS, strict=False):
            points(axes, reference.z, getattr(reference, f"{name}_rms"), marker, colour)
    shear = averages.profile("uw", 2, -1.0, -1.0)
    _line(axes, shear, PURPLE, "$-\\overline{u'w'}^{\\,+}$")
    for reference, marker in zip(references, MARKERS, strict=False):
        points(axes, reference.z, reference.minus_uw, marker, PURPLE)
    end = max([averages.re_tau, *(reference.z[-1] for reference in references)])
    axes.set(xlim=(0, end), ylim=(0, None), xlabel="$z^+$")
    axes.set(ylabel="r.m.s. velocity and shear stress in wall units")
    caption(figure, *averages.caption_lines(["uu", "vv", "ww"]))
    legend(axes, references)
    return figure


def budget(averages: Averages, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the terms of the budget of turbulent kinetic energy near the wall."""
    words = (
        "Budget of the turbulent kinetic energy near the wall: production, dissipation, transport"
    )
    figure = sheet(title, 7.0, 5.0, description=words)
    axes = figure.subplots()
    with_budget = [reference for reference in references if reference.budget]
    for name, colour in BUDGET.items():
        sign = -1.0 if name == "dissipation" else 1.0
        profile = averages.profile(name, 4, factor=sign * averages.viscosity)
        _line(axes, profile, colour, name.replace("_", " "))
        for reference, marker in zip(with_budget, MARKERS, strict=False):
            near = reference.z <= BUDGET_UP_TO
            points(axes, reference.z[near], reference.budget[name][near], marker, colour)
    z, residual, _ = averages.profile("budget_residual", 4, factor=averages.viscosity)
    axes.plot(z, residual, color=GREY, lw=1, ls="--", label="sum of the terms")
    axes.axhline(0, color=BLACK, lw=0.6, zorder=0)
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])  # space for the legend
    axes.set(
        xlim=(0, BUDGET_UP_TO), xlabel="$z^+$", ylabel="gain of energy, times $\\nu/u_\\tau^4$"
    )
    caption(figure, *averages.caption_lines(["uu", "vv", "ww"]))
    legend(axes, with_budget)
    return figure


def vorticity(averages: Averages, references: Sequence[Profiles], title: str) -> Figure:
    """Plot the r.m.s. of the vorticity; references have its value at the wall."""
    words = "R.m.s. vorticity over the distance from the wall"
    figure = sheet(title, 6.4, 4.8, description=words)
    axes = figure.subplots()
    for name, colour in zip("xyz", COMPONENTS.values(), strict=True):
        profile = averages.profile(f"vorticity_{name}_rms", 2, factor=averages.viscosity)
        _line(axes, profile, colour, f"$\\omega'^+_{{{name},\\mathrm{{rms}}}}$")
    at_wall = [reference for reference in references if reference.wall_vorticity]
    for reference, marker in zip(at_wall, MARKERS, strict=False):
        for value, colour in zip(reference.wall_vorticity or (), COMPONENTS.values(), strict=False):
            points(axes, np.zeros(1), np.array([value]), marker, colour)
    axes.set(xlim=(0, averages.re_tau), ylim=(0, None))
    axes.set(xlabel="$z^+$", ylabel="r.m.s. vorticity, times $\\nu/u_\\tau^2$")
    caption(figure, *averages.caption_lines([f"vorticity_{name}" for name in "xyz"]))
    legend(axes, at_wall, " (at the wall)")
    return figure


def _line(axes: Axes, profile: Profile, colour: str, label: str) -> None:
    """Draw a profile, with its interval as a band."""
    axes.plot(profile.z, profile.values, color=colour, label=label)
    if profile.half_width is not None:
        low, high = profile.values - profile.half_width, profile.values + profile.half_width
        axes.fill_between(profile.z, low, high, color=colour, alpha=0.25, lw=0)


def points(
    axes: Axes, x: np.ndarray, y: np.ndarray, marker: str, colour: str, label: str | None = None
) -> None:
    """Draw a reference's points as hollow markers."""
    axes.plot(x, y, marker, mfc="none", mec=colour, mew=0.8, label=label, clip_on=False)


def named(reference: Profiles) -> str:
    """Return the label of a reference in a legend."""
    return f"{reference.label}, $Re_\\tau = {reference.re_tau:.4g}$"


def legend(axes: Axes, references: Sequence[Profiles], note: str = "") -> None:
    """Draw a legend of the lines, and of the markers common to all quantities."""
    lines, names = axes.get_legend_handles_labels()
    for reference, marker in zip(references, MARKERS, strict=False):
        lines.append(Line2D([], [], ls="", marker=marker, mfc="none", mec=BLACK, mew=0.8))
        names.append(f"{named(reference)}{note}")
    axes.legend(lines, names, loc="upper right")
