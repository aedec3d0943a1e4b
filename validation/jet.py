"""Compressible flows beside exact and published data: shocks, a jet's Mach disk, turbulence.

[mpiexec -n 2] python validation/jet.py [--only sod shu-osher taylor-green mach-disk] [--quick]

Prints a table and updates docs/validation/jet.csv after each case. Shock tubes take seconds, the
jet and the Taylor-Green vortex a quarter of an hour each on one free core; --quick uses half of the
cells along each axis. These two say how far they are, and a run that was stopped continues on the
same number of ranks from its last line; --again begins anew.
"""

from __future__ import annotations

import argparse
import csv
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI
from rich.console import Console
from rich.table import Table

from uzushio.solvers.jet.case import JetCase
from uzushio.solvers.jet.solver import JetSolver

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "docs" / "validation" / "jet.csv"
STATES = ROOT / "build" / "validation-jet"  # of cases that were stopped
COMM = MPI.COMM_WORLD
GAMMA = 1.4
#: Sod's shock tube: pressure and velocity between the waves, densities beside the contact, and the
#: speed of the shock; exact.
SOD = {"p*": 0.30313, "u*": 0.92745, "rho left": 0.42632, "rho right": 0.26557, "shock": 1.75216}
#: Taylor-Green vortex at Re = 1600: largest dissipation and its time. Van Rees et al. (2011).
TAYLOR_GREEN = (0.0129, 9.0)
#: Distance of the Mach disk in diameters, over the root of the pressure ratio. Ashkenas and Sherman
#: (1966).
MACH_DISK = 0.67

States = Callable[..., Sequence[Any]]


class Figure(NamedTuple):
    """A figure beside the exact or published one."""

    case: str
    cells: str
    scheme: str
    quantity: str
    value: float
    reference: float

    @property
    def deviation(self) -> float:
        """Relative deviation in percent."""
        return 100 * (self.value / self.reference - 1)


def started(begin: States, **sections: Any) -> JetSolver:
    """Return a solver of one gas that begins with u, v, w, p and T at positions (collective)."""
    case = JetCase.model_validate(
        {
            "solver": "jet",
            "gas": {"species": {"gas": {"gas_constant": 1.0}}},
            "states": {"rest": {"pressure": 1.0, "temperature": 1.0}},
            "initial": {"state": "rest"},
            "time": {"end": 1.0, "cfl": 0.5},
        }
        | sections
    )
    solver = JetSolver(case, COMM)
    for block in range(len(solver.core.blocks())):
        x = np.array(solver.core.centres(block))
        values = np.broadcast_arrays(1.0, *begin(*x), x[0])[:-1]
        solver.core.set_states(block, np.ascontiguousarray(np.stack(values)))
    solver.core.start(0.0)
    return solver


def advance(solver: JetSolver, end: float) -> None:
    """Advance to a time (collective)."""
    while solver.time < end * (1 - 1e-12):
        solver.step(end - solver.time)


def series(
    case: str,
    solver: JetSolver,
    ends: Sequence[float] | np.ndarray,
    measure: Callable[[], float],
    unit: str,
) -> list[float]:
    """Advance to each time and return what is measured there (collective).

    The state is kept after each time, and a later call continues from it.
    """
    file = STATES / f"{case}-{COMM.rank}-of-{COMM.size}.npz"
    blocks = range(len(solver.core.blocks()))
    fields = [solver.core.values("conserved", block) for block in blocks]
    measured: list[float] = []
    kept = dict(np.load(file)) if file.exists() else {}
    # A run may have been stopped while some ranks had written: then all begin anew.
    if len(set(COMM.allgather(len(kept.get("measured", ()))))) == 1 and kept:
        for block in blocks:
            fields[block][...] = kept[f"block-{block}"]
        measured = kept["measured"].tolist()
        solver.core.resume(float(kept["time"]))
        solver.time = solver.core.time
    for end in ends[len(measured) :]:
        advance(solver, end)
        measured.append(measure())
        say(f"{case}: time {end:.2f} of {ends[-1]:.2f}, {unit} {measured[-1]:.6f}")
        STATES.mkdir(parents=True, exist_ok=True)
        states = {f"block-{block}": fields[block] for block in blocks}
        part = file.with_suffix(".part.npz")
        np.savez(part, measured=measured, time=solver.time, **states)
        part.replace(file)
    return measured


def line(solver: JetSolver, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return positions along x and values of a field of a shock tube, on all ranks (collective)."""
    solver.core.update_derived(True)
    blocks = range(len(solver.core.blocks()))
    x = _joined([np.array(solver.core.centres(block))[0] for block in blocks])
    values = _joined([np.array(solver.core.values(name, block))[0] for block in blocks])
    order = np.argsort(x)
    return x[order], values[order]


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values of arrays of all ranks (collective)."""
    mine = np.concatenate([np.empty(0), *(array.ravel() for array in arrays)])
    return np.concatenate(COMM.allgather(mine))


def tube(cells: int, scheme: str, states: States, length: float, start: float) -> JetSolver:
    """Return a shock tube along x."""
    return started(
        states,
        grid={
            "box": {
                "cells": [cells, 1, 1],
                "lengths": [length, 1, 1],
                "origin": [start, 0, 0],
                "periodic": "yz",
            }
        },
        boundaries={name: {"type": "supersonic_outflow"} for name in ("x-min", "x-max")},
        numerics={"scheme": scheme},
    )


def sod(quick: bool) -> Iterator[Figure]:
    """Sod's shock tube."""

    def states(x: Any, y: Any, z: Any) -> Sequence[Any]:
        pressure = np.where(x < 0.5, 1.0, 0.1)
        return 0, 0, 0, pressure, pressure / np.where(x < 0.5, 1.0, 0.125)

    cells = 100 if quick else 200
    for scheme in ("upwind", "hybrid"):
        solver = tube(cells, scheme, states, 1.0, 0.0)
        advance(solver, 0.2)
        values = {name: line(solver, name) for name in ("pressure", "density", "velocity")}
        x, pressure = values["pressure"]
        middle = (x > 0.72) & (x < 0.82)
        computed = {
            "p*": pressure[middle].mean(),
            "u*": values["velocity"][1][middle].mean(),
            "rho left": values["density"][1][(x > 0.55) & (x < 0.65)].mean(),
            "rho right": values["density"][1][middle].mean(),
            "shock": (x[np.flatnonzero(pressure > 0.2)[-1]] + 0.5 / cells - 0.5) / 0.2,
        }
        for name, exact in SOD.items():
            yield Figure("Sod", str(cells), scheme, name, float(computed[name]), exact)


def shu_osher(quick: bool) -> Iterator[Figure]:
    """Shock that meets a wave of the density: its amplitude behind, beside a fine grid's."""

    def states(x: Any, y: Any, z: Any) -> Sequence[Any]:
        behind = x < -4
        density = np.where(behind, 27 / 7, 1 + 0.2 * np.sin(5 * x))
        pressure = np.where(behind, 31 / 3, 1.0)
        return np.where(behind, 4 * math.sqrt(35) / 9, 0.0), 0, 0, pressure, pressure / density

    def density(cells: int, scheme: str) -> tuple[np.ndarray, np.ndarray]:
        solver = tube(cells, scheme, states, 10.0, -5.0)
        advance(solver, 1.8)
        return line(solver, "density")

    fine = 1600 if quick else 3200
    x, exact = density(fine, "upwind")
    waves = (x > 0.5) & (x < 2.2)
    reference = float(np.ptp(exact[waves]))
    for cells in (200, 400):
        for scheme in ("upwind", "hybrid"):
            x, computed = density(cells, scheme)
            amplitude = float(np.ptp(computed[(x > 0.5) & (x < 2.2)]))
            yield Figure("Shu-Osher", str(cells), scheme, "amplitude", amplitude, reference)


def taylor_green(quick: bool) -> Iterator[Figure]:
    """Taylor-Green vortex at Re = 1600 and a Mach number of 0.1."""
    cells, mach = 32 if quick else 64, 0.1
    pressure = 1 / (GAMMA * mach**2)

    def states(x: Any, y: Any, z: Any) -> Sequence[Any]:
        u, v = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z)
        p = pressure + (np.cos(2 * x) + np.cos(2 * y)) * (np.cos(2 * z) + 2) / 16
        return u, v, 0, p, p

    solver = started(
        states,
        grid={"box": {"cells": [cells] * 3, "lengths": [2 * np.pi] * 3, "periodic": "xyz"}},
        gas={"species": {"gas": {"gas_constant": 1.0}}, "viscosity": 1 / 1600},
        numerics={"scheme": "keep"},
        time={"end": 10.0, "cfl": 0.9},
    )
    volume = (2 * np.pi) ** 3

    def energy() -> float:
        return float(solver.core.integrals()[-2]) / volume

    times = np.arange(0.0, 10.51, 0.25)
    energies = series(f"taylor-green-{cells}", solver, times, energy, "kinetic energy")
    dissipation = -np.gradient(energies, times)
    peak = int(dissipation.argmax())
    size = f"{cells}³"
    yield Figure("Taylor-Green", size, "keep", "peak", float(dissipation[peak]), TAYLOR_GREEN[0])
    yield Figure("Taylor-Green", size, "keep", "its time", float(times[peak]), TAYLOR_GREEN[1])


def mach_disk(quick: bool) -> Iterator[Figure]:
    """Underexpanded jet from a sonic nozzle: distance of the Mach disk."""
    ratio = 10.0  # stagnation pressure over that of the surroundings
    throat = (2 / (GAMMA + 1)) ** (GAMMA / (GAMMA - 1))
    temperature = 2 / (GAMMA + 1)
    fine = 1 if quick else 2
    solver = started(
        lambda x, y, z: (0, 0, 0, 1.0, 1.0),
        grid={
            "jet": {
                "length": 5.0,
                "far": 3.0,
                "core_cells": 5 * fine,
                "inner_cells": 5 * fine,
                "outer_cells": 12 * fine,
                "axial_cells": 40 * fine,
                "lip_spacing": 0.1 / fine,
                "exit_spacing": 0.1 / fine,
            }
        },
        states={
            "rest": {"pressure": 1.0, "temperature": 1.0},
            "exit": {
                "velocity": [math.sqrt(GAMMA * temperature), 0, 0],
                "pressure": ratio * throat,
                "temperature": temperature,
            },
        },
        boundaries={
            "inflow": {"type": "supersonic_inflow", "state": "exit"},
            "coflow": {"type": "slip_wall"},
            "side": {"type": "far_field", "state": "rest"},
            "outflow": {"type": "far_field", "state": "rest"},
        },
    )
    times = np.arange(0.5, 12.1, 0.5)
    disks = series(f"mach-disk-{fine}", solver, times, lambda: _disk(solver), "at diameter")
    disks = disks[11:]  # from time 6 on
    cells = f"{sum(int(np.prod(zone['cells'])) for zone in solver.core.zones()):,}"
    reference = MACH_DISK * math.sqrt(ratio)
    yield Figure("Mach disk", cells, "hybrid", "x/D", float(np.mean(disks)), reference)


def _disk(solver: JetSolver) -> float:
    """Return where the Mach number at the axis falls most (collective)."""
    solver.core.update_derived(True)
    xs, machs = [np.empty(0)], [np.empty(0)]
    for block in range(len(solver.core.blocks())):
        x, y, z = np.array(solver.core.centres(block))
        near = np.hypot(y, z) < 0.15
        xs.append(x[near])
        machs.append(np.array(solver.core.values("mach", block))[0][near])
    x, mach = _joined(xs), _joined(machs)
    places = np.unique(x)
    means = np.array([mach[x == place].mean() for place in places])
    fall = int(np.diff(means).argmin())
    return float(0.5 * (places[fall] + places[fall + 1]))


CASES: dict[str, Callable[[bool], Iterator[Figure]]] = {
    "sod": sod,
    "shu-osher": shu_osher,
    "mach-disk": mach_disk,
    "taylor-green": taylor_green,
}


def say(text: str) -> None:
    """Print on the first rank."""
    if COMM.rank == 0:
        print(text, flush=True)


def main() -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--quick", action="store_true", help="half of the cells along each axis")
    parser.add_argument("--again", action="store_true", help="begin stopped cases anew")
    options = parser.parse_args()
    if options.again and COMM.rank == 0:
        shutil.rmtree(STATES, ignore_errors=True)
    COMM.barrier()
    figures: list[Figure] = []
    for name in options.only:
        computed = list(CASES[name](options.quick))
        figures += computed
        if COMM.rank == 0 and not options.quick:
            store(computed)
    if COMM.rank == 0:
        show(figures)


def show(figures: Sequence[Figure]) -> None:
    """Print a table."""
    table = Table("case", "cells", "scheme", "quantity", "value", "reference", "deviation %")
    for figure in figures:
        row = (*figure[:4], f"{figure.value:.5g}", f"{figure.reference:.5g}")
        table.add_row(*row, f"{figure.deviation:+.2f}")
    Console().print(table)


def store(figures: Sequence[Figure]) -> None:
    """Replace the figures of the same cases in the file."""
    kept: dict[tuple[str, ...], list[str]] = {}
    if OUTPUT.exists():
        with OUTPUT.open(encoding="utf-8") as file:
            kept = {tuple(row[:4]): row for row in list(csv.reader(file))[1:]}
    for figure in figures:
        values = (f"{value:.6g}" for value in (*figure[4:], figure.deviation))
        kept[figure[:4]] = [*figure[:4], *values]
    with OUTPUT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*Figure._fields, "deviation_percent"])
        writer.writerows(kept.values())


if __name__ == "__main__":
    main()
