"""The jet solver's wall model against the exact inverse of its law, and in equilibrium."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jet_flow import Flow, core, one_gas
from scipy.integrate import quad

from uzushio.grids import box_grid
from uzushio.solvers.wall_law import reichardt

CAPACITY = 3.5
RECOVERY = 0.9


@pytest.mark.parametrize("friction", [1e-3, 0.05])
@pytest.mark.parametrize("slope", [0.0, -0.1, 0.3])
def test_fluxes_are_the_inverse_of_the_law(friction: float, slope: float) -> None:
    """From the friction velocity to the speed, by quadrature of du = sqrt(T / T_w) du_+."""
    wall, density, viscosity, distance = 1.2, 0.8, 1e-5, 0.03  # density at the wall
    transformed = friction * reichardt(np.array(distance * friction * density / viscosity))

    def ratio(u: float) -> float:
        return 1 + slope * u - RECOVERY * u * u / (2 * CAPACITY * wall)

    def integral(u: float) -> float:
        return float(quad(lambda v: 1 / np.sqrt(ratio(v)), 0, u, epsabs=1e-14)[0])

    speed = transformed
    for _ in range(60):
        speed = speed - (integral(speed) - transformed) * np.sqrt(ratio(speed))
    temperature = wall * ratio(speed)
    stress, heat, found = core.wall_fluxes(
        distance, speed, density / ratio(speed), temperature, CAPACITY, viscosity,
        wall if slope else None,
    )  # fmt: skip
    assert stress == pytest.approx(density * friction**2, rel=1e-9)
    assert heat == pytest.approx(CAPACITY * stress * wall * slope / 0.9, rel=1e-9, abs=1e-15)
    assert found == pytest.approx(wall, rel=1e-12)


def test_a_still_gas_is_heated_by_conduction_alone() -> None:
    """In the viscous sublayer: Fourier's law, with the model's Prandtl number."""
    stress, heat, _ = core.wall_fluxes(1e-3, 0.0, 1.0, 1.001, CAPACITY, 0.01, 1.0)
    assert stress == 0
    assert heat == pytest.approx(0.01 * CAPACITY / 0.9 * 0.001 / 1e-3, rel=1e-3)


@pytest.mark.parametrize("scheme", ["keep", "upwind"])
def test_a_driven_channel_is_in_equilibrium_with_the_stress(scheme: str) -> None:
    """One cell across, between walls of a law: the force is the stress of both walls."""
    height, viscosity, force = 0.2, 1e-4, 0.02
    mesh = box_grid((4, 1, 1), (0.4, height, 0.2), periodic="xz").mesh()
    wall = core.PatchCondition("isothermal_wall_model", core.State((0, 0, 0), 1, 1, [1]))

    def states(x: Any, y: Any, z: Any) -> list[Any]:
        return [1, 0.9, 0, 0, 1, 1]

    flow = Flow(
        mesh, one_gas(viscosity=viscosity), states, {"y-min": wall, "y-max": wall},
        scheme=scheme, acceleration=(force, 0, 0),
    )  # fmt: skip
    flow.run(400.0, 0.9)
    u, T, rho = (float(flow.values(name)[0].ravel()[0])
                 for name in ("velocity", "temperature", "density"))  # fmt: skip
    stress, heat, _ = core.wall_fluxes(height / 2, u, rho, T, CAPACITY, viscosity, 1.0)
    assert 2 * stress == pytest.approx(rho * force * height, rel=1e-3)
    assert 2 * heat == pytest.approx(rho * force * height * u, rel=1e-2)  # the force's work
    out = flow.core.outflows()
    assert out["y-min"][1] == pytest.approx(stress * 0.4 * 0.2, rel=1e-3)
    assert out["y-max"][4] == pytest.approx(heat * 0.4 * 0.2, rel=1e-2)
    assert out["y-min"][0] == pytest.approx(0.0, abs=1e-15)
