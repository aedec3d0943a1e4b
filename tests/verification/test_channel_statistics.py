"""Statistics of the channel: moments compared with NumPy, and conservation laws."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from mpi4py import MPI

from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.solver import ChannelSolver

CASE = ChannelCase.model_validate(
    {
        "solver": "channel",
        "grid": {"nx": 24, "ny": 20, "nz": 22, "lx": "pi", "ly": "pi/2", "stretching": 1.8},
        "flow": {"reynolds_tau": 100},
        "time": {"steps": 10, "cfl": 0.4},
        "statistics": {"spectra_at": [0.2, 1.0]},
    }
)


@pytest.fixture(scope="module")
def solver() -> ChannelSolver:
    solver = ChannelSolver(CASE, MPI.COMM_SELF).begin()
    for _ in range(5):
        solver.step()
    return solver


@pytest.fixture(scope="module")
def statistics(solver: ChannelSolver) -> xr.Dataset:
    return solver.statistics(solver.sample(), 1)


def heights() -> np.ndarray:
    return np.diff(CASE.grid.wall_faces())


def test_means_and_stresses_are_those_of_the_points(
    solver: ChannelSolver, statistics: xr.Dataset
) -> None:
    u, v, w = (solver.physical(name) for name in "uvw")
    planes = (1, 2)

    def same(name: str, values: np.ndarray) -> None:
        np.testing.assert_allclose(statistics[name], values, rtol=1e-11, atol=1e-12, err_msg=name)

    # Means over the points of the case are exact for products of two fields of its modes.
    same("u", u.mean(axis=planes))
    same("v", v.mean(axis=planes))
    same("uu", u.var(axis=planes))
    same("vv", v.var(axis=planes))
    same("ww", np.concatenate([[0.0], (w**2).mean(axis=planes)]))
    between = 0.5 * (u[:-1] + u[1:])
    same("uw", np.concatenate([[0.0], (between * w[:-1]).mean(axis=planes), [0.0]]))
    same("u_rms", u.std(axis=planes))


def test_vorticity_is_the_curl_of_the_points(solver: ChannelSolver, statistics: xr.Dataset) -> None:
    u, v, w = (solver.physical(name) for name in "uvw")
    grid = CASE.grid

    def along(values: np.ndarray, axis: int, length: float) -> np.ndarray:
        n = values.shape[axis]
        wave = np.fft.fftfreq(n, 1 / n) * 2 * np.pi / length
        shape = [1, 1, 1]
        shape[axis] = n
        modes = np.fft.fft(values, axis=axis) * 1j * wave.reshape(shape)
        return np.fft.ifft(modes, axis=axis).real

    z = along(v, 2, grid.lx) - along(u, 1, grid.ly)
    np.testing.assert_allclose(statistics.vorticity_z_rms, z.std(axis=(1, 2)), rtol=1e-11)
    faces = grid.wall_faces()
    distance = np.diff(0.5 * (faces[1:] + faces[:-1]))[:, None, None]
    x = along(w[:-1], 1, grid.ly) - np.diff(v, axis=0) / distance
    y = np.diff(u, axis=0) / distance - along(w[:-1], 2, grid.lx)
    np.testing.assert_allclose(statistics.vorticity_x_rms[1:-1], x.std(axis=(1, 2)), rtol=1e-11)
    np.testing.assert_allclose(statistics.vorticity_y_rms[1:-1], y.std(axis=(1, 2)), rtol=1e-11)


def test_spectra_add_up_to_the_variance(statistics: xr.Dataset) -> None:
    for height, z in enumerate(statistics.height.values):
        cell = int(np.argmin(abs(statistics.z.values - z)))
        for axis in "xy":
            total = statistics[f"spectrum_{axis}"][height].sum(f"k{axis}")
            assert float(total[0]) == pytest.approx(float(statistics.uu[cell]), rel=1e-11)
            assert float(total[1]) == pytest.approx(float(statistics.vv[cell]), rel=1e-11)


@pytest.mark.parametrize("term", ["viscous_diffusion", "turbulent_transport", "pressure_transport"])
def test_transport_moves_energy_and_makes_none(statistics: xr.Dataset, term: str) -> None:
    moved = statistics[term].values * heights()
    assert abs(moved).sum() > 1e-3
    assert moved.sum() == pytest.approx(0.0, abs=1e-12 * abs(moved).sum())


def test_energy_is_lost_as_fast_as_it_is_dissipated_and_gained_as_it_is_produced() -> None:
    """The budget, integrated over the channel, is the rate of change of the energy."""
    case = CASE.model_copy(update={"time": CASE.time.model_copy(update={"cfl": None, "dt": 1e-6})})
    solver = ChannelSolver(case, MPI.COMM_SELF).begin()

    def fluctuations(data: xr.Dataset) -> float:
        return float((data.tke.values * heights()).sum())

    for _ in range(3):
        solver.step()
    before = solver.statistics(solver.sample(), 1)
    solver.step()
    after = solver.statistics(solver.sample(), 1)
    rate = (fluctuations(after) - fluctuations(before)) / 1e-6
    budget = sum(
        0.5 * float(((data.production - data.dissipation).values * heights()).sum())
        for data in (before, after)
    )
    assert rate == pytest.approx(budget, rel=1e-3)


def test_the_energy_budget_closes_in_each_cell_as_the_grid_is_refined() -> None:
    """The sum of the terms is the local rate of change of the energy."""
    residuals = []
    for nz in (22, 66):
        case = CASE.model_copy(
            update={
                "grid": CASE.grid.model_copy(update={"nz": nz}),
                "time": CASE.time.model_copy(update={"cfl": None, "dt": 1e-6}),
            }
        )
        solver = ChannelSolver(case, MPI.COMM_SELF).begin()
        states = []
        for _ in range(3):
            solver.step()
            states.append(solver.statistics(solver.sample(), 1))
        rate = (states[2].tke.values - states[0].tke.values) / 2e-6
        peak = float(abs(states[1].production).max())
        residuals.append(abs(rate - states[1].budget_residual.values).max() / peak)
        for term in ("turbulent_transport", "pressure_transport", "viscous_diffusion"):
            # Each term is large enough that a wrong sign or factor fails the test.
            assert abs(states[1][term].values).max() > 0.05 * peak
    assert residuals[1] < 0.01
    assert residuals[1] < 0.5 * residuals[0]


def test_steering_changes_the_drive_within_its_limits(solver: ChannelSolver) -> None:
    assert set(solver.parameters()) == {"pressure_gradient", "cfl"}
    with pytest.raises(ValueError, match="outside"):
        solver.steer("cfl", 2.0)
    with pytest.raises(KeyError):
        solver.steer("viscosity", 1.0)
    solver.steer("pressure_gradient", 1.5)
    solver.steer("cfl", 0.2)
    solver.step()
    assert solver.core.pressure_gradient == 1.5
    assert solver.dt * solver.core.fastest_rate == pytest.approx(0.2)
    assert solver.state().attributes["steered"] == {"pressure_gradient": 1.5, "cfl": 0.2}
