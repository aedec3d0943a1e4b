"""The jet solver against exact solutions, conservation laws and orders of convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jet_flow import Flow, core, one_gas

from uzushio.grids import box_grid

REST = core.State((0.0, 0.0, 0.0), 1.0, 1.0, [1.0])


def line(cells: int, periodic: bool = False) -> Any:
    """Mesh along x from 0 to 1, with the patches x-min and x-max."""
    return box_grid((cells, 1, 1), periodic="xyz" if periodic else "yz").mesh()


def turned(cells: int, length: float = 1.0, periodic: str = "xyz") -> Any:
    """Mesh of cells that are curved in x and y, in four zones with their axes in any directions."""
    grid = box_grid(
        (cells, cells, 2),
        (length, length, 2 * length / cells),
        zones=(2, 2, 1),
        periodic=periodic,
        orientations="any",
    )
    for zone in grid.zones:
        x, y = (2 * np.pi / length * zone.vertices[..., axis] for axis in (0, 1))
        wave = 0.04 * length * np.sin(x) * np.sin(y)
        zone.vertices = zone.vertices + np.stack([wave, wave, 0 * wave], axis=-1)
    return grid.mesh()


@pytest.mark.parametrize("scheme", ["keep", "hybrid", "upwind"])
def test_a_uniform_flow_stays_uniform_on_warped_zones_of_any_orientation(scheme: str) -> None:
    mesh = box_grid(
        (8, 8, 8), (3, 3, 3), zones=(2, 2, 2), periodic="xyz", mapping="warped", amplitude=0.125,
        orientations="any",
    ).mesh()  # fmt: skip
    velocity = (0.1, -0.2, 0.7)
    flow = Flow(
        mesh, one_gas(viscosity=0.01), lambda x, y, z: [1, *velocity, 1 / 1.4, 1 / 1.4],
        scheme=scheme,
    )  # fmt: skip
    flow.run(1.0)
    for name, exact in (("density", [1]), ("velocity", velocity), ("pressure", [1 / 1.4])):
        for values in flow.values(name):
            assert np.abs(values - np.reshape(exact, (-1, 1, 1, 1))).max() <= 1e-12


def vortex(length: float, time: float = 0.0) -> Any:
    """Isentropic vortex that the flow carries through a periodic box."""

    def states(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
        dx = (x - time) % length - 0.5 * length
        dy = (y - 0.5 * time) % length - 0.5 * length
        swirl = 5 / (2 * np.pi) * np.exp(0.5 * (1 - dx**2 - dy**2))
        t = 1 - 0.4 / (2 * 1.4) * swirl**2
        return [1, 1 - swirl * dy, 0.5 + swirl * dx, 0, t**3.5, t]

    return states


@pytest.mark.parametrize("scheme", ["keep", "upwind"])
def test_a_vortex_crosses_turned_zones_with_second_order_and_conservation(scheme: str) -> None:
    errors = []
    for cells in (24, 48):
        mesh = turned(cells, 10.0)
        flow = Flow(mesh, one_gas(), vortex(10.0), scheme=scheme)
        before = np.array(flow.core.integrals())
        flow.run(1.0)
        after = np.array(flow.core.integrals())
        # Mass, momentum and energy, over the largest of them.
        assert np.abs(after - before)[:5].max() <= 1e-13 * np.abs(before).max()
        errors.append(flow.error("temperature", lambda x, y, z: vortex(10.0, 1.0)(x, y, z)[-1]))
    assert np.log2(errors[0] / errors[1]) >= 1.8


def test_shock_tube_of_sod() -> None:
    def states(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
        left = x < 0.5
        pressure = np.where(left, 1.0, 0.1)
        return [1, 0, 0, 0, pressure, pressure / np.where(left, 1.0, 0.125)]

    outflow = core.PatchCondition("supersonic_outflow", REST)
    # Exact values of Sod's problem between the waves at x = 0.6 (behind the contact) and x = 0.76.
    exact = {"pressure": (0.30313, 0.30313), "velocity": (0.92745, 0.92745)}
    exact["density"] = (0.42632, 0.26557)
    for scheme, tolerance in (("upwind", 0.002), ("hybrid", 0.015)):
        ends = {"x-min": outflow, "x-max": outflow}
        flow = Flow(line(200), one_gas(), states, ends, scheme=scheme)
        flow.run(0.2)
        for name, (behind, ahead) in exact.items():
            values = flow.values(name)[0][0, 0, 0]
            assert values[120] == pytest.approx(behind, rel=tolerance), (scheme, name)
            assert values[151] == pytest.approx(ahead, rel=tolerance), (scheme, name)
        pressure = flow.values("pressure")[0][0, 0, 0]
        shock = (np.flatnonzero(pressure > 0.2)[-1] + 1) / 200
        assert shock == pytest.approx(0.5 + 1.75216 * 0.2, abs=0.01)


def mixture() -> Any:
    """Nitrogen and helium, calorically perfect; molar masses 28 and 4, gas constant 1."""
    species = [
        core.Species("n2", 1 / 28, 1 / 28 / 0.4, 3.0),
        core.Species("he", 0.25, 0.25 / 0.667),
    ]
    return core.Gas(species)


def contact(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
    """Slug of nitrogen in helium at uniform pressure 0.9 and velocity 1."""
    share = 0.5 * (1 - np.tanh(20 * (np.abs(x - 0.5) - 0.25)))
    n2, he = 0.6 * share, 0.2 * (1 - share)
    return [n2 / (n2 + he), he / (n2 + he), 1, 0, 0, 0.9, 0.9 / (n2 / 28 + he / 4)]


def test_a_contact_of_two_gases_keeps_uniform_pressure_and_velocity() -> None:
    def deviation(cfl: float, steps: int) -> float:
        flow = Flow(line(100, periodic=True), mixture(), contact)
        for _ in range(steps):
            flow.step(cfl)
        pressure, velocity = flow.values("pressure")[0], flow.values("velocity")[0][0]
        return float(max(np.abs(pressure / 0.9 - 1).max(), np.abs(velocity - 1).max()))

    # Fluxes keep them exactly: rates are round-off. What is left is the error of time integration,
    # because pressure is not linear in the conserved variables; it falls with the third order.
    assert deviation(1e-3, 1) <= 1e-12
    assert deviation(0.02, 50) <= 1e-10
    assert np.log2(deviation(0.8, 50) / deviation(0.4, 100)) == pytest.approx(3.0, abs=0.2)


def test_keep_conserves_kinetic_energy_and_entropy_of_an_inviscid_flow() -> None:
    """Taylor-Green vortex at a Mach number of 0.1, underresolved, without viscosity."""
    n = 16
    mesh = box_grid((n, n, n), (2 * np.pi,) * 3, periodic="xyz").mesh()
    pressure = 1 / (1.4 * 0.1**2)

    def states(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
        u, v = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z)
        p = pressure + (np.cos(2 * x) + np.cos(2 * y)) * (np.cos(2 * z) + 2) / 16
        return [1, u, v, 0, p, p]

    changes = {}
    for scheme in ("keep", "upwind"):
        flow = Flow(mesh, one_gas(), states, scheme=scheme)
        before = np.array(flow.core.integrals())
        flow.run(4.0, 0.9)
        after = np.array(flow.core.integrals())
        energy, entropy = after[-2] / before[-2] - 1, (after[-1] - before[-1]) / before[0]
        changes[scheme] = energy, entropy * pressure  # of internal energy, per mass
    assert abs(changes["keep"][0]) <= 0.01
    assert abs(changes["keep"][1]) <= 0.01
    assert changes["upwind"][0] < -0.1  # what a dissipative scheme loses


def test_couette_flow_with_viscous_heating_is_exact_of_second_order_on_curved_cells() -> None:
    speed, prandtl = 0.5, 0.7
    gas = one_gas(viscosity=0.2, prandtl=prandtl)

    def exact(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
        return [1, speed * y, 0, 0, 1, 1 + prandtl * speed**2 / (2 * 3.5) * y * (1 - y)]

    walls = {
        "y-min": core.PatchCondition("isothermal_wall", core.State((0, 0, 0), 1, 1, [1])),
        "y-max": core.PatchCondition("isothermal_wall", core.State((speed, 0, 0), 1, 1, [1])),
    }
    errors = []
    for cells in (8, 16):
        mesh = turned(cells, periodic="xz")
        flow = Flow(mesh, gas, exact, walls)
        flow.run(3.0, 0.9)
        errors.append(
            [
                flow.error("velocity", lambda x, y, z: exact(x, y, z)[1]),
                flow.error("temperature", lambda x, y, z: exact(x, y, z)[-1]),
            ]
        )
    for coarse, fine in zip(*errors, strict=True):
        assert np.log2(coarse / fine) >= 1.7


def test_species_diffuse_with_second_order_on_turned_zones() -> None:
    """Two gases of the same properties: their mass fractions decay as a wave of diffusion."""
    diffusivity = 0.05
    species = [core.Species(name, 1.0, 2.5) for name in "ab"]
    gas = core.Gas(species, viscosity=0.7 * diffusivity, schmidt=0.7)
    wave = 2 * np.pi

    def fraction(x: np.ndarray, time: float) -> np.ndarray:
        return np.asarray(0.5 + 0.3 * np.sin(wave * x) * np.exp(-diffusivity * wave**2 * time))

    errors = []
    for cells in (8, 16):
        flow = Flow(
            turned(cells), gas, lambda x, y, z: [fraction(x, 0), 1 - fraction(x, 0), 0, 0, 0, 1, 1]
        )
        flow.run(0.25)
        errors.append(flow.error("Y_a", lambda x, y, z: fraction(x, 0.25)))
    assert np.log2(errors[0] / errors[1]) >= 1.8
    assert errors[1] <= 0.005


def reflection(scheme: str, sponge: bool) -> float:
    """Part of an acoustic pulse that is left after it has passed the open end at x = 1."""
    speed, sound, size = 0.2, np.sqrt(1.4), 1e-4
    state = core.State((speed, 0, 0), 1, 1, [1])

    def states(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
        pulse = size * np.exp(-np.log(2) * ((x - 0.4) / 0.05) ** 2)
        pressure = 1 + pulse
        return [1, speed + pulse / sound, 0, 0, pressure, pressure / (1 + pulse / 1.4)]

    ends = dict.fromkeys(("x-min", "x-max"), core.PatchCondition("far_field", state))
    sponges = [core.Sponge((0, 0, 0), (1, 0, 0), False, 0.7, 1.0, 60.0, state)] if sponge else []
    flow = Flow(line(160), one_gas(), states, ends, scheme=scheme, sponges=sponges)
    flow.run(0.85 / (sound + speed))
    return float(np.abs(flow.values("pressure")[0] - 1).max() / size)


@pytest.mark.parametrize("scheme", ["keep", "upwind"])
def test_open_boundaries_reflect_little_of_a_pulse(scheme: str) -> None:
    assert reflection(scheme, sponge=False) <= 0.02
    assert reflection(scheme, sponge=True) <= 0.001


def test_outflows_are_the_change_of_the_integrals() -> None:
    """Flow from x-min to x-max, heated by nothing: what enters and leaves is what changes."""
    inside = core.State((0.6, 0, 0), 1, 1, [1])
    ends = dict.fromkeys(("x-min", "x-max"), core.PatchCondition("far_field", inside))
    flow = Flow(
        line(40), one_gas(), lambda x, y, z: [1, 0.6, 0, 0, 1 + 0.1 * np.sin(np.pi * x), 1], ends
    )
    before = np.array(flow.core.integrals())[:5]
    small = 1e-6
    flow.core.step(small, 1.0, float("inf"))
    rate = (np.array(flow.core.integrals())[:5] - before) / small
    out = flow.core.outflows()
    np.testing.assert_allclose(-(np.array(out["x-min"]) + out["x-max"]), rate, atol=1e-6)


@pytest.mark.parametrize("scheme", ["keep", "hybrid", "upwind"])
@pytest.mark.parametrize("kind", ["slip_wall", "adiabatic_wall", "isothermal_wall"])
def test_closed_boxes_lose_no_mass_however_thin(kind: str, scheme: str) -> None:
    """Walls hotter than the gas, one to ten cells between them."""

    def states(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[Any]:
        u, v = 0.3 * np.sin(7 * x + 1) * np.cos(5 * y), 0.3 * np.cos(4 * x) * np.sin(3 * y + 1)
        return [1, u, v, 0, 1 + 0.2 * np.cos(6 * x + y), 1 + 0.1 * np.sin(4 * y)]

    wall = core.PatchCondition(kind, core.State((0.0, 0.0, 0.0), 1.0, 2.0, [1.0]))
    for cells in ((12, 10, 1), (6, 2, 3), (1, 5, 1)):
        grid = box_grid(cells, zones=(min(2, cells[0]), 1, 1), mapping="wavy", amplitude=0.03,
                        orientations="any")  # fmt: skip
        walls = dict.fromkeys([f"{axis}-{end}" for axis in "xyz" for end in ("min", "max")], wall)
        flow = Flow(grid.mesh(), one_gas(viscosity=0.01), states, walls, scheme=scheme)
        before = np.array(flow.core.integrals())
        for _ in range(20):
            flow.step(0.5)
        mass, energy = (np.array(flow.core.integrals())[[0, 4]] / before[[0, 4]]) - 1
        assert abs(mass) <= 1e-13
        assert energy > 0.01 if kind == "isothermal_wall" else abs(energy) <= 1e-13


def gradient(**entries: float) -> list[float]:
    """Velocity gradient with entries such as uy, the derivative of u along y."""
    return [entries.get(f"{c}{axis}", 0.0) for c in "uvw" for axis in "xyz"]


def test_eddy_viscosity_of_flows_with_known_values() -> None:
    shear, rotation = gradient(uy=2.0), gradient(uy=-1.0, vx=1.0)
    for model in ("vreman", "wale", "sigma"):
        assert core.eddy_viscosity(model, shear, 1e-3) == pytest.approx(0.0, abs=1e-12)
    for model in ("wale", "sigma"):  # two-dimensional; WALE sees rotation
        value = core.eddy_viscosity(model, rotation, 1e-3)
        assert (value > 0) == (model == "wale")
    # Singular values 3, 2, 1: (1.35 width)^2 * 1 * (3 - 2) * (2 - 1) / 3^2.
    strain = gradient(ux=3.0, vy=-2.0, wz=-1.0)
    assert core.eddy_viscosity("sigma", strain, 1e-3) == pytest.approx(0.135**2 / 9)
    # Vreman: B = 9*4 + 9*1 + 4*1 = 49, sum of squares 14.
    assert core.eddy_viscosity("vreman", strain, 1e-3) == pytest.approx(7e-4 * np.sqrt(49 / 14))
    # WALE: squares 9, 4, 1, their traceless part 13/3, -2/3, -11/3.
    s, d = 14.0, sum(x * x for x in (13 / 3, -2 / 3, -11 / 3))
    exact = 0.0325**2 * d**1.5 / (s**2.5 + d**1.25)
    assert core.eddy_viscosity("wale", strain, 1e-3) == pytest.approx(exact)


def test_impossible_states_name_their_cell() -> None:
    with pytest.raises(ValueError, match=r"zone 'box', cell \(2, 0, 0\).*must be positive"):
        Flow(line(4, periodic=True), one_gas(), lambda x, y, z: [1, 0, 0, 0, 0.6 - x, 1])
    with pytest.raises(ValueError, match=r"mass fractions must sum to 1, not 1\.5"):
        Flow(line(4, periodic=True), mixture(), lambda x, y, z: [1, 0.5, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="no mass fraction negative"):
        Flow(line(4, periodic=True), mixture(), lambda x, y, z: [1.5, -0.5, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="all values finite"):
        Flow(line(4, periodic=True), one_gas(), lambda x, y, z: [1, np.nan, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="mass fractions must sum to 1"):
        wrong = core.PatchCondition("far_field", core.State((0, 0, 0), 1, 1, [0.5]))
        Flow(line(4), one_gas(), lambda x, y, z: [1, 0, 0, 0, 1, 1], {"x-min": wrong})


def test_the_hybrid_scheme_is_keep_in_smooth_flow() -> None:
    values = []
    for scheme in ("keep", "hybrid"):
        flow = Flow(
            turned(32), one_gas(), lambda x, y, z: [1, 1, 0.5 * np.sin(2 * np.pi * x), 0, 1,
            1 + 0.2 * np.sin(2 * np.pi * (x + y))], scheme=scheme,
        )  # fmt: skip
        for _ in range(3):
            flow.step(0.5)
        values.append(np.concatenate([v.ravel() for v in flow.values("density")]))
    assert (values[0] == values[1]).all()


def test_a_strong_sponge_limits_the_step_and_reaches_its_state() -> None:
    """A uniform gas is damped to another pressure as exp(-1000 t): steps follow the sponge."""
    target = core.State((0, 0, 0), 2.0, 1.0, [1.0])
    sponge = core.Sponge((-1, 0, 0), (1, 0, 0), False, -3.0, -2.0, 1000.0, target)
    flow = Flow(
        line(8, periodic=True), one_gas(), lambda x, y, z: [1, 0, 0, 0, 1, 1], sponges=[sponge]
    )
    flow.run(0.005, 0.5)
    exact = 2 - np.exp(-5)
    assert flow.values("pressure")[0] == pytest.approx(exact, rel=1e-3)
    flow.run(0.05, 1.0)
    assert flow.values("pressure")[0] == pytest.approx(2.0, rel=1e-9)
