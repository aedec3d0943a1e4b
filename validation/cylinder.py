"""Flow past a circular cylinder beside published data: steady at Re = 40, shedding at Re = 100.

python validation/cylinder.py [--only steady shedding]

Updates docs/validation/cylinder.csv. The grids are those of examples/cases/cylinder.yaml, coarser
and finer by a factor; all of them take about a quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from uzushio.case.model import load_case
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "docs" / "validation" / "cylinder.csv"
CASE = ROOT / "examples" / "cases" / "cylinder.yaml"

#: Re = 40: drag coefficient and length of the wake behind the cylinder, in diameters. Linnick and
#: Fasel (2005).
STEADY = (1.54, 2.28)
#: Re = 100: mean drag coefficient, amplitude of the lift coefficient, Strouhal number. Linnick and
#: Fasel (2005).
SHEDDING = (1.34, 0.333, 0.166)
Row = tuple[str, str, str, str, float, float]


def solver_of(finer: float, **changes: Any) -> ThermalSolver:
    """Return the example's flow with other values and `finer` times its cells along each axis."""
    values = {"time.end": 1e3, "numerics.tolerance": 1e-6, **changes}
    case = cast(ThermalCase, load_case(CASE, values))
    cells = {
        f"grid.{name}.cells": 2 * round(axis.cells * finer / 2)
        for name, axis in zip("xy", case.grid.axes, strict=True)
    }
    return ThermalSolver(load_case(CASE, {**values, **cells}), MPI.COMM_SELF)


def grid_of(solver: ThermalSolver) -> tuple[str, str]:
    """Return the numbers of cells, and the width of the smallest cell, as text."""
    axes = cast(ThermalCase, solver.case).grid.axes
    width = max(float(np.diff(axis.positions()).min()) for axis in axes)
    return " x ".join(str(axis.cells) for axis in axes), f"1/{1 / width:.0f}"


def wake_length(solver: ThermalSolver) -> float:
    """Return the distance from the cylinder at which the velocity on the axis changes its sign."""
    case = cast(ThermalCase, solver.case)
    x, y = (axis.positions() for axis in case.grid.axes)
    u = solver.core.values("face_velocity", 0, 0)[0, 0]
    above = int(np.searchsorted(0.5 * (y[1:] + y[:-1]), 0.0))
    centres = 0.5 * (y[above - 1] + y[above]), 0.5 * (y[above] + y[above + 1])
    share = centres[1] / (centres[1] - centres[0])  # of the row below
    line = share * u[above - 1] + (1 - share) * u[above]
    at = np.flatnonzero((x[:-1] > 0.5) & (line[:-1] < 0.0) & (line[1:] >= 0.0))[-1]
    zero = x[at] - line[at] * (x[at + 1] - x[at]) / (line[at + 1] - line[at])
    return float(zero - 0.5)


def steady() -> Iterator[Row]:
    """Yield figures of the steady flow."""
    for finer in (2 / 3, 1.0, 4 / 3):
        solver = solver_of(finer, **{"fluid.viscosity": 1 / 40, "initial.noise.velocity": 0})
        while solver.time < 80.0:
            solver.step(80.0 - solver.time)
        drag = 2.0 * solver.body_forces()["cylinder"][0]
        for name, value, published in zip(
            ("C_d", "wake length"), (drag, wake_length(solver)), STEADY, strict=True
        ):
            yield ("Re = 40", *grid_of(solver), name, value, published)


def shedding() -> Iterator[Row]:
    """Yield figures of the periodic flow, over the last whole periods from time 80 to 120."""
    for finer in (2 / 3, 1.0, 4 / 3, 5 / 3):
        solver = solver_of(finer)
        samples = []
        while solver.time < 120.0:
            solver.step()
            if solver.time > 80.0:
                samples.append((solver.time, *solver.body_forces()["cylinder"]))
        time, drag, lift = np.array(samples).T * ((1.0,), (2.0,), (2.0,))
        rising = np.flatnonzero((lift[:-1] < 0.0) & (lift[1:] >= 0.0))
        crossings = time[rising] - lift[rising] * np.diff(time)[rising] / np.diff(lift)[rising]
        whole = slice(rising[0], rising[-1] + 1)
        mean = np.trapezoid(drag[whole], time[whole]) / (time[whole][-1] - time[whole][0])
        found = (
            mean,
            0.5 * np.ptp(lift[whole]),
            (len(crossings) - 1) / (crossings[-1] - crossings[0]),
        )
        for name, value, published in zip(("mean C_d", "C_l", "St"), found, SHEDDING, strict=True):
            yield ("Re = 100", *grid_of(solver), name, float(value), published)


PARTS = {"steady": steady, "shedding": shedding}


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    only = parser.parse_args().only
    rows = []
    if OUTPUT.exists():  # figures of the other case are kept
        with OUTPUT.open(newline="") as file:
            names = {"steady": "Re = 40", "shedding": "Re = 100"}
            computed = {names[part] for part in only}
            rows = [row for row in [*csv.reader(file)][1:] if row[0] not in computed]
    for part in only:
        for *words, value, published in PARTS[part]():
            rows.append([*words, f"{value:.4g}", f"{published:g}", f"{value / published - 1:+.1%}"])
            print(*rows[-1], sep=", ", flush=True)
    with OUTPUT.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("case", "cells", "width", "quantity", "value", "published", "deviation"), *rows]
        )


if __name__ == "__main__":
    main()
