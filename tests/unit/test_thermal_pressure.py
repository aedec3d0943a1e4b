"""The pressure solver of thermal flows on strongly stretched grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.linalg import PoissonSolver
from uzushio.solvers.contract import SolverDivergedError, StoredState
from uzushio.solvers.thermal import ThermalCase, ThermalSolver

BALL = {"shape": "sphere", "centre": [0.5, 0.5, 0], "radius": 0.2}


def stored_state(solver: ThermalSolver) -> StoredState:
    """Return the state of a solver on one process, as a checkpoint has it."""
    state = solver.state()
    arrays = {name: array.parts[0][1] for name, array in state.arrays.items() if array.parts}

    def read(name: str, start: Sequence[int], count: Sequence[int]) -> np.ndarray:
        box = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
        return np.asarray(arrays[name][box])

    return StoredState(
        {name: values.shape for name, values in arrays.items()}, state.attributes, read
    )


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
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    for _ in range(3):
        solver.step()
    assert solver.core.max_divergence() < 1e-5
    assert not any("pressure" in note for note in ThermalSolver.estimate(case, 1).notes)


def test_a_solver_that_stalls_is_named_before_the_run_and_in_the_set_up() -> None:
    case = past_a_cylinder(solver="cg", max_iterations=16)
    (note,) = [note for note in ThermalSolver.estimate(case, 1).notes if "pressure" in note]
    assert "'cg' does not converge" in note and "numerics.solver: auto" in note
    with pytest.raises(SolverDivergedError, match=r"At the start: .*'cg'.*use another numerics"):
        ThermalSolver(case, MPI.COMM_SELF).begin()


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
        return ThermalSolver(case, MPI.COMM_SELF).begin()

    coarse = cavity(8)
    for _ in range(5):
        coarse.step()
    fine = cavity(16, solver="cg", max_iterations=1)  # at rest: without iterations
    with pytest.raises(SolverDivergedError, match=r"At the restart: .*'cg' has not converged"):
        fine.interpolate(stored_state(coarse))


def solves(solver: ThermalSolver) -> int:
    """Return how often a solver has solved for the pressure."""
    totals = solver.sections.totals()
    return sum(section.calls for path, section in totals.items() if path[-1] == "pressure solver")


@pytest.mark.parametrize(("bodies", "at_start"), [({}, 1), ({"ball": BALL}, 4)])
def test_a_start_projects_once_and_a_restart_not_at_all(
    bodies: dict[str, Any], at_start: int
) -> None:
    wall = {"type": "wall"}
    case = ThermalCase.model_validate(
        {
            "solver": "thermal",
            "grid": {axis: {"cells": 12} for axis in "xy"},
            "periodic": ["x"],
            "fluid": {"viscosity": 0.01},
            "boundaries": {"y-min": wall, "y-max": {**wall, "velocity": [1, 0, 0]}},
            "bodies": bodies,
            "initial": {"velocity": [1, 0, 0], "noise": {"velocity": 0.2}},
            "time": {"steps": 3, "cfl": 0.5},
            "output": {"folder": "."},
        }
    )
    first = ThermalSolver(case, MPI.COMM_SELF)
    assert solves(first) == 0
    first.begin()
    assert solves(first) == at_start
    first.step()
    again = ThermalSolver(case, MPI.COMM_SELF)
    again.restore(stored_state(first))
    assert solves(again) == 0
    for solver in (first, again):
        solver.step()
    velocity, other = (solver.core.values("face_velocity", 0, 0) for solver in (first, again))
    np.testing.assert_array_equal(velocity, other)


def test_the_estimate_of_memory_solves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[PoissonSolver] = []
    solve = PoissonSolver.solve

    def count(solver: PoissonSolver, *arguments: Any) -> Any:
        asked.append(solver)
        return solve(solver, *arguments)

    monkeypatch.setattr(PoissonSolver, "solve", count)
    case = past_a_cylinder(solver="cg", max_iterations=16)
    estimate = ThermalSolver.estimate(case, 1)
    assert estimate.memory_per_rank > 0 and not asked
    assert any("does not converge" in note for note in estimate.notes)
    assert len(asked) == 1  # the trial, for the note
