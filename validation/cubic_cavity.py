"""Cubic lid-driven cavity at Re = 1000 beside published data, on three grids.

python validation/cubic_cavity.py [CELLS ...]

Writes docs/validation/cubic_cavity.csv. Each grid starts from the steady flow on the coarser one;
all of them take about ten minutes on one core.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio.solvers.contract import StoredState
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

OUTPUT = Path(__file__).parents[1] / "docs" / "validation" / "cubic_cavity.csv"
GRIDS = (24, 36, 54)

#: Extremes on the centrelines of the plane of symmetry: u_min, v_max, v_min. Albensoeder and
#: Kuhlmann (2005), Re = 1000.
PUBLISHED = (-0.28038, 0.24665, -0.43509)


def solver_of(cells: int) -> ThermalSolver:
    """Return the flow in one half of the cube, at rest; its plane of symmetry is z-max."""
    axis = {"cells": cells, "stretching": 1.2}
    half = {"cells": cells // 2, "length": 0.5, "stretching": 1.2, "fine_at": "lower"}
    wall: dict[str, Any] = {"type": "wall"}
    case = ThermalCase.model_validate(
        {
            "solver": "thermal",
            "grid": {"x": axis, "y": axis, "z": half},
            "fluid": {"viscosity": 1e-3},
            "boundaries": {
                "x-min": wall,
                "x-max": wall,
                "y-min": wall,
                "y-max": {"type": "wall", "velocity": [1, 0, 0]},
                "z-min": wall,
                "z-max": {"type": "symmetry"},
            },
            "time": {"end": 1000, "cfl": 0.9},
            "output": {"folder": "."},
        }
    )
    return ThermalSolver(case, MPI.COMM_SELF).begin()


def stored(solver: ThermalSolver) -> StoredState:
    """Return the state of a solver on one process."""
    state = solver.state()
    arrays = {name: array.parts[0][1].copy() for name, array in state.arrays.items()}

    def read(name: str, start: Any, count: Any) -> np.ndarray:
        box = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
        return np.asarray(arrays[name][box])

    return StoredState(
        {name: values.shape for name, values in arrays.items()}, state.attributes, read
    )


def run_until_steady(solver: ThermalSolver) -> None:
    """Advance until the energy changes by less than 1e-6 of itself in a unit of time."""
    before, due = np.inf, solver.time + 1.0
    while True:
        solver.step(due - solver.time)
        if solver.time < due - 1e-9:
            continue
        energy = solver.core.kinetic_energy()
        if abs(energy - before) < 1e-6 * energy:
            return
        before, due = energy, due + 1.0


def on_centreline(solver: ThermalSolver, component: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocity normal to a centreline, from the planes next to the middle."""
    axis = solver.case.grid.axes[1 - component].positions()  # type: ignore[attr-defined]
    last = solver.core.values("face_velocity", 0, component)[0]
    z = solver.case.grid.axes[2].positions()  # type: ignore[attr-defined]
    near, next_to = 0.5 - 0.5 * (z[-1] + z[-2]), 0.5 - 0.5 * (z[-2] + z[-3])
    # Even about the plane of symmetry: a + b (distance)².
    share = near**2 / (next_to**2 - near**2)
    plane = last[-1] + share * (last[-1] - last[-2])
    middle = plane.shape[1 - component] // 2
    line = plane[:, middle] if component == 0 else plane[middle, :]
    return 0.5 * (axis[1:] + axis[:-1]), np.array(line)


def extreme(positions: np.ndarray, values: np.ndarray, sign: float) -> float:
    """Return the maximum (sign 1) or minimum (-1) of a fit of degree 4 around the extreme."""
    at = int(np.argmax(sign * values))
    near = slice(max(at - 2, 0), at + 3)
    x = positions[near] - positions[at]
    fit = np.polynomial.Polynomial.fit(x, values[near], len(x) - 1)
    return float(sign * np.max(sign * fit(np.linspace(x[0], x[-1], 2001))))


def extrapolated(values: list[float]) -> float:
    """Return the limit of a second-order error, from the last two grids, finer by 3/2."""
    return values[-1] + (values[-1] - values[-2]) / (1.5**2 - 1.0)


def main() -> None:
    """Run the grids of the command line."""
    grids = [int(word) for word in sys.argv[1:]] or [*GRIDS]
    extrema: list[list[float]] = []
    coarser: StoredState | None = None
    for cells in grids:
        solver = solver_of(cells)
        if coarser is not None:
            solver.interpolate(coarser)
        run_until_steady(solver)
        coarser = stored(solver)
        y, u = on_centreline(solver, 0)
        x, v = on_centreline(solver, 1)
        extrema.append([extreme(y, u, -1.0), extreme(x, v, 1.0), extreme(x, v, -1.0)])
        print(cells, *(f"{value:.5f}" for value in extrema[-1]), f"t = {solver.time:g}", flush=True)
    extrema.append([extrapolated([row[n] for row in extrema]) for n in range(3)])
    with OUTPUT.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("cells", "quantity", "value", "published", "deviation"))
        for cells_text, row in zip([*(f"{n}^3" for n in grids), "limit"], extrema, strict=True):
            for name, value, published in zip(
                ("u_min", "v_max", "v_min"), row, PUBLISHED, strict=True
            ):
                deviation = f"{value / published - 1:+.2%}"
                table.writerow((cells_text, name, f"{value:.5f}", published, deviation))


if __name__ == "__main__":
    main()
