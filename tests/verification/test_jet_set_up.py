"""The jet solver's step length, balances and refusals of flows that it cannot compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jet_flow import Flow, core, one_gas

from uzushio.grids import box_grid

Array = np.ndarray


def at_rest(x: Array, y: Array, z: Array) -> list[Any]:
    return [1, 0, 0, 0, 1, 1]


def condition(kind: str, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Any:
    return core.PatchCondition(kind, core.State(velocity, 1.0, 1.0, [1.0]))


@pytest.mark.parametrize(("scheme", "needed"), [("keep", 1), ("hybrid", 3), ("upwind", 3)])
def test_zones_too_thin_between_a_connection_and_a_boundary_are_refused(
    scheme: str, needed: int
) -> None:
    ends = dict.fromkeys(("x-min", "x-max"), condition("far_field"))
    for cells in (1, 2, 3):
        mesh = box_grid((2 * cells, 1, 1), periodic="yz", zones=(2, 1, 1)).mesh()
        if cells < needed:
            with pytest.raises(ValueError, match=rf"zone 'box_\w+' has {cells} cells along i"):
                Flow(mesh, one_gas(), at_rest, ends, scheme=scheme)
            continue
        flow = Flow(mesh, one_gas(), at_rest, ends, scheme=scheme)
        for _ in range(3):
            flow.step(0.5)
        assert all((values == 1).all() for values in flow.values("pressure"))


@pytest.mark.parametrize(
    ("kind", "velocity", "message"),
    [
        ("adiabatic_wall", (0.1, 0.0, 0.0), "a part along its normal"),
        ("isothermal_wall", (-0.1, 2.0, 0.0), "a part along its normal"),
        ("inflow", (-0.5, 0.0, 0.0), "points out of the grid"),
        ("supersonic_inflow", (-2.0, 1.0, 0.0), "points out of the grid"),
    ],
)
def test_velocities_that_contradict_a_boundary_are_refused(
    kind: str, velocity: tuple[float, float, float], message: str
) -> None:
    mesh = box_grid((4, 4, 1), periodic="yz").mesh()
    ends = {"x-min": condition(kind, velocity), "x-max": condition("far_field")}
    with pytest.raises(ValueError, match=rf"boundary condition 'x-min'.*zone 'box'.*{message}"):
        Flow(mesh, one_gas(), at_rest, ends)
    ends["x-min"] = condition("adiabatic_wall", (0.0, 2.0, 0.0))  # along itself
    Flow(mesh, one_gas(), at_rest, ends)


def test_the_step_follows_the_acceleration() -> None:
    """A cell of width h is passed in the step dt with (a + f dt) dt = h."""
    h, f = 0.1, 300.0
    mesh = box_grid((10, 1, 1), periodic="xyz").mesh()
    flow = Flow(mesh, one_gas(), at_rest, acceleration=(f, 0.0, 0.0))
    still = Flow(mesh, one_gas(), at_rest)
    rate = 1 / still.core.stable_dt
    dt = flow.core.stable_dt
    assert still.core.stable_dt < h / np.sqrt(1.4)
    # The rate is that of sound along all axes, of which the force adds to one.
    assert (rate + f / h * dt) * dt == pytest.approx(1.0, rel=1e-12)


def test_the_step_follows_the_eddy_viscosity() -> None:
    """A flow whose gradient has the singular values 3 g, 2 g and g, with Vreman's model."""
    n, g = 6, 1e4
    mesh = box_grid((n, n, n), (1e-2,) * 3, origin=(-5e-3,) * 3).mesh()

    def strained(x: Array, y: Array, z: Array) -> list[Any]:
        return [1, 3 * g * x, -2 * g * y, -g * z, 1e4, 1e4]

    ends = {f"{axis}-{end}": condition("supersonic_outflow") for axis in "xyz" for end in
            ("min", "max")}  # fmt: skip
    rates = {}
    for model in ("none", "vreman"):
        flow = Flow(mesh, one_gas(viscosity=1e-12), strained, ends, subgrid=model)
        rates[model] = 1 / flow.core.stable_dt
    h = 1e-2 / n
    eddies = 0.07 * h**2 * g * np.sqrt(49 / 14)
    # The fastest cell is in a corner: states beyond it are its own, which halves the gradient.
    # Twice the viscosity, along three axes: 2 * 2 nu * 3 / h^2.
    assert rates["vreman"] - rates["none"] == pytest.approx(6 * eddies / h**2, rel=1e-6)


def test_what_leaves_in_a_step_is_what_the_integrals_lose() -> None:
    """Stages of long steps have different fluxes: only their weighted mean balances."""
    inside = core.State((0.6, 0.1, 0.0), 1.0, 1.0, [1.0])
    names = ("x-min", "x-max", "y-min", "y-max")
    ends = dict.fromkeys(names, core.PatchCondition("far_field", inside))
    mesh = box_grid((12, 10, 1), periodic="z", zones=(2, 2, 1), mapping="wavy", amplitude=0.02,
                    orientations="any").mesh()  # fmt: skip

    def states(x: Array, y: Array, z: Array) -> list[Any]:
        return [1, 0.6, 0.1, 0, 1 + 0.3 * np.sin(5 * x + y), 1 + 0.2 * np.cos(4 * y)]

    for scheme in ("keep", "hybrid", "upwind"):
        flow = Flow(mesh, one_gas(viscosity=0.01), states, ends, scheme=scheme)
        before = np.array(flow.core.integrals())[:5]
        lost = np.zeros(5)
        for _ in range(4):
            time = flow.core.time
            flow.step(0.8)
            lost += (flow.core.time - time) * sum(map(np.array, flow.core.outflows().values()))
        after = np.array(flow.core.integrals())[:5]
        assert np.abs(lost[[0, 4]]).min() > 1e-3  # of mass and energy
        np.testing.assert_allclose(before - after, lost, atol=2e-14)
