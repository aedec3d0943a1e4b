"""The pressure solver of thermal flows on strongly stretched grids."""

from __future__ import annotations

from typing import Any

import pytest
from mpi4py import MPI

from uzushio.solver import SolverDivergedError
from uzushio.thermal import ThermalCase, ThermalSolver


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
    case = past_a_cylinder(solver="cg", max_iterations=30)
    (note,) = [note for note in ThermalSolver.estimate(case, 1).notes if "pressure" in note]
    assert "'cg' does not converge" in note and "numerics.solver: auto" in note
    with pytest.raises(SolverDivergedError, match=r"In the set-up: .*'cg'.*use another numerics"):
        ThermalSolver(case, MPI.COMM_SELF)
