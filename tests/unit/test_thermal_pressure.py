"""The pressure solver of thermal flows on strongly stretched grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.solvers.contract import SolverDivergedError, StoredState
from uzushio.solvers.thermal import ThermalCase, ThermalSolver


def stored_state(solver: ThermalSolver) -> StoredState:
    """Return the state of a solver on one process, as a checkpoint has it."""
    state = solver.state()
    arrays = {name: array.parts[0][1] for name, array in state.arrays.items() if array.parts}

    def read(name: str, start: Sequence[int], count: Sequence[int]) -> np.ndarray:
        box = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
        return np.asarray(arrays[name][box])

    return StoredState({name: one.shape for name, one in arrays.items()}, state.attributes, read)


def past_a_cylinder(**numerics: Any) -> ThermalCase:
    """Return a plane flow past a cylinder, with cells up to 80 times as long as wide."""
    return ThermalCase.model_validate(
        {
            "solver": "thermal",
            "grid": {
                "x": {"cells": 96, "start": -8, "length": 80, "stretching": 8, "fine_at": 0},
                "y": {"cells": 80, "start": -40, "length": 80, "stretching": 8, "fine_at": 0},
            },
            "fluid": {"viscosity": 0.025},
            "boundaries": {
                "x-min": {"type": "inflow", "velocity": [1, 0, 0]},
                "x-max": {"type": "outflow"},
                "y-min": {"type": "symmetry"},
                "y-max": {"type": "symmetry"},
            },
            "bodies": {"c": {"shape": "cylinder", "centre": [0, 0, 0], "radius": 0.5}},
            "initial": {"velocity": [1, 0, 0]},
            "numerics": numerics,
            "time": {"steps": 3, "cfl": 0.9},
            "output": {"folder": "."},
        }
    )


def test_the_default_solver_starts_on_a_strongly_stretched_grid() -> None:
    case = past_a_cylinder()
    solver = ThermalSolver(case, MPI.COMM_SELF)
    for _ in range(3):
        solver.step()
    assert solver.core.max_divergence() < 1e-5
    assert not any("pressure" in note for note in ThermalSolver.estimate(case, 1).notes)


def test_a_solver_that_stalls_is_named_before_the_run_and_in_the_set_up() -> None:
    case = past_a_cylinder(solver="cg", max_iterations=16)
    (note,) = [note for note in ThermalSolver.estimate(case, 1).notes if "pressure" in note]
    assert "'cg' does not converge" in note and "numerics.solver: auto" in note
    with pytest.raises(SolverDivergedError, match=r"In the set-up: .*'cg'.*use another numerics"):
        ThermalSolver(case, MPI.COMM_SELF)


def test_a_solver_that_stalls_at_the_restart_on_another_grid_is_named() -> None:
    def cavity(cells: int, **numerics: Any) -> ThermalSolver:
        wall = {"type": "wall"}
        case = ThermalCase.model_validate(
            {
                "solver": "thermal",
                "grid": {axis: {"cells": cells} for axis in "xy"},
                "fluid": {"viscosity": 0.01},
                "boundaries": {
                    **dict.fromkeys(("x-min", "x-max", "y-min"), wall),
                    "y-max": {**wall, "velocity": [1, 0, 0]},
                },
                "numerics": numerics,
                "time": {"end": 1, "cfl": 0.5},
                "output": {"folder": "."},
            }
        )
        return ThermalSolver(case, MPI.COMM_SELF)

    coarse = cavity(8)
    for _ in range(5):
        coarse.step()
    fine = cavity(16, solver="cg", max_iterations=1)  # at rest: without iterations
    with pytest.raises(SolverDivergedError, match=r"At the restart: .*'cg' has not converged"):
        fine.interpolate(stored_state(coarse))
