"""Averages of thermal flows: covariances of known fluctuations, and units of walls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from mpi4py import MPI

from uzushio._base.figure_style import style
from uzushio.errors import CaseError
from uzushio.solvers.statistics.averages import TimeAverage
from uzushio.solvers.thermal import ThermalCase, ThermalSolver
from uzushio.solvers.thermal.figures import averages

PAIRS = [["velocity", "velocity"], ["velocity", "temperature"], ["temperature", "temperature"]]


def case_of(**changes: Any) -> ThermalCase:
    """Flow along x between walls at y = 0 and y = 2, with a temperature."""
    values: dict[str, Any] = {
        "solver": "thermal",
        "grid": {"x": {"cells": 12}, "y": {"cells": 10, "length": 2, "stretching": 1.1}},
        "periodic": ["x"],
        "fluid": {"viscosity": 0.02},
        "scalars": {"temperature": {"diffusivity": 0.05, "unit": "K"}},
        "boundaries": {"y-min": {"type": "wall"}, "y-max": {"type": "wall"}},
        "statistics": {
            "every": 1,
            "fields": ["velocity", "temperature"],
            "over": ["i"],
            "covariances": PAIRS,
        },
        "units": {"length": "m", "time": "s"},
        "time": {"steps": 10, "cfl": 0.9},
    }
    return ThermalCase.model_validate(values | changes)


def averaged(solver: ThermalSolver, times: list[float], write: Any) -> xr.Dataset:
    """Statistics of fields that `write` sets at these times."""
    average = TimeAverage()
    for time in times:
        write(time)
        solver._derived_step = None
        average.add(solver.sample(), time)
    return solver.statistics(average.mean(), average.samples)


def test_covariances_are_those_of_known_fluctuations_at_unequal_times() -> None:
    periodic: dict[str, Any] = {
        "grid": {"x": {"cells": 12}, "y": {"cells": 3}, "z": {"cells": 4, "stretching": 1.0}},
        "periodic": ["x", "y"],
        "boundaries": {"z-min": {"type": "wall"}, "z-max": {"type": "wall"}},
        "statistics": case_of().statistics.model_dump() | {"over": ["i", "j"]},
    }
    solver = ThermalSolver(case_of(**periodic), MPI.COMM_SELF).begin()
    times = [0.0, 1.0, 1.25, 3.0, 3.5]  # the first sample counts as long as the second
    weights = np.array([1.0, 1.0, 0.25, 1.75, 0.5]) / 4.5
    strength = {time: 0.3 + time**2 for time in times}
    k = 2 * np.pi * (np.arange(12) + 0.5) / 12
    height = np.arange(4.0).reshape(4, 1, 1)

    def write(time: float) -> None:
        u, v = (solver.core.values("face_velocity", 0, axis)[0] for axis in (0, 1))
        u[...] = 7.0 + strength[time]
        v[...] = -2.0 + strength[time] * np.sin(k)
        temperature = solver.core.values("temperature", 0)[0]
        temperature[...] = height * (5.0 + strength[time] * np.sin(k + 0.7))

    averages_of_run = averaged(solver, times, write)
    q = np.array([*strength.values()])
    mean, square = weights @ q, weights @ q**2
    exact = {("u", "u"): square - mean**2, ("v", "v"): 0.5 * square, ("u", "v"): 0.0}
    stress = averages_of_run["covariance_velocity_velocity"]
    assert stress.dims == ("z", "component", "other_component")
    for (first, other), value in exact.items():
        p, r = "uvw".index(first), "uvw".index(other)
        np.testing.assert_allclose(stress[:, p, r], value, atol=1e-12)
        np.testing.assert_allclose(stress[:, r, p], value, atol=1e-12)
    np.testing.assert_allclose(
        stress[:, 1, 1], averages_of_run["velocity_rms"][:, 1] ** 2, rtol=1e-12
    )
    flux = averages_of_run["covariance_velocity_temperature"]
    z = height.ravel()
    assert flux.dims == ("z", "component")
    np.testing.assert_allclose(flux[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(flux[:, 1], 0.5 * np.cos(0.7) * square * z, atol=1e-12)
    variance = averages_of_run["covariance_temperature_temperature"]
    assert variance.dims == ("z",) and variance.attrs["units"] == "K K"
    np.testing.assert_allclose(variance, 0.5 * square * z**2, atol=1e-12)


def test_a_laminar_channel_has_no_covariances_and_the_shear_that_balances_its_force(
    tmp_path: Path,
) -> None:
    walls = {
        "y-min": {"type": "wall", "values": {"temperature": 3}},
        "y-max": {"type": "wall", "fluxes": {"temperature": 0.2}},
    }
    case = case_of(
        boundaries=walls,
        fluid={"viscosity": 0.02, "force": [0.02, 0, 0]},
        time={"steps": 10**6, "cfl": 0.9},
    )
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    faces = case.grid.y.positions()
    centres = 0.5 * (faces[1:] + faces[:-1])
    slope = 0.02 / 0.02 * (1.0 - faces[:-1])  # the force above a face over the viscosity
    steady = np.cumsum(slope * np.diff(centres, prepend=0.0))
    temperature = 3.0 + 0.2 / 0.05 * centres

    def write(_: float) -> None:
        solver.core.values("face_velocity", 0, 0)[0][...] = steady.reshape(1, -1, 1)
        solver.core.values("temperature", 0)[0][...] = temperature.reshape(1, -1, 1)

    write(0.0)
    solver.core.start(0.0)
    solver.step()
    now = solver.core.values("face_velocity", 0, 0)[0][0, :, 0]
    np.testing.assert_allclose(now, steady, rtol=1e-12)  # the profile is steady
    averages_of_run = averaged(solver, [0.0, 1.0], write)
    for name in ("velocity_velocity", "velocity_temperature", "temperature_temperature"):
        np.testing.assert_allclose(averages_of_run[f"covariance_{name}"], 0.0, atol=1e-13)
    # Force times half of the height is the shear at each wall; heat flows from y-max to y-min.
    np.testing.assert_allclose(
        averages_of_run["wall_shear"], [[0.02, 0.0], [0.02, 0.0]], atol=1e-14
    )
    assert list(averages_of_run["wall"].values) == ["y-min", "y-max"]
    u_tau = 0.02**0.5
    np.testing.assert_allclose(averages_of_run["u_tau"], u_tau, rtol=1e-12)
    np.testing.assert_allclose(averages_of_run["wall_flux_temperature"], [-0.2, 0.2], rtol=1e-11)
    distance = np.minimum(centres, 2.0 - centres)
    np.testing.assert_allclose(
        averages_of_run["wall_distance_plus"], distance * u_tau / 0.02, rtol=1e-12
    )
    np.testing.assert_allclose(averages_of_run["velocity_plus"][:, 0], steady / u_tau, rtol=1e-12)
    # From y-min: 3 - T over the negative unit; from y-max: its value, 4 * 2 + 3, less T.
    plus = np.where(centres < 1.0, temperature - 3.0, 11.0 - temperature) * u_tau / 0.2
    np.testing.assert_allclose(averages_of_run["temperature_plus"], plus, rtol=1e-11)
    with style():
        drawn = dict(averages.figures(case, averages_of_run, "Channel"))
    assert {*drawn} == {"mean_profiles", "mean_covariances", "mean_wall_units"}
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png")
    labels = [axes.get_ylabel() for axes in drawn["mean_covariances"].axes]
    assert labels[1] == "turbulent flux\nof temperature [K m/s]"


def test_moving_walls_and_single_walls_have_their_own_units() -> None:
    sides: dict[str, Any] = {
        "y-min": {"type": "wall", "velocity": [1.5, 0, 0]},
        "y-max": {"type": "symmetry"},
    }
    case = case_of(boundaries=sides)
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    faces = case.grid.y.positions()
    middle = 0.5 * (faces[1:] + faces[:-1])

    def write(_: float) -> None:
        u = solver.core.values("face_velocity", 0, 0)[0]
        u[...] = (1.5 - 0.5 * middle).reshape(1, -1, 1)

    averages_of_run = averaged(solver, [0.0, 1.0], write)
    assert list(averages_of_run["wall"].values) == ["y-min"]
    np.testing.assert_allclose(averages_of_run["wall_shear"], [[-0.5 * 0.02, 0.0]], rtol=1e-12)
    plus = -averages_of_run["wall_distance_plus"].values  # slower than the wall, u+ = y+ in size
    np.testing.assert_allclose(averages_of_run["velocity_plus"][:, 0], plus, rtol=1e-12)
    assert np.isnan(averages_of_run["temperature_plus"]).all()  # no heat crosses the wall


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([["velocity", "pressure"]], "'pressure' is not among statistics.fields"),
        ([["velocity", "face_velocity"]], r"'face_velocity' \(at faces\) are not at the same"),
    ],
)
def test_covariances_of_other_points_or_unknown_means_are_refused(
    pairs: list[list[str]], message: str
) -> None:
    asked = {"fields": ["velocity", "face_velocity"], "covariances": pairs}
    with pytest.raises((CaseError, ValueError), match=message):
        ThermalSolver.estimate(case_of(statistics=asked), 1)
