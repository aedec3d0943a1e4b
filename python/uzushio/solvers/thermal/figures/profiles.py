"""Profiles of velocity and scalars along lines."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from uzushio._base.config.quantities import with_unit
from uzushio._base.figure_style import GREY, caption, sheet
from uzushio.solvers.thermal.case import AXES, ThermalCase
from uzushio.solvers.thermal.slices import Line


def profiles(case: ThermalCase, lines: Sequence[Line], title: str) -> Figure:
    """Draw the velocity, and below it each scalar, along the lines."""
    units, rows = case.units, 1 + len(case.scalars)
    words = "Velocity" + "".join(f", {name.replace('_', ' ')}" for name in case.scalars)
    where = "centrelines" if not case.bodies else "lines through the centre of the bodies"
    size = 3.6 * len(lines) + 0.6, 2.6 * rows + 0.9
    figure = sheet(title, *size, "constrained", f"{words} along the {where}")
    grid = figure.subplots(rows, len(lines), squeeze=False, sharey="row", sharex="col")
    for column, line in zip(grid.T, lines, strict=True):
        for number, values in enumerate(line.velocity):
            column[0].plot(line.positions, values, label=f"${'uvw'[number]}$")
        column[0].axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
        for axes, (_, values) in zip(column[1:], line.scalars.items(), strict=True):
            axes.plot(line.positions, values)
        others = (
            f"${AXES[axis]}$ = {at:.4g}{units.after_number(length=1)}"
            for axis, at in line.at.items()
        )
        column[0].set_title(", ".join(others))
        column[-1].set_xlabel(units.axis(AXES[line.axis], length=1))
    grid[0, 0].set_ylabel(units.label("velocity", length=1, time=-1))
    for axes, (name, scalar) in zip(grid[1:, 0], case.scalars.items(), strict=True):
        axes.set_ylabel(with_unit(name.replace("_", " "), scalar.unit))
    grid[0, -1].legend(loc="best")
    if case.bodies:
        caption(figure, "Lines end at bodies.")
    return figure
