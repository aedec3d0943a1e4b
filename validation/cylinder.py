"""Flow past a circular cylinder beside published data: steady at Re = 40, shedding at Re = 100.

python validation/cylinder.py [--only steady shedding position]

Updates docs/validation/cylinder.csv. The grids of the first two are those of
examples/cases/cylinder.yaml, coarser and finer by a factor; they take about a quarter of an hour on
one core. `position` moves the centre of the cylinder by half a cell against a grid that is uniform
around it, of 20 cells across the cylinder and of 40: half an hour and four hours on one core. Its
flows are kept in build/validation: a run that was interrupted continues. The finer grid begins at
time 80 with the flow on the coarser one.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
from _kept_flow import KeptFlow  # type: ignore[import-not-found]
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
#: Shift of the cylinder's centre from a vertex of the grid along x and y, in cells.
POSITIONS = {"centre on a vertex": 0.0, "centre in a cell": 0.5}
Row = tuple[str, str, str, str, float, float]


def solver_of(finer: float, **changes: Any) -> ThermalSolver:
    """Return the example's flow with other values and `finer` times its cells along each axis."""
    values = {"time.end": 1e3, "numerics.tolerance": 1e-6, **changes}
    case = cast(ThermalCase, load_case(CASE, values))
    cells = {
        f"grid.{name}.cells": 2 * round(axis.cells * finer / 2)
        for name, axis in zip("xy", case.grid.axes, strict=True)
    }
    return ThermalSolver(load_case(CASE, {**values, **cells}), MPI.COMM_SELF).begin()


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


def over_periods(samples: list[list[float]]) -> tuple[float, float, float, float]:
    """Return mean drag, amplitude and r.m.s. of the lift, and frequency, over whole periods.

    Args:
        samples: times, and forces along x and y.
    """
    time, drag, lift = np.array(samples).T * ((1.0,), (2.0,), (2.0,))
    rising = np.flatnonzero((lift[:-1] < 0.0) & (lift[1:] >= 0.0))
    crossings = time[rising] - lift[rising] * np.diff(time)[rising] / np.diff(lift)[rising]
    whole = slice(rising[0], rising[-1] + 1)
    time, drag, lift = time[whole], drag[whole], lift[whole]
    mean, square = (
        float(np.trapezoid(values, time) / (time[-1] - time[0])) for values in (drag, lift**2)
    )
    frequency = float((len(crossings) - 1) / (crossings[-1] - crossings[0]))
    return mean, 0.5 * float(np.ptp(lift)), square**0.5, frequency


def shedding() -> Iterator[Row]:
    """Yield figures of the periodic flow, over the last whole periods from time 80 to 120."""
    for finer in (2 / 3, 1.0, 4 / 3, 5 / 3):
        solver = solver_of(finer)
        samples = []
        while solver.time < 120.0:
            solver.step()
            if solver.time > 80.0:
                samples.append([solver.time, *solver.body_forces()["cylinder"]])
        drag, amplitude, _, frequency = over_periods(samples)
        measured = (drag, amplitude, frequency)
        for name, value, published in zip(
            ("mean C_d", "C_l", "St"), measured, SHEDDING, strict=True
        ):
            yield ("Re = 100", *grid_of(solver), name, value, published)


def faces(low: float, high: float, start: float, end: float, across: int) -> list[float]:
    """Return the faces of cells of width 1 / `across` from `low` to `high`, wider ones beyond."""

    def beyond(length: float) -> np.ndarray:
        growth = 1.06 ** (20 / across)
        cells = round(np.log(1.0 + length * across * (1.0 - 1.0 / growth)) / np.log(growth))
        least, most = 1.0 + 1e-9, 2.0
        for _ in range(200):  # the growth with which the cells fill the length
            growth = 0.5 * (least + most)
            fills = growth * (growth**cells - 1.0) / (growth - 1.0) >= length * across
            least, most = (least, growth) if fills else (growth, most)
        distances = np.cumsum(growth ** np.arange(1, cells + 1)) / across
        return np.asarray(distances * (length / distances[-1]))

    inner = np.linspace(low, high, round((high - low) * across) + 1)
    return [*(low - beyond(low - start)[::-1]), *inner, *(high + beyond(end - high))]


def position_solver(across: int, cells: float) -> ThermalSolver:
    """Return the flow at Re = 100 past a cylinder that is moved by some cells along x and y."""
    shift = cells / across
    x, y = faces(-1.0, 3.0, -20.0, 30.0, across), faces(-1.5, 1.5, -25.0, 25.0, across)
    case = load_case(
        CASE,
        {
            "time.end": 1e3,
            "numerics.tolerance": 1e-6,
            "grid": {
                "x": {"cells": len(x) - 1, "faces": x},
                "y": {"cells": len(y) - 1, "faces": y},
            },
            "bodies.cylinder.centre": [shift, shift, 0.0],
        },
    )
    return ThermalSolver(case, MPI.COMM_SELF).begin()


def position() -> Iterator[Row]:
    """Yield figures at the times 95 to 120 with the centre on a vertex, and within a cell."""
    published = (*SHEDDING[:2], SHEDDING[1] / 2**0.5, SHEDDING[2])
    names = ("mean C_d", "C_l", "r.m.s. of C_l", "St")
    for across, (name, cells) in product((20, 40), POSITIONS.items()):
        solver, samples = position_solver(across, cells), list[list[float]]()
        kept = KeptFlow(f"cylinder {name}", across)
        developed = KeptFlow(f"cylinder {name}, time 80", 20)
        if stored := kept.stored():
            solver.restore(stored)
            samples = stored.attributes["samples"]
        elif across > 20 and (stored := developed.stored()):
            solver.interpolate(stored)
        while solver.time < 120.0:
            before = solver.time
            solver.step()
            if before < 80.0 <= solver.time and across == 20:
                developed.save(solver, now=True)
            if solver.time > 95.0:
                samples.append([solver.time, *solver.body_forces()["cylinder"]])
            kept.save(solver, now=solver.time >= 120.0, samples=samples)
        for quantity, value, of in zip(names, over_periods(samples), published, strict=True):
            yield (f"Re = 100, {name}", *grid_of(solver), quantity, value, of)


PARTS = {"steady": steady, "shedding": shedding, "position": position}
#: Names of the cases of a part.
NAMES = {
    "steady": {"Re = 40"},
    "shedding": {"Re = 100"},
    "position": {f"Re = 100, {name}" for name in POSITIONS},
}


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    only = parser.parse_args().only
    rows = []
    if OUTPUT.exists():  # figures of the other cases are kept
        with OUTPUT.open(newline="") as file:
            computed = set().union(*(NAMES[part] for part in only))
            rows = [row for row in [*csv.reader(file)][1:] if row[0] not in computed]
    header = ("case", "cells", "width", "quantity", "value", "published", "deviation")
    for part in only:
        for *words, value, published in PARTS[part]():
            rows.append(
                [*words, f"{value:.4g}", f"{published:.4g}", f"{value / published - 1:+.1%}"]
            )
            print(*rows[-1], sep=", ", flush=True)
            with OUTPUT.open("w", newline="") as file:
                csv.writer(file).writerows([header, *rows])


if __name__ == "__main__":
    main()
