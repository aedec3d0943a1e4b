"""Time of a step of the thermal flow on one core, beside its floor, measured in the same run.

A box with n³ cells between two plates, periodic along x and y, cells stretched along z, with noise
as its initial field. The floor is what a step cannot go below: three direct solves of the pressure,
and the bytes of reading and writing each evolved value, its derivative and the register
of the scheme once a stage, at the rate of STREAM's triad. Cases take turns; a time is the
minimum of the rounds.

    python bench/thermal.py [--cells 128] [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _job import SPINS, measured_in_job
from _report import option_parser, record, report
from mpi4py import MPI
from rich.table import Table

from uzushio import _core
from uzushio._base.parallel.roofline import triad_rate
from uzushio.linalg import PoissonSolver
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

STAGES = 3
#: Passes over an evolved value in a stage: it is read and written, its derivative written and read,
#: its register read and written.
PASSES = 6
#: ns per cell and step of CaNS with the direct solver, on a machine on which its step takes 0.25 s.
CANS = 120.0
#: A sphere in the box: bodies make the coefficient of the pressure equation vary.
BALL = {"ball": {"shape": "sphere", "centre": [0.5, 0.5, 0.5], "radius": 0.2}}
#: Cases: sections that differ from those of a flow without temperature.
CASES: dict[str, dict[str, Any]] = {
    "flow": {},
    "flow and temperature": {
        "scalars": {"temperature": {"diffusivity": 1e-3, "expansion": 1}},
        "boundaries": {
            "z-min": {"type": "wall", "values": {"temperature": 1}},
            "z-max": {"type": "wall", "values": {"temperature": 0}},
        },
    },
}
CASES |= {
    "flow and temperature, van_leer": {
        **CASES["flow and temperature"],
        "numerics": {"scheme": "van_leer"},
    },
    **{f"flow, {model}": {"les": {"model": model}} for model in ("smagorinsky", "wale", "vreman")},
    "flow, pressure by cg": {"numerics": {"solver": "cg"}},
    "flow around a sphere": {"bodies": BALL},
    "flow around a sphere, tolerance 1e-4": {"bodies": BALL, "numerics": {"tolerance": 1e-4}},
    "flow around a sphere, pressure by cg": {"bodies": BALL, "numerics": {"solver": "cg"}},
}


#: Whether both ranks of a job step together, and threads of a rank, for `measure_threads`.
THREADS = {"1 rank of 2 threads": (False, 2), "1 rank": (False, 1), "2 ranks": (True, 1)}
THREADS_GOAL = 1.1  # times two ranks
THREADED = ("flow and temperature", "flow and temperature, van_leer", "flow, wale")


def solver_of(
    cells: int, changes: dict[str, Any], comm: MPI.Intracomm = MPI.COMM_SELF
) -> ThermalSolver:
    """Return a solver of the box."""
    wall: dict[str, Any] = {"type": "wall"}
    sections: dict[str, Any] = {
        "solver": "thermal",
        "time": {"end": 1, "cfl": 0.5},
        "output": {"folder": "."},
        "grid": {
            "x": {"cells": cells},
            "y": {"cells": cells},
            "z": {"cells": cells, "stretching": 1.2},
        },
        "periodic": ["x", "y"],
        "fluid": {"viscosity": 1e-3, "gravity": [0, 0, -1]},
        "boundaries": {"z-min": wall, "z-max": wall},
        "initial": {"noise": {"velocity": 0.1}},
        **changes,
    }
    return ThermalSolver(ThermalCase.model_validate(sections), comm).begin()


def measure_threads(cells: int, rounds: int) -> dict[str, dict[str, float]]:
    """Time steps of one rank with one and two threads, and of two ranks, which alternate."""
    from _threads import fastest_steps

    seconds_by_name = {}
    for name in THREADED:
        changes = CASES[name]

        def make(_: str, comm: MPI.Intracomm, changes: dict[str, Any] = changes) -> ThermalSolver:
            return solver_of(cells, changes, comm)

        seconds_by_name[name] = fastest_steps(make, THREADS, rounds)
    return seconds_by_name


def seconds(call: Any) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    """Measure, print a table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=128, help="along each axis")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    _core.parallel.set_threads(1)
    n = arguments.cells
    solvers = {name: solver_of(n, changes) for name, changes in CASES.items()}
    faces = [axis.positions() for axis in solvers["flow"].case.grid.axes]  # type: ignore[attr-defined]
    pressure = PoissonSolver(
        MPI.COMM_SELF,
        faces=faces,
        conditions=("periodic", "periodic", "neumann"),
        solver="fft",
    )
    right = np.random.default_rng(0).standard_normal(pressure.box.count)
    widths = np.diff(faces[2])[:, None, None]
    right -= (right * widths).sum() / (widths.sum() * n * n)
    target = np.zeros_like(right)
    steps = dict.fromkeys(CASES, np.inf)
    solve, triad = np.inf, 0.0
    for round_ in range(arguments.rounds + 1):
        for name, solver in solvers.items():
            taken = seconds(solver.step)
            steps[name] = min(steps[name], taken if round_ else np.inf)  # the first one is warm-up
        solve = min(solve, seconds(lambda: pressure.solve(right, target)))
        triad = max(triad, triad_rate(MPI.COMM_SELF))

    records = []
    table = Table("case", "ns per cell and step", "floor", "of the floor", title=f"{n}³, one core")
    for name, taken in steps.items():
        values = 4 if "scalars" in CASES[name] else 3
        floor = STAGES * (solve / n**3 + PASSES * values * 8 / triad)
        per_cell = taken / n**3
        table.add_row(
            name, f"{per_cell * 1e9:.0f}", f"{floor * 1e9:.0f}", f"{per_cell / floor:.2f}"
        )
        goal = {"flow": CANS, "flow around a sphere": 2 * CANS}.get(name)
        records += [
            record(f"{name}: step", per_cell * 1e9, "ns/cell", goal, at_most=True),
            record(f"{name}: step", per_cell / floor, "×", of="floor"),
        ]
    for name, best in measured_in_job(
        2, measure_threads, n, arguments.rounds, threads=2, spins=SPINS
    ).items():
        two = best["1 rank of 2 threads"]
        records += [
            record(
                f"{name}: 1 rank of 2 threads",
                two / best["2 ranks"],
                "×",
                THREADS_GOAL,
                of="2 ranks",
                at_most=True,
            ),
            record(f"{name}: 1 rank of 2 threads", two / best["1 rank"], "×", of="1 rank"),
        ]
    rates = f"a direct solve: {solve / n**3 * 1e9:.1f} ns per cell; triad: {triad / 1e9:.1f} GB/s"
    report(arguments.json, records, table, rates)


if __name__ == "__main__":
    main()
