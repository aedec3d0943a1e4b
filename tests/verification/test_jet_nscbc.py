"""Characteristic in- and outflow of the jet solver: what comes back of waves that leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jet_flow import Flow, core, one_gas

from uzushio.grids import box_grid

Array = np.ndarray
SOUND = np.sqrt(1.4)


def state(speed: float = 0.2, *, fractions: tuple[float, ...] = (1.0,)) -> Any:
    return core.State((speed, 0.0, 0.0), 1.0, 1.0, list(fractions))


def ends(gas_state: Any, relaxation: float = 0.25, transverse: float = -1.0) -> dict[str, Any]:
    kinds = {"x-min": "characteristic_inflow", "x-max": "characteristic_outflow"}
    return {
        name: core.PatchCondition(kind, gas_state, None, relaxation, 1.0, transverse)
        for name, kind in kinds.items()
    }


def returned(scheme: str, direction: int, sponge: bool = False) -> float:
    """Part of an acoustic pulse that is left after it has passed an end; 1: x-max, -1: x-min."""
    speed, size = 0.2, 1e-4
    far = state(speed)

    def states(x: Array, y: Array, z: Array) -> list[Any]:
        pulse = size * np.exp(-np.log(2) * ((x - 0.5 + 0.1 * direction) / 0.05) ** 2)
        pressure = 1 + pulse
        return [1, speed + direction * pulse / SOUND, 0, 0, pressure, pressure / (1 + pulse / 1.4)]

    sponges = []
    if sponge:
        sponges = [core.Sponge((0, 0, 0), (direction, 0, 0), False, *reach, 60.0, far)
                   for reach in [(0.7, 1.0) if direction > 0 else (-0.3, 0.0)]]  # fmt: skip
    mesh = box_grid((160, 1, 1), periodic="yz").mesh()
    flow = Flow(mesh, one_gas(), states, ends(far, 0.1), scheme=scheme, sponges=sponges)
    flow.run(0.85 / (SOUND + direction * speed))
    return float(np.abs(flow.values("pressure")[0] - 1).max() / size)


@pytest.mark.parametrize("scheme", ["keep", "hybrid", "upwind"])
def test_little_of_a_pulse_comes_back(scheme: str) -> None:
    for direction in (1, -1):
        assert returned(scheme, direction) <= 0.02
        assert returned(scheme, direction, sponge=True) <= 0.001


def test_the_pressure_of_an_outflow_is_held_and_the_inflow_too() -> None:
    """A flow with another pressure and speed than those of the conditions relaxes to them."""
    flow = Flow(
        box_grid((20, 1, 1), periodic="yz").mesh(), one_gas(),
        lambda x, y, z: [1, 0.3, 0, 0, 1.1, 1.2], ends(state(0.2), relaxation=2.0),
    )  # fmt: skip
    flow.run(60.0, 0.8)
    np.testing.assert_allclose(flow.values("pressure")[0], 1.0, rtol=2e-3)
    np.testing.assert_allclose(flow.values("velocity")[0][0], 0.2, rtol=2e-3)
    np.testing.assert_allclose(flow.values("temperature")[0], 1.0, rtol=2e-3)


def test_a_slug_of_another_gas_leaves_without_noise() -> None:
    gas = core.Gas([core.Species("n2", 1 / 28, 1 / 28 / 0.4, 3.0), core.Species("he", 0.25, 0.375)])

    def states(x: Array, y: Array, z: Array) -> list[Any]:
        share = np.exp(-(((x - 0.7) / 0.08) ** 2))
        return [0.2 * share, 1 - 0.2 * share, 0.5, 0, 0, 1, 1.0 / (0.25 - 0.2 * share * 3 / 14)]

    far = core.State((0.5, 0, 0), 1.0, 4.0, [0.0, 1.0])
    flow = Flow(box_grid((100, 1, 1), periodic="yz").mesh(), gas, states, ends(far))
    flow.run(1.2)
    assert np.abs(flow.values("pressure")[0] - 1).max() <= 2e-3
    assert flow.values("Y_n2")[0].max() <= 5e-3


def vortex_error(transverse: float) -> float:
    """Error of the pressure over the vortex's deficit, beside a longer domain."""
    mach, radius, strength = 0.4, 0.08, 0.02
    speed = mach * SOUND

    def states(x: Array, y: Array, z: Array) -> list[Any]:
        r2 = ((x - 0.5) ** 2 + (y - 0.5) ** 2) / radius**2
        bell = strength * SOUND * np.exp(0.5 * (1 - r2))
        t = 1 - 0.5 * 0.4 / 1.4 * bell**2
        return [1, speed - bell * (y - 0.5) / radius, bell * (x - 0.5) / radius, 0, t**3.5, t]

    pressures = []
    for length in (1, 3):
        mesh = box_grid((48 * length, 48, 1), (length, 1, 1), periodic="yz").mesh()
        flow = Flow(mesh, one_gas(), states, ends(state(speed), transverse=transverse))
        found = []
        for end in (0.3, 0.6, 0.9, 1.2, 1.5):
            flow.run(end / speed, 0.9)
            found.append(flow.values("pressure")[0][0, 0, :, :48])
        pressures.append(np.array(found))
    deficit = 1 - (1 - 0.5 * 0.4 / 1.4 * (strength * SOUND) ** 2 * np.e) ** 3.5
    return float(np.abs(pressures[0] - pressures[1]).max() / deficit)


def test_a_vortex_leaves_as_through_a_larger_domain() -> None:
    assert vortex_error(-1.0) <= 0.2
    assert vortex_error(1.0) >= 1.0  # waves that enter have all transverse terms: none removed


def test_what_leaves_is_what_the_integrals_lose() -> None:
    gas = core.Gas([core.Species("a", 1.0, 2.5), core.Species("b", 2.0, 4.0, 0.5)], viscosity=0.01)
    conditions = ends(core.State((0.6, 0.1, 0.0), 1.0, 1.0, [0.3, 0.7]))
    mesh = box_grid((12, 10, 1), periodic="yz", zones=(2, 2, 1), mapping="wavy", amplitude=0.02,
                    orientations="any").mesh()  # fmt: skip
    flow = Flow(
        mesh, gas, lambda x, y, z: [0.5 + 0.2 * np.sin(6 * y), 0.5 - 0.2 * np.sin(6 * y), 0.6, 0.1,
        0, 1 + 0.3 * np.sin(5 * x + y), 1 + 0.2 * np.cos(4 * y)], conditions,
    )  # fmt: skip
    before = np.array(flow.core.integrals())[:6]
    lost = np.zeros(6)
    for _ in range(4):
        time = flow.core.time
        flow.step(0.8)
        lost += (flow.core.time - time) * sum(map(np.array, flow.core.outflows().values()))
    after = np.array(flow.core.integrals())[:6]
    assert np.abs(lost).max() > 1e-2
    np.testing.assert_allclose(before - after, lost, atol=3e-14)
