"""Memory of a thermal flow on one rank, in arrays of the size of one field.

Resident memory after two steps, less that after two steps of a flow of 16³ cells, over 8 bytes per
cell, beside the estimate of `uzushio check`, which counts the velocity at cell centres too: it is
allocated when it is published, averaged or drawn.

    python bench/thermal_memory.py [--cells 128] [--json FILE]
"""

from __future__ import annotations

from typing import Any

from _job import measured_in_process
from _memory import resident
from _report import option_parser, record, report
from rich.table import Table

GOAL = 16.0
FLOWS = ("flow", "flow and temperature", "flow around a sphere")


def case_of(name: str, cells: int) -> dict[str, Any]:
    """Return the sections of a case: plates, periodic along x and y, stretched along z."""
    temperature = {"temperature": {"diffusivity": 0.01, "expansion": 1}}
    walls: dict[str, Any] = {side: {"type": "wall"} for side in ("z-min", "z-max")}
    if name == FLOWS[1]:
        walls["z-min"]["values"] = {"temperature": 1}
        walls["z-max"]["values"] = {"temperature": 0}
    ball = {"shape": "sphere", "centre": [0.5, 0.5, 0.5], "radius": 0.2}
    return {
        "solver": "thermal",
        "grid": {axis: {"cells": cells} for axis in "xy"}
        | {"z": {"cells": cells, "stretching": 1.0}},
        "periodic": ["x", "y"],
        "fluid": {"viscosity": 0.01, "gravity": [0, 0, -1]},
        "scalars": temperature if name == FLOWS[1] else {},
        "boundaries": walls,
        "bodies": {"ball": ball} if name == FLOWS[2] else {},
        "initial": {"velocity": [1, 0, 0]},
        "time": {"steps": 2, "cfl": 0.5},
        "output": {"folder": "."},
    }


def measure(name: str, cells: int) -> dict[str, float]:
    """Return the measured and the estimated arrays."""
    from mpi4py import MPI

    from uzushio.solvers.thermal import ThermalCase, ThermalSolver

    def after_two_steps(n: int) -> ThermalSolver:
        solver = ThermalSolver(ThermalCase.model_validate(case_of(name, n)), MPI.COMM_SELF).begin()
        for _ in range(2):
            solver.step()
        return solver

    estimate = ThermalSolver.estimate(ThermalCase.model_validate(case_of(name, cells)), 1)
    small = after_two_steps(16)  # code and buffers that do not grow with the flow
    before = resident()
    solver = after_two_steps(cells)
    arrays = (resident() - before) / (8 * cells**3)
    del small, solver
    return {"measured": arrays, "estimate": estimate.field_arrays}


def main() -> None:
    """Measure each flow in a process of its own, print the table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=128, help="cells along each axis")
    options = parser.parse_args()
    table = Table("", "arrays, measured", "estimated by check", "goal")
    records = []
    for name in FLOWS:
        result = measured_in_process(measure, name, options.cells)
        value, goal = result["measured"], None if name == FLOWS[2] else GOAL
        shown = "" if goal is None else f"{goal:g}: {'met' if value <= goal else 'missed'}"
        table.add_row(name, f"{value:.1f}", f"{result['estimate']:.1f}", shown)
        metric = f"memory at {options.cells}³, {name}"
        records.append(record(metric, value, "arrays", goal, "a field", at_most=True))
    report(options.json, records, table)


if __name__ == "__main__":
    main()
