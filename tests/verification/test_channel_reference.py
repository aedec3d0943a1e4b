"""The published profiles obey the laws of the flow, in the axes and units that Uzushio uses."""

from __future__ import annotations

import numpy as np
import pytest

from uzushio.solvers.channel import reference


@pytest.fixture(params=reference.NAMES)
def profiles(request: pytest.FixtureRequest) -> reference.Profiles:
    return reference.load(request.param)


def test_the_mean_profile_leaves_the_wall_with_slope_one(profiles: reference.Profiles) -> None:
    near = (profiles.z > 0) & (profiles.z < 2)
    assert np.allclose(profiles.u[near] / profiles.z[near], 1.0, atol=0.01)


def test_viscous_and_turbulent_stress_add_up_to_the_linear_stress(
    profiles: reference.Profiles,
) -> None:
    viscous = np.gradient(profiles.u, profiles.z, edge_order=2)
    total = 1.0 - profiles.z / profiles.re_tau
    assert np.allclose(viscous + profiles.minus_uw, total, atol=0.015)


def test_the_spanwise_fluctuation_is_the_larger_one_near_the_wall(
    profiles: reference.Profiles,
) -> None:
    near = (profiles.z > 0) & (profiles.z < 20)
    assert np.all(profiles.v_rms[near] > profiles.w_rms[near])


def test_the_bulk_velocity_is_the_integral_of_the_profile(profiles: reference.Profiles) -> None:
    z = np.linspace(0.0, profiles.z[-1], 4000)
    flux = np.trapezoid(reference.interpolate(z, profiles.z, profiles.u), z)
    flux += profiles.centre_velocity * (profiles.re_tau - z[-1])
    assert flux / profiles.re_tau == pytest.approx(profiles.bulk_velocity, rel=2e-4)


def test_the_terms_of_the_budget_balance() -> None:
    terms = reference.load("mkm180").budget
    assert list(terms) == list(reference.BUDGET)
    assert np.abs(sum(terms.values())).max() < 0.005 * terms["production"].max()


def test_the_nearest_reference_is_found_within_ten_per_cent() -> None:
    assert reference.nearest(179.0) is reference.load("mkm180")
    assert reference.nearest(185.0) is reference.load("lee_moser180")
    assert reference.nearest(185.0, budget=True) is reference.load("mkm180")
    assert reference.nearest(250.0) is None


def test_interpolation_is_exact_for_parabolas_and_nowhere_outside() -> None:
    points = np.array([0.0, 0.5, 1.5, 2.0, 4.0])
    x = np.linspace(0.0, 4.0, 17)
    assert np.allclose(reference.interpolate(x, points, points**2 - points), x**2 - x)
    assert np.isnan(reference.interpolate(np.array([4.1]), points, points)).all()
