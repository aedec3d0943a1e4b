"""The channel solver against exact solutions, eigenvalues, conservation laws and orders."""

from __future__ import annotations

import numpy as np
import pytest
from channel_cases import centres, core, faces, make, stir
from scipy.optimize import brentq
from tollmien_schlichting import ORSZAG, orr_sommerfeld, wave_speed

from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.initial import laminar

UNBOUNDED = float("inf")


def advance(solver: core.Solver, dt: float, steps: int) -> None:
    for _ in range(steps):
        assert solver.step(UNBOUNDED, dt) == dt


def mode(solver: core.Solver, name: str, kx: int, ky: int) -> np.ndarray:
    values = solver.spectral(name)
    return values[:, 0, ky, kx] + 1j * values[:, 1, ky, kx]


def order(errors: list[float]) -> np.ndarray:
    """Orders of convergence from errors on grids that are refined by two."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


# --- laminar flow -------------------------------------------------------------------------------


def poiseuille(nz: int) -> ChannelCase:
    return ChannelCase.model_validate(
        {
            "solver": "channel",
            "grid": {"nx": 8, "ny": 8, "nz": nz, "lx": "2 pi", "ly": "pi"},
            "flow": {"reynolds_centre": 50},
            "time": {"steps": 1, "cfl": 0.5},
        }
    )


def test_poiseuille_flow_stays_as_it_is_to_round_off() -> None:
    case = poiseuille(33)
    z = case.grid.wall_faces()
    profile = laminar(case).astype(complex)
    nothing = np.zeros_like(profile)
    solver = make((8, 8, 33), z, viscosity=0.02, drive=0.04)
    solver.add_mode(0, 0, profile, nothing, nothing)
    solver.project()
    advance(solver, 0.1, 200)
    np.testing.assert_allclose(mode(solver, "u", 0, 0).real, profile.real, rtol=0, atol=2e-14)
    assert abs(mode(solver, "w", 0, 0)).max() < 1e-15
    # The stress on the walls carries the pressure gradient exactly, on any grid.
    assert solver.wall_shear() == pytest.approx(0.04, rel=1e-13)


def test_a_flow_from_rest_becomes_poiseuille_flow() -> None:
    case = poiseuille(24)
    solver = make((8, 8, 24), case.grid.wall_faces(), viscosity=0.02, drive=0.04)
    advance(solver, 5.0, 400)
    np.testing.assert_allclose(mode(solver, "u", 0, 0).real, laminar(case), rtol=0, atol=1e-13)


def test_the_discrete_poiseuille_profile_is_the_parabola_to_second_order() -> None:
    errors = []
    for nz in (16, 32, 64):
        z = centres(poiseuille(nz).grid.wall_faces())
        errors.append(abs(laminar(poiseuille(nz)) - z * (2 - z)).max())
    assert order(errors) == pytest.approx(2.0, abs=0.2)


def test_a_held_flow_rate_finds_the_laminar_pressure_gradient() -> None:
    nu = 0.1
    solver = make((8, 8, 64), viscosity=nu, drive=1.0, forcing="flow_rate")
    advance(solver, 0.05, 2000)
    assert solver.bulk_velocity() == pytest.approx(1.0, rel=1e-14)
    assert solver.wall_shear() == pytest.approx(3 * nu, rel=2e-3)  # second order in nz
    assert solver.pressure_gradient == pytest.approx(solver.wall_shear(), rel=1e-12)


# --- a decaying Stokes mode ---------------------------------------------------------------------


def stokes_error(nz: int) -> float:
    """Relative error of the decay rate of the slowest even Stokes mode with wave number 1.

    w = cos(b y)/cos b - cosh(y)/cosh 1 with b tan b = -tanh 1 decays at the rate 1 + b²; y = z - 1.
    """
    b = brentq(lambda b: b * np.tan(b) + np.tanh(1.0), np.pi / 2 + 1e-6, np.pi)
    z = faces(nz)
    y, y_face = centres(z) - 1.0, z[1:] - 1.0
    w = np.cos(b * y_face) / np.cos(b) - np.cosh(y_face) / np.cosh(1.0)
    slope = -b * np.sin(b * y) / np.cos(b) - np.sinh(y) / np.cosh(1.0)
    solver = make((8, 4, nz), z, viscosity=1.0)
    small = 1e-8  # the wave does not feel itself
    solver.add_mode(1, 0, small * 1j * slope, np.zeros(nz, complex), small * w.astype(complex))
    solver.project()
    dt, steps = 2e-4, 100
    advance(solver, dt, steps)
    before = mode(solver, "w", 1, 0)
    advance(solver, dt, steps)
    after = mode(solver, "w", 1, 0)
    rate = -np.log(np.vdot(before, after).real / np.vdot(before, before).real) / (dt * steps)
    return abs(rate / (1.0 + b**2) - 1.0)


def test_a_stokes_mode_decays_at_its_rate_to_second_order_in_z() -> None:
    errors = [stokes_error(nz) for nz in (16, 32, 64, 128)]
    assert order(errors) == pytest.approx(2.0, abs=0.15)
    assert errors[-1] < 5e-4


# --- the Tollmien–Schlichting wave --------------------------------------------------------------


def test_the_reference_eigenvalue_is_orszags() -> None:
    assert orr_sommerfeld()[0] == pytest.approx(ORSZAG, abs=2e-8)


def test_the_tollmien_schlichting_wave_grows_and_moves_as_it_should() -> None:
    speeds = [wave_speed(nz) for nz in (64, 128, 256)]
    errors = [abs(c - ORSZAG) for c in speeds]
    assert order(errors) == pytest.approx(2.0, abs=0.2)
    # The error at 256 cells is of second order: Richardson extrapolation removes it.
    extrapolated = speeds[2] + (speeds[2] - speeds[1]) / 3
    assert extrapolated.real == pytest.approx(ORSZAG.real, abs=1e-4)
    assert extrapolated.imag == pytest.approx(ORSZAG.imag, abs=1e-4)


def test_values_sent_in_single_precision_change_the_growth_by_less_than_the_grid() -> None:
    rounded = wave_speed(64, "single") - wave_speed(64)
    # Each value is rounded by at most 6e-8 of its size; some thousand roundings add up at random.
    assert 0 < abs(rounded) < 1e-5
    assert abs(rounded) < 0.01 * abs(wave_speed(64) - ORSZAG)


# --- conservation -------------------------------------------------------------------------------


@pytest.mark.parametrize("stretching", [0.0, 2.0])
@pytest.mark.parametrize("dealiasing", ["three_halves", "two_thirds"])
def test_convection_neither_makes_nor_destroys_energy(dealiasing: str, stretching: float) -> None:
    z = faces(20, stretching)
    solver = make((16, 16, 20), z, viscosity=0.01, dealiasing=dealiasing)
    stir(solver, z, amplitude=3.0)
    power, size = solver.convective_power()
    assert size > 1.0
    assert abs(power) < 1e-13 * size


def test_without_dealiasing_energy_is_not_conserved_so_the_test_can_fail() -> None:
    z = faces(20)
    solver = make((16, 16, 20), z, viscosity=0.01, dealiasing="none")
    stir(solver, z, amplitude=3.0, most=7)
    power, size = solver.convective_power()
    assert abs(power) > 1e-6 * size


def test_the_velocity_is_free_of_divergence_to_round_off() -> None:
    z = faces(24, 2.0)
    solver = make((16, 16, 24), z, viscosity=0.01, drive=0.1)
    stir(solver, z)
    for _ in range(5):
        solver.step(0.4, UNBOUNDED)
        gradient = np.sqrt(2 * solver.kinetic_energy()) / np.diff(z).min()
        assert solver.divergence() < 1e-15 * gradient


def test_the_mean_flow_changes_by_driving_force_minus_wall_friction() -> None:
    z = faces(24)
    solver = make((16, 16, 24), z, viscosity=0.05, drive=0.7)
    stir(solver, z)
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        before, shear = solver.bulk_velocity(), solver.wall_shear()
        advance(solver, dt, 1)
        shear = 0.5 * (shear + solver.wall_shear())
        errors.append(abs((solver.bulk_velocity() - before) / dt - (0.7 - shear)))
    # The trapezoidal mean of the wall shear is second order in dt.
    assert errors[-1] < 1e-5


def test_the_time_scheme_is_second_order() -> None:
    z = faces(16)

    def velocity(steps: int) -> np.ndarray:
        solver = make((16, 16, 16), z, viscosity=0.02, drive=0.1)
        stir(solver, z)
        advance(solver, 0.04 / steps, steps)
        return np.concatenate([solver.spectral(name).ravel() for name in "uvw"])

    finest = velocity(128)
    errors = [float(np.linalg.norm(velocity(n) - finest)) for n in (8, 16, 32)]
    assert (order(errors) > 1.7).all()


# --- choices ------------------------------------------------------------------------------------


def test_a_step_obeys_the_cfl_number_and_the_longest_step() -> None:
    z = faces(16)
    solver = make((16, 16, 16), z, viscosity=0.02)
    stir(solver, z)
    dt = solver.step(0.3, UNBOUNDED)
    assert dt * solver.fastest_rate == pytest.approx(0.3, rel=1e-14)
    assert solver.step(0.3, 0.5 * dt) == 0.5 * dt


def test_modes_stay_real_fields() -> None:
    """The modes (0, ky) and (0, -ky) of a real field are conjugates; nothing breaks that."""
    z = faces(12)
    solver = make((12, 12, 12), z, viscosity=0.02, drive=0.1)
    stir(solver, z)
    advance(solver, 1e-3, 20)
    for name in "uvw":
        column = solver.spectral(name)[:, 0, :, 0] + 1j * solver.spectral(name)[:, 1, :, 0]
        np.testing.assert_allclose(column[:, 1:], column[:, :0:-1].conj(), rtol=0, atol=1e-13)
