"""Thermal flows beside published data: cavities, convection rolls, a sphere in a stream.

python validation/thermal.py [--only lid heated rolls sphere shedding] [--quick]

Prints a table and updates docs/validation/thermal.csv. All runs take about four hours on one core;
--quick uses half of the cells along each axis. Each grid of a cavity starts from the steady flow on
the coarser one. The flows in cavities are kept in build/validation/thermal: a run that was
interrupted continues from there, one that was finished only prints its figures.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from _kept_flow import KeptFlow  # type: ignore[import-not-found]
from mpi4py import MPI
from rich.console import Console
from rich.table import Table

from uzushio.case.model import load_case
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

OUTPUT = Path(__file__).parents[1] / "docs" / "validation" / "thermal.csv"

#: Lid-driven cavity, extremes on the centrelines: u_min, v_max, v_min. Re = 100, 1000: Botella and
#: Peyret (1998); Re = 400: Ghia, Ghia and Shin (1982), whose figures at Re = 100 are in GHIA.
LID = {
    100: (-0.2140424, 0.1795728, -0.2538030),
    400: (-0.32726, 0.30203, -0.44993),
    1000: (-0.3885698, 0.3769447, -0.5270771),
}
GHIA = {100: (-0.21090, 0.17527, -0.24533)}
#: Heated cavity: u_max and w_max on the centrelines, Nusselt number of the hot wall. De Vahl Davis
#: (1983); at 1e6 Le Quéré (1991).
HEATED = {
    1e3: (3.649, 3.697, 1.118),
    1e4: (16.178, 19.617, 2.243),
    1e5: (34.73, 68.59, 4.519),
    1e6: (64.83, 220.6, 8.8252),
}
#: Cells along each axis of the grids of both cavities, and the stretching in the heated one.
LID_GRIDS = {100: (32, 64, 128), 400: (48, 96, 128), 1000: (48, 80, 160)}
HeatedGrids = tuple[float, tuple[int, ...]]
HEATED_GRIDS: dict[float, HeatedGrids] = {
    1e3: (0.0, (16, 32, 64)),
    1e4: (0.8, (16, 32, 64, 128)),
    1e5: (1.3, (24, 48, 96)),
    1e6: (1.6, (64, 128, 192)),
}
#: Rolls of wave number 3.117 between rigid walls, Pr = 0.71: Nusselt number. Clever and Busse
#: (1974).
ROLLS = {5000: 2.116, 10000: 2.661}
#: Sphere: drag coefficient at Re = 100; at Re = 300 its mean, and the Strouhal number of the
#: vortices (Johnson and Patel, 1999).
SPHERE_DRAG = 1.09
SHEDDING = (0.656, 0.137)
CRITICAL_RAYLEIGH, CRITICAL_WAVE = 1707.762, 3.117


@dataclass
class Figure:
    """A figure beside the published one; `goal` is a relative deviation."""

    case: str
    cells: str
    quantity: str
    value: float
    published: float
    goal: float

    @property
    def deviation(self) -> float:
        """Relative deviation from the published value."""
        return self.value / self.published - 1.0


def wall(**values: object) -> dict[str, object]:
    """Return the section of a wall."""
    return {"type": "wall", **values}


def solver_of(sections: dict[str, object]) -> ThermalSolver:
    """Return a solver on this process."""
    case = ThermalCase.model_validate(
        {"solver": "thermal", "time": {"end": 1, "cfl": 0.9}, "output": {"folder": "."}, **sections}
    )
    return ThermalSolver(case, MPI.COMM_SELF).begin()


def run_until_steady(
    solver: ThermalSolver,
    rate: float,
    interval: float,
    end: float,
    kept: KeptFlow | None = None,
    coarser: KeptFlow | None = None,
) -> None:
    """Advance until the energy changes by less than `rate` of itself in `interval`.

    Begin with the flow in `kept`, if there is one, otherwise with that in `coarser`.
    """
    before = math.inf
    if kept is not None and (stored := kept.stored()):
        solver.restore(stored)
        if stored.attributes["steady"]:
            return
        before = float(stored.attributes["energy"] or math.inf)
    elif coarser is not None and (stored := coarser.stored()):
        solver.interpolate(stored)
        end += solver.time
    due = (math.floor(solver.time / interval + 1e-9) + 1) * interval
    while solver.time < end:
        solver.step(due - solver.time)
        if solver.time >= due - 1e-12:
            energy = solver.core.kinetic_energy()
            steady = abs(energy - before) < rate * energy
            if kept is not None:
                kept.save(solver, now=steady, energy=energy, steady=steady)
            if steady:
                return
            before, due = energy, due + interval
    raise SystemExit(f"not steady at the time {end:g}: the last energy is {before:g}")


def extreme(positions: np.ndarray, values: np.ndarray, sign: float) -> float:
    """Return the maximum (sign 1) or minimum (-1) of a parabola of degree 4 around the extreme."""
    at = int(np.argmax(sign * values))
    near = slice(max(at - 2, 0), at + 3)
    x = positions[near] - positions[at]
    fit = np.polynomial.Polynomial.fit(x, values[near], len(x) - 1)
    fine = np.linspace(x[0], x[-1], 2001)
    return float(sign * np.max(sign * fit(fine)))


def on_centreline(solver: ThermalSolver, component: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the component normal to a centreline of the unit square, along that line."""
    case = solver.case
    axis = case.grid.axes[1 - component].positions()  # type: ignore[attr-defined]
    values = solver.core.values("face_velocity", 0, component)[0, 0]
    middle = case.grid.axes[component].cells // 2  # type: ignore[attr-defined]
    line = values[:, middle] if component == 0 else values[middle, :]
    return 0.5 * (axis[1:] + axis[:-1]), np.array(line)


def lid(
    scale: float, cases: Mapping[int, Sequence[int]] = LID_GRIDS, *, keep: bool = True
) -> Iterator[Figure]:
    """Yield figures of a cavity whose lid moves, each on several grids.

    Args:
        scale: factor of the numbers of cells.
        cases: cells along each axis of the grids, by the Reynolds number.
        keep: continue runs that were interrupted.
    """
    for reynolds, grids in cases.items():
        coarser = None
        for n in (int(n * scale) for n in grids):
            axis = {"cells": n, "stretching": 1.2}
            sides = {"x-min": wall(), "x-max": wall(), "y-min": wall()}
            solver = solver_of(
                {
                    "grid": {"x": axis, "y": axis},
                    "fluid": {"viscosity": 1.0 / reynolds},
                    "boundaries": {**sides, "y-max": wall(velocity=[1, 0, 0])},
                }
            )
            kept = KeptFlow(f"lid {reynolds}", n) if keep else None
            run_until_steady(solver, 1e-6, 1.0, 200.0, kept, coarser)
            coarser = kept
            y, u = on_centreline(solver, 0)
            x, v = on_centreline(solver, 1)
            computed = (extreme(y, u, -1.0), extreme(x, v, 1.0), extreme(x, v, -1.0))
            for name, value, expected in zip(
                ("u_min", "v_max", "v_min"), computed, LID[reynolds], strict=True
            ):
                yield Figure(f"lid, Re = {reynolds}", f"{n}²", name, value, expected, 0.005)
            for name, value, expected in zip(
                ("u_min", "v_max", "v_min"), computed, GHIA.get(reynolds, ()), strict=False
            ):
                yield Figure(f"lid, Re = {reynolds}, Ghia", f"{n}²", name, value, expected, 0.005)


def heated(
    scale: float, cases: Mapping[float, HeatedGrids] = HEATED_GRIDS, *, keep: bool = True
) -> Iterator[Figure]:
    """Yield figures of a cavity with a hot and a cold side; arguments as those of `lid`."""
    for rayleigh, (stretching, grids) in cases.items():
        coarser = None
        for n in (int(n * scale) for n in grids):
            axis = {"cells": n, "stretching": stretching}
            solver = solver_of(
                {
                    "grid": {"x": axis, "y": axis},
                    "fluid": {"viscosity": 0.71, "gravity": [0, -0.71 * rayleigh, 0]},
                    "scalars": {
                        "temperature": {"diffusivity": 1, "expansion": 1, "reference": 0.5}
                    },
                    "boundaries": {
                        "x-min": wall(values={"temperature": 1}),
                        "x-max": wall(values={"temperature": 0}),
                        "y-min": wall(),
                        "y-max": wall(),
                    },
                    "initial": {
                        "values": {"temperature": 1},
                        "gradients": {"temperature": [-1, 0, 0]},
                    },
                }
            )
            kept = KeptFlow(f"heated {rayleigh:.0e}", n) if keep else None
            run_until_steady(solver, 1e-6, 0.01, 3.0, kept, coarser)
            coarser = kept
            y, u = on_centreline(solver, 0)
            x, v = on_centreline(solver, 1)
            nusselt = solver.fluxes("temperature")["x-min"]
            computed = (extreme(y, u, 1.0), extreme(x, v, 1.0), nusselt)
            for name, value, expected in zip(
                ("u_max", "w_max", "Nu"), computed, HEATED[rayleigh], strict=True
            ):
                yield Figure(f"heated, Ra = {rayleigh:.0e}", f"{n}²", name, value, expected, 0.003)


def rolls_solver(rayleigh: float, n: int, amplitude: float) -> ThermalSolver:
    """Return a pair of rolls of small amplitude between plates; time is in H² / kappa."""
    solver = solver_of(
        {
            "grid": {
                "x": {"cells": 2 * n, "length": 2 * np.pi / CRITICAL_WAVE},
                "y": {"cells": n},
            },
            "periodic": ["x"],
            "fluid": {"viscosity": 0.71, "gravity": [0, -0.71 * rayleigh, 0]},
            "scalars": {"temperature": {"diffusivity": 1, "expansion": 1}},
            "boundaries": {
                "y-min": wall(values={"temperature": 1}),
                "y-max": wall(values={"temperature": 0}),
            },
            "initial": {"values": {"temperature": 1}, "gradients": {"temperature": [0, -1, 0]}},
        }
    )
    values = solver.core.values("temperature", 0)[0, 0]
    x = (np.arange(2 * n) + 0.5) * np.pi / n
    y = (np.arange(n) + 0.5) / n
    values += amplitude * np.cos(x)[None, :] * np.sin(np.pi * y)[:, None]
    solver.core.start(0.0)
    return solver


def growth_rate(rayleigh: float, n: int) -> float:
    """Return the growth rate of the slowest mode, in kappa / H²."""
    solver = rolls_solver(rayleigh, n, 1e-4)
    energies = []
    for end in (1.0, 1.5):
        while solver.time < end - 1e-12:
            solver.step(end - solver.time)
        energies.append(solver.core.kinetic_energy())
    return float(np.log(energies[1] / energies[0]))  # of the energy, in half a unit of time


def rolls(scale: float) -> Iterator[Figure]:
    """Yield figures of convection between plates."""
    n = int(48 * scale)
    below, above = 1690.0, 1725.0
    rates = [growth_rate(rayleigh, n) for rayleigh in (below, above)]
    critical = below - rates[0] * (above - below) / (rates[1] - rates[0])
    yield Figure("rolls", f"{2 * n} x {n}", "critical Ra", critical, CRITICAL_RAYLEIGH, 0.003)
    for rayleigh, published in ROLLS.items():
        solver = rolls_solver(rayleigh, n, 0.1)
        run_until_steady(solver, 1e-6, 0.1, 20.0)
        nusselt = solver.fluxes("temperature")["y-min"]
        yield Figure(f"rolls, Ra = {rayleigh}", f"{2 * n} x {n}", "Nu", nusselt, published, 0.005)


def sphere_case(scale: float, **changes: Any) -> ThermalCase:
    """Return the example of a sphere with other values, and other cells along each axis."""
    path = Path(__file__).parents[1] / "examples" / "cases" / "sphere.yaml"
    values = {"time.end": 1e3, **changes}
    case = load_case(path, values)
    cells = {
        f"grid.{name}.cells": round(getattr(case.grid, name).cells * scale)  # type: ignore[attr-defined]
        for name in "xyz"
    }
    return cast(ThermalCase, load_case(path, {**values, **cells}))


def cells_of(case: ThermalCase) -> str:
    """Return the numbers of cells as text."""
    return " x ".join(str(axis.cells) for axis in case.grid.axes)


def sphere(scale: float) -> Iterator[Figure]:
    """Yield the drag of a sphere, of which the box holds a quarter, on three grids."""
    for finer in (2 / 3, 1.0, 1.5):
        case = sphere_case(scale * finer)
        solver = ThermalSolver(case, MPI.COMM_SELF).begin()
        while solver.time < 30.0:
            solver.step(30.0 - solver.time)
        drag = 4.0 * solver.body_forces()["sphere"][0] / (0.5 * np.pi / 4.0)
        yield Figure("sphere, Re = 100", cells_of(case), "C_d", drag, SPHERE_DRAG, 0.03)


def shedding(scale: float) -> Iterator[Figure]:
    """Yield mean drag and frequency of the vortices of a sphere, on two grids."""
    for finer in (1.0, 1.25):
        yield from shed(scale * finer)


def shed(scale: float) -> Iterator[Figure]:
    """Yield mean drag and frequency of the vortices; the box holds a half of the sphere."""
    case = sphere_case(
        scale,
        **{
            "fluid.viscosity": 1.0 / 300.0,
            "grid.x": {"cells": 120, "start": -6, "length": 21, "stretching": 6.4, "fine_at": 0},
            "grid.y": {"cells": 84, "start": -6, "length": 12, "stretching": 5.6, "fine_at": 0},
            "grid.z": {"cells": 42, "length": 6, "stretching": 2.8, "fine_at": 0},
            "initial.noise": {"velocity": 0.02},
        },
    )
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    samples = []
    while solver.time < 150.0:
        solver.step()
        if solver.time > 80.0:
            samples.append((solver.time, *solver.body_forces()["sphere"][:2]))
    time, force, lift = np.array(samples).T
    drag = np.trapezoid(force, time) / (time[-1] - time[0]) * 2.0 / (0.5 * np.pi / 4.0)
    lift = lift - lift.mean()
    rising = np.flatnonzero((lift[:-1] < 0.0) & (lift[1:] >= 0.0))
    crossings = time[rising] - lift[rising] * np.diff(time)[rising] / np.diff(lift)[rising]
    strouhal = (len(crossings) - 1) / (crossings[-1] - crossings[0])
    for name, value, published in zip(("C_d", "St"), (drag, strouhal), SHEDDING, strict=True):
        yield Figure("sphere, Re = 300", cells_of(case), name, float(value), published, 0.05)


PARTS: dict[str, Callable[[float], Iterator[Figure]]] = {
    "lid": lid,
    "heated": heated,
    "rolls": rolls,
    "sphere": sphere,
    "shedding": shedding,
}


def convergence(figures: Sequence[Figure]) -> tuple[float, float] | None:
    """Return the order of convergence of the last three grids and the value for width 0.

    None if there are fewer grids, or differences that are not those of a power of the width.
    """
    if len(figures) < 3 or not all(figure.cells.endswith("²") for figure in figures):
        return None
    first, second, third = (1.0 / int(figure.cells[:-1]) for figure in figures[-3:])
    values = [figure.value for figure in figures[-3:]]
    ratio = (values[0] - values[1]) / (values[1] - values[2])

    def excess(order: float) -> float:
        return float((first**order - second**order) / (second**order - third**order)) - ratio

    low, high = 0.5, 4.0
    if excess(low) * excess(high) > 0.0:
        return None
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(low) * excess(middle) > 0.0 else (low, middle)
    rest = (values[1] - values[2]) * third**low / (second**low - third**low)
    return low, values[2] - rest


def show_convergence(console: Console, figures: Sequence[Figure]) -> None:
    """Print the orders of convergence."""
    groups: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        groups.setdefault((figure.case, figure.quantity), []).append(figure)
    for (case, quantity), group in groups.items():
        if limit := convergence(group):
            console.print(
                f"{case}, {quantity}: order {limit[0]:.2f}, extrapolated to width 0 {limit[1]:.6g}"
                f" ({limit[1] / group[0].published - 1.0:+.2%})"
            )


HEADER = ("case", "cells", "quantity", "value", "published", "deviation", "goal")


def row_of(figure: Figure) -> list[str]:
    """Return the columns of `HEADER`."""
    return [
        figure.case, figure.cells, figure.quantity, f"{figure.value:.5g}",
        f"{figure.published:.6g}", f"{figure.deviation:+.2%}", f"{figure.goal:.1%}",
    ]  # fmt: skip


def write(rows: Sequence[Sequence[str]]) -> None:
    """Write the rows; those of other cases are kept."""
    cases = {row[0] for row in rows}
    kept: list[list[str]] = []
    if OUTPUT.exists():
        with OUTPUT.open(newline="") as file:
            kept = [row for row in list(csv.reader(file))[1:] if row[0] not in cases]
    with OUTPUT.open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *kept, *rows])


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--quick", action="store_true", help="half of the cells along each axis")
    arguments = parser.parse_args()
    console = Console()
    figures: list[Figure] = []
    for name in arguments.only:
        began = time.perf_counter()
        for figure in PARTS[name](0.5 if arguments.quick else 1.0):
            figures.append(figure)
            console.print(
                f"{figure.case}, {figure.quantity}: {figure.value:.5g}, published "
                f"{figure.published:.5g} ({figure.deviation:+.2%}), "
                f"{time.perf_counter() - began:.0f} s"
            )
            if not arguments.quick:
                write([*map(row_of, figures)])
    table = Table(*HEADER)
    for row in figures:
        table.add_row(*row_of(row))
    console.print(table)
    show_convergence(console, figures)


if __name__ == "__main__":
    main()
