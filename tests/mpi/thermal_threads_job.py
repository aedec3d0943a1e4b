"""Thermal flows with 1, 2 and 3 threads a rank; rank 0 prints what differs, or "same"."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio import _core
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

WALL = {"type": "wall"}
FLOW: dict[str, Any] = {
    "solver": "thermal",
    "grid": {
        "x": {"cells": 48},
        "y": {"cells": 40, "stretching": 1.2},
        "z": {"cells": 39, "stretching": 1.1},
    },
    "periodic": ["x"],
    "fluid": {"viscosity": 1e-3, "gravity": [0, 0, -1]},
    "boundaries": {"y-min": WALL, "y-max": {"type": "symmetry"}, "z-min": WALL, "z-max": WALL},
    "initial": {"noise": {"velocity": 0.3}},
    "time": {"steps": 3, "cfl": 0.5},
}
HEATED: dict[str, Any] = {
    "scalars": {"temperature": {"diffusivity": 1e-3, "expansion": 1}},
    "boundaries": {
        **FLOW["boundaries"],
        "z-min": {**WALL, "values": {"temperature": 1}},
        "z-max": {**WALL, "values": {"temperature": 0}},
    },
}
BALL = {"shape": "sphere", "centre": [0.5, 0.5, 0.4], "radius": 0.23}
CASES: dict[str, dict[str, Any]] = {
    "heated": HEATED,
    "van Leer and WALE": {**HEATED, "numerics": {"scheme": "van_leer"}, "les": {"model": "wale"}},
    "heated around a ball": {
        **HEATED,
        "bodies": {"ball": {**BALL, "values": {"temperature": 1}}},
        "numerics": {"solver": "cg/fft"},
    },
    "a plane": {
        "grid": {"x": {"cells": 200}, "y": {"cells": 160}},
        "boundaries": {"y-min": WALL, "y-max": WALL},
        "fluid": {"viscosity": 1e-3},
    },
}


def fields(changes: dict[str, Any], threads: int) -> dict[str, np.ndarray]:
    """Return this rank's parts of the fields after three steps."""
    _core.parallel.set_threads(threads)
    solver = ThermalSolver(ThermalCase.model_validate(FLOW | changes), MPI.COMM_WORLD).begin()
    for _ in range(3):
        solver.step()
    return {
        f"{name} {n}": np.array(values)
        for name, array in solver.state().arrays.items()
        for n, (_, values) in enumerate(array.parts)
    }


def main() -> None:
    different: list[str] = []
    for name, changes in CASES.items():
        expected = fields(changes, 1)
        assert all(np.isfinite(values).all() for values in expected.values())
        for threads in (2, 3):
            other = fields(changes, threads)
            different += [
                f"{name}, {threads} threads: {field} {abs(values - other[field]).max()}"
                for field, values in expected.items()
                if not np.array_equal(values, other[field])
            ]
    everything = MPI.COMM_WORLD.gather(different)
    if everything is not None:
        print("\n".join(line for lines in everything for line in lines) or "same")


if __name__ == "__main__":
    main()
