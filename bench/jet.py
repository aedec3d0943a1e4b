"""Time of a right-hand side of the compressible flow on one core, beside what memory allows.

A periodic box with n³ cells, stored as a curvilinear grid like all grids of this solver, with
noise. Times are core-nanoseconds per cell, equation and right-hand side, the measure of
MFC's benchmark; for 8 equations (4 species) it publishes 163 on an EPYC 9654, 262 on an EPYC 7763
and 180 on a Xeon Platinum 8268, with WENO5 and HLLC on Cartesian grids. The floor is the time to
read the conserved variables and the geometry and to write the rates once, at the rate of STREAM's
triad. Cases take turns; a time is the minimum of the rounds.

    python bench/jet.py [--cells 64] [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _report import option_parser, record, report
from mpi4py import MPI
from rich.table import Table

from uzushio import _core
from uzushio._base.parallel.roofline import triad_rate
from uzushio.solvers.jet.case import JetCase
from uzushio.solvers.jet.solver import JetSolver

STAGES = 3
#: Values of the geometry of a cell: three area vectors and a volume.
GEOMETRY = 10
#: By scheme: largest ns per cell, equation and right-hand side with 8 equations, on curved cells.
GOALS = {"keep": 60.0, "hybrid": 160.0, "upwind": 160.0}
MEMORY_GOAL = 25  # arrays besides three of each equation


def solver_of(cells: int, scheme: str, species: int, viscous: bool, zones: int = 1) -> JetSolver:
    """Return a solver of the box."""
    names = [f"gas{number}" for number in range(species)]
    gases = {name: {"gas_constant": 1.0 + n, "gamma": 1.3} for n, name in enumerate(names)}
    fractions = dict.fromkeys(names, 1.0 / species)
    sections: dict[str, Any] = {
        "solver": "jet",
        "grid": {
            "box": {
                "cells": [cells] * 3,
                "periodic": "xyz",
                "mapping": "wavy",
                "amplitude": 0.01,
                "zones": [zones] * 3,
                "orientations": "rotated" if zones > 1 else "same",
            }
        },
        "gas": {"species": gases, "viscosity": 1e-4 if viscous else 0.0},
        "states": {"rest": {"pressure": 1, "temperature": 1, "mass_fractions": fractions}},
        "initial": {"state": "rest", "noise": 0.05},
        "numerics": {"scheme": scheme},
        "time": {"end": 1, "cfl": 0.5},
    }
    return JetSolver(JetCase.model_validate(sections), MPI.COMM_SELF).begin()


def seconds(call: Any) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    """Measure, print a table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=64, help="along each axis")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    _core.parallel.set_threads(1)
    n = arguments.cells
    cases = {
        f"{scheme}, {species} species{', viscous' if viscous else ''}": (scheme, species, viscous)
        for scheme in GOALS
        for species, viscous in ((1, False), (2, False), (4, False), (4, True), (10, False))
    }
    solvers = {name: solver_of(n, *case) for name, case in cases.items()}
    solvers["keep, 4 species, 8 turned zones"] = solver_of(n, "keep", 4, False, zones=2)
    cases["keep, 4 species, 8 turned zones"] = ("keep", 4, False)
    steps = dict.fromkeys(cases, np.inf)
    triad = 0.0
    for round_ in range(arguments.rounds + 1):
        for name, solver in solvers.items():
            taken = seconds(solver.step)
            steps[name] = min(steps[name], taken if round_ else np.inf)  # the first one is warm-up
        triad = max(triad, triad_rate(MPI.COMM_SELF))

    records = []
    table = Table(
        "case", "ns per cell, equation and rhs", "floor", "arrays", title=f"{n}³, one core"
    )
    for name, taken in steps.items():
        scheme, species, viscous = cases[name]
        equations = species + 4
        per_equation = taken / STAGES / n**3 / equations * 1e9
        floor = (2 * equations + GEOMETRY) * 8 / triad / equations * 1e9
        arrays = solvers[name].core.estimate(1)["bytes"] / 8 / n**3
        table.add_row(name, f"{per_equation:.1f}", f"{floor:.1f}", f"{arrays:.0f}")
        goal = GOALS[scheme] if species == 4 and not viscous else None
        records += [
            record(
                f"{name}: right-hand side", per_equation, "ns/cell/equation", goal, at_most=True
            ),
            record(f"{name}: right-hand side", per_equation / floor, "×", of="floor"),
        ]
        if species == 4 and not viscous:
            goal = 3 * equations + MEMORY_GOAL
            records.append(record(f"{name}: memory", arrays, "arrays", goal, at_most=True))
    report(arguments.json, records, table, f"triad: {triad / 1e9:.1f} GB/s")


if __name__ == "__main__":
    main()
