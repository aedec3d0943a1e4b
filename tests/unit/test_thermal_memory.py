"""Estimated memory and time of a thermal flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.linalg import PoissonSolver
from uzushio.solvers.thermal import ThermalCase, ThermalSolver, timing
from uzushio.solvers.thermal import solver as solver_module
from uzushio.solvers.thermal.pressure_estimate import pressure_arrays

WALL = {"type": "wall"}
CELLS = 60  # more than those of the solver that the estimate makes


def case_of(cells: int = CELLS, **changes: Any) -> ThermalCase:
    values: dict[str, Any] = {
        "solver": "thermal",
        "grid": {axis: {"cells": cells} for axis in "xyz"},
        "periodic": ["x"],
        "fluid": {"viscosity": 0.1},
        "boundaries": {f"{a}-{end}": {"type": "wall"} for a in "yz" for end in ("min", "max")},
        "time": {"steps": 1, "cfl": 0.5},
        "output": {"folder": "."},
    }
    return ThermalCase.model_validate(values | changes)


@pytest.mark.parametrize("name", ["fft", "cg", "bicgstab"])
def test_the_estimate_has_the_arrays_of_the_pressure_solver(name: str) -> None:
    solver = PoissonSolver(
        MPI.COMM_SELF,
        cells=(CELLS, CELLS, CELLS),
        lengths=(1, 1, 1),
        conditions=("periodic", "neumann", "neumann"),
        solver=name,
    )
    arrays = solver.bytes / (8 * CELLS**3)
    case = case_of(numerics={"solver": name})
    assert pressure_arrays(case, 1) == pytest.approx(arrays, rel=0.1)


def test_a_body_needs_an_iterative_solver_and_its_arrays() -> None:
    ball = {"ball": {"shape": "sphere", "centre": [0.5, 0.5, 0.5], "radius": 0.2}}
    without_body, other = (
        ThermalSolver.estimate(case, 1) for case in (case_of(), case_of(bodies=ball))
    )
    assert other.field_arrays > without_body.field_arrays + 6
    assert other.memory_per_rank > 8 * CELLS**3 * other.field_arrays * 0.99


def test_velocity_at_cells_is_allocated_when_it_is_asked_for() -> None:
    solver = ThermalSolver(case_of(8), MPI.COMM_SELF).begin()
    state = solver.state()
    assert "velocity" not in state.arrays
    out = [np.empty((8, 8, 8, 3))]
    solver.core.values("face_velocity", 0, 0)[...] = 2.0
    solver.write_field("velocity", out)
    np.testing.assert_array_equal(out[0][..., 0], 2.0)


def test_initial_fields_do_not_depend_on_their_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(9, initial={"velocity": [1, 0, 0], "noise": {"velocity": 0.2}})
    velocities = []
    for size in (1, 200, 10**6):
        monkeypatch.setattr("uzushio.solvers.thermal.solver._SLAB", size)
        solver = ThermalSolver(case, MPI.COMM_SELF).begin()
        velocities.append(np.array(solver.core.values("face_velocity", 0, 1)))
    assert np.ptp(velocities[0]) > 0.1
    np.testing.assert_array_equal(velocities[0], velocities[1])
    np.testing.assert_array_equal(velocities[0], velocities[2])


def test_the_time_of_a_step_is_that_of_fewer_cells_by_the_cells_of_a_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = case_of(64, periodic=["x", "y"], boundaries={"z-min": WALL, "z-max": WALL})
    small = timing.smaller(case, 4096)
    assert [axis.cells for axis in small.grid.axes] == [16, 16, 16]
    assert timing.smaller(case, 64**3).grid == case.grid
    monkeypatch.setattr(solver_module, "smaller", lambda case: timing.smaller(case, 4096))
    assert 0.0 < (ThermalSolver.seconds_per_step(case, 1) or 0.0) < 600.0
    monkeypatch.setattr(solver_module, "minimum_step", lambda core: 0.5)
    assert ThermalSolver.seconds_per_step(case, 1) == 0.5 * 64
    assert ThermalSolver.seconds_per_step(case, 4) == 0.5 * 16


def test_fewer_cells_are_as_fast_to_transform() -> None:
    def fewer(*cells: int) -> list[int]:
        grid = {axis: {"cells": count} for axis, count in zip("xyz", cells, strict=True)}
        small = timing.smaller(case_of(grid=grid, periodic=["x", "y", "z"], boundaries={}))
        return [axis.cells for axis in small.grid.axes]

    assert fewer(80, 60, 50) == [64, 50, 40]  # not 66 = 2 x 3 x 11, which is nearer to 65.4
    assert fewer(88, 60, 50) == [70, 48, 40]  # 70 has smaller factors than 88 = 8 x 11


def test_fewer_cells_keep_the_ends_and_the_stretching() -> None:
    faces = (np.arange(65) / 64.0) ** 2
    axes = {"x": {"cells": 64, "faces": faces.tolist()}, "y": {"cells": 64, "stretching": 2.0}}
    ends = {f"{a}-{end}": WALL for a in "xy" for end in ("min", "max")}
    small = timing.smaller(case_of(grid=axes, periodic=[], boundaries=ends), 256)
    assert small.grid.x.positions().tolist() == faces[::4].tolist()
    assert (small.grid.y.cells, small.grid.y.stretching) == (16, 2.0)
