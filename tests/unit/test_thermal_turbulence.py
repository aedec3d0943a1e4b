"""Turbulent initial fields of a thermal flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.errors import CaseError
from uzushio.solvers.thermal import ThermalSolver
from uzushio.solvers.thermal.case import ThermalCase
from uzushio.solvers.thermal.initial import InitialFields
from uzushio.solvers.wall_law import reichardt


def case(cells: int = 24, walls: bool = True, flat: bool = False, **turbulence: Any) -> ThermalCase:
    grid = {
        "x": {"cells": cells, "length": 4.0},
        "y": {"cells": cells, "length": 2.0, "stretching": 1.2},
        "z": {"cells": cells, "length": 2.0},
    }
    if flat:
        del grid["z"]
    periodic = ["x"] if flat else ["x", "z"]
    return ThermalCase.model_validate(
        {
            "solver": "thermal",
            "grid": grid,
            "periodic": periodic if walls else [*periodic, "y"],
            "fluid": {"viscosity": 1e-3},
            "boundaries": {f"y-{side}": {"type": "wall"} for side in ("min", "max") if walls},
            "initial": {"turbulence": {"rms": 0.3, **turbulence}, "seed": 5},
            "time": {"steps": 1, "dt": 1e-3},
        }
    )


def velocities(of: ThermalCase) -> list[np.ndarray]:
    """Return all values at the sides of cells, along k, j, i, by component."""
    fields, counts = InitialFields(of), [len(axis.positions()) - 1 for axis in of.grid.axes]
    shape = [1] * (3 - len(counts)) + counts[::-1]
    result = []
    for component in range(len(counts)):
        at = list(shape)
        at[2 - component] += 1
        result.append(fields.velocity(component, (0, 0, 0), tuple(at)))
    return result


def widths(of: ThermalCase) -> list[np.ndarray]:
    axis_widths = [np.diff(axis.positions()) for axis in of.grid.axes]
    return [
        width.reshape([-1 if axis == 2 - a else 1 for axis in range(3)])
        for a, width in enumerate(axis_widths)
    ]


def divergence(of: ThermalCase) -> float:
    """Return the root of the mean square of the discrete divergence of the waves."""
    total = 0.0
    for component, (values, width) in enumerate(zip(velocities(of), widths(of), strict=True)):
        total = total + np.diff(values, axis=2 - component) / width
    return float(np.sqrt(np.mean(np.square(total))))


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("walls", [True, False])
def test_waves_have_their_mean_square_and_no_divergence(walls: bool, flat: bool) -> None:
    of = case(48, walls=walls, flat=flat)  # from here on, waves do not depend on the grid
    squares = []
    for component, values in enumerate(velocities(of)):
        volume, centred = 1.0, values.take(range(values.shape[2 - component] - 1), 2 - component)
        after = values.take(range(1, values.shape[2 - component]), 2 - component)
        for width in widths(of):
            volume = volume * width
        volume = np.broadcast_to(volume, centred.shape)
        squares.append(np.sum((0.5 * (centred + after)) ** 2 * volume) / np.sum(volume))
    assert np.sqrt(np.mean(squares)) == pytest.approx(0.3, rel=1e-12)
    assert min(squares) > 0.02 * max(squares)
    # Of second order: the curl is exact, its differences on the grid are not.
    assert divergence(case(96, walls=walls, flat=flat)) < 0.35 * divergence(of)


def test_waves_vanish_at_walls() -> None:
    u, v, w = velocities(case(48))
    assert np.abs(v[:, [0, -1], :]).max() < 1e-15
    for tangential in (u, w):
        assert np.abs(tangential[:, [0, -1], :]).max() < 0.1 * np.abs(tangential).max()


def test_values_are_the_same_in_any_part_of_the_box() -> None:
    of = case(friction_velocity=0.05)
    fields = InitialFields(of)
    for component, whole in enumerate(velocities(of)):
        part = fields.velocity(component, (2, 3, 5), (4, 6, 7))
        np.testing.assert_array_equal(part, whole[2:6, 3:9, 5:12])


def test_the_mean_is_the_profile_of_the_friction_velocity() -> None:
    of = case(friction_velocity=0.05)
    u = velocities(of)[0][..., :-1]
    faces = of.grid.axes[1].positions()
    y = 0.5 * (faces[1:] + faces[:-1])
    exact = 0.05 * reichardt(np.minimum(y, 2 - y) * 0.05 / 1e-3)
    np.testing.assert_allclose(u.mean(axis=(0, 2)), exact, atol=1e-12)
    # In the logarithmic layer: ln(y+)/0.41 + 5.2 within a few per cent.
    assert reichardt(np.array([300.0]))[0] == pytest.approx(np.log(300) / 0.41 + 5.2, rel=0.03)


def test_the_solver_begins_with_them_without_divergence() -> None:
    of = case(16, friction_velocity=0.05)
    solver = ThermalSolver(of, MPI.COMM_SELF).begin()
    assert solver.core.max_divergence() < 1e-10
    mean = 0.05 * 20  # about that of the profile
    assert solver.core.kinetic_energy() > 0.5 * 0.5 * mean**2 * 16


def test_a_profile_without_walls_is_refused() -> None:
    with pytest.raises(CaseError, match="no side beside the flow is a wall"):
        velocities(case(walls=False, friction_velocity=0.05))


def test_a_profile_without_viscosity_is_refused() -> None:
    of = case(friction_velocity=0.05)
    inviscid = of.model_copy(update={"fluid": of.fluid.model_copy(update={"viscosity": 0.0})})
    with pytest.raises(CaseError, match=r"needs a fluid\.viscosity above 0"):
        velocities(inviscid)
