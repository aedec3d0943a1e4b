"""The jet solver's diffusion with coefficients that depend on composition and temperature."""

from __future__ import annotations

from typing import Any

import numpy as np
from jet_flow import Flow, core
from scipy.integrate import solve_ivp

from uzushio.grids import box_grid
from uzushio.solvers.jet.mixture import perfect_gas

Array = np.ndarray
#: Molecules of one mass and heat capacity; the small ones have more viscosity.
NAMES, MASS, GAMMA = ("small", "large"), 0.028, 1.4
CONSTANT = 8.31446261815324 / MASS
CAPACITY = CONSTANT * GAMMA / (GAMMA - 1)  # at constant pressure
PRESSURE = 1e5


def gas(lewis: float, prandtl: float | None = None) -> tuple[Any, Any]:
    """Gas and its transport by kinetic theory."""
    mixture = core.Mixture([perfect_gas(name, MASS, GAMMA) for name in NAMES])
    shapes = [core.Molecule("linear", 100.0, d, 0.0, 4.0) for d in (2.5e-10, 4.5e-10)]
    transport = core.Transport(mixture, shapes, prandtl)
    return core.Gas([], polynomials=mixture, transport=transport, lewis=lewis), transport


def coefficients(transport: Any, share: Array, temperature: Array) -> tuple[Array, Array]:
    """Viscosities and conductivities."""
    weights = np.ascontiguousarray(np.stack([share, 1 - share]))
    viscosity, conductivity = transport.evaluate(weights, np.ascontiguousarray(temperature))
    return np.asarray(viscosity), np.asarray(conductivity)


def test_couette_flow_of_a_layered_mixture_is_exact_of_second_order() -> None:
    """Layers that do not diffuse: shear stress and the flux of energy are constant."""
    flowing, transport = gas(lewis=1e9)
    height, speed, cold, hot = 2e-7, 300.0, 300.0, 600.0
    y = np.linspace(0, height, 4001)

    def layers(y: Array) -> Array:
        return np.asarray(0.5 + 0.4 * np.sin(2 * np.pi * y / height))

    def integral(values: Array) -> Array:
        steps = 0.5 * (values[1:] + values[:-1]) * np.diff(y)
        return np.concatenate([[0.0], np.cumsum(steps)])

    u, temperature = speed * y / height, cold + (hot - cold) * y / height
    for _ in range(60):  # tau = mu du/dy;  q = tau u + lambda dT/dy
        viscosity, conductivity = coefficients(transport, layers(y), temperature)
        moved = integral(1 / viscosity)
        stress = speed / moved[-1]
        u = stress * moved
        conducted, work = integral(1 / conductivity), integral(stress * u / conductivity)
        flux = (hot - cold + work[-1]) / conducted[-1]
        temperature = cold + flux * conducted - work
    assert viscosity.max() > 1.9 * viscosity.min()

    def exact(x: Array, at: Array, z: Array) -> list[Any]:
        share = layers(at)
        return [
            share,
            1 - share,
            np.interp(at, y, u),
            0,
            0,
            PRESSURE,
            np.interp(at, y, temperature),
        ]

    def wall(velocity: float, temperature: float) -> Any:
        state = core.State((velocity, 0, 0), PRESSURE, temperature, [1.0, 0.0])
        return core.PatchCondition("isothermal_wall", state)

    walls = {"y-min": wall(0.0, cold), "y-max": wall(speed, hot)}
    errors = []
    for cells in (12, 24):
        mesh = box_grid((2, cells, 1), (height, height, height), periodic="xz").mesh()
        flow = Flow(mesh, flowing, exact, walls)
        flow.run(1.5 * height**2 / 1.5e-5, 0.9)
        errors.append(
            [
                flow.error("velocity", lambda x, y, z: exact(x, y, z)[2]) / speed,
                flow.error("temperature", lambda x, y, z: exact(x, y, z)[-1]) / hot,
            ]
        )
    assert max(errors[1]) < 0.01
    for coarse, fine in zip(*errors, strict=True):
        assert np.log2(coarse / fine) >= 1.7


def test_species_diffuse_by_the_conductivity_of_their_mixture() -> None:
    """At rest and of one temperature: dY/dt = d/dx (lambda(Y) / (rho c_p Le) dY/dx)."""
    lewis, T, length = 1.3, 400.0, 1e-6
    flowing, transport = gas(lewis)
    density = PRESSURE / (CONSTANT * T)
    end = 0.02 * length**2 / 3e-5

    def start(x: Array) -> Array:
        return np.asarray(0.5 + 0.45 * np.sin(2 * np.pi * x / length))

    fine = 256
    h = length / fine

    def rate(time: float, share: Array) -> Array:
        between = 0.5 * (share + np.roll(share, 1))
        _, conductivity = coefficients(transport, between, np.full(fine, T))
        flux = -conductivity / (density * CAPACITY * lewis) * (share - np.roll(share, 1)) / h
        return np.asarray((flux - np.roll(flux, -1)) / h)

    centres = (np.arange(fine) + 0.5) * h
    solved = solve_ivp(rate, (0, end), start(centres), "BDF", rtol=1e-8, atol=1e-10)
    share = solved.y[:, -1]
    errors = []
    for cells in (16, 32):
        mesh = box_grid((cells, 1, 1), (length,) * 3, periodic="xyz").mesh()
        flow = Flow(mesh, flowing, lambda x, y, z: [start(x), 1 - start(x), 0, 0, 0, PRESSURE, T])
        flow.run(end, 0.9)
        means = share.reshape(cells, -1).mean(axis=1)
        errors.append(np.sqrt(np.mean((flow.values("Y_small")[0][0, 0, 0] - means) ** 2)))
        np.testing.assert_allclose(flow.values("temperature")[0], T, rtol=1e-9)
    assert abs(share - start(centres)).max() > 0.1  # it has diffused
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) >= 1.8


def test_the_step_follows_the_conductivity_of_light_gases() -> None:
    """Small cells: twice the largest diffusivity, that of heat at constant volume, along x."""
    flowing, transport = gas(lewis=2.0)
    h = 1e-9
    mesh = box_grid((8, 1, 1), (8 * h, 1.0, 1.0), periodic="xyz").mesh()
    flow = Flow(mesh, flowing, lambda x, y, z: [0.7, 0.3, 0, 0, 0, PRESSURE, 500.0])
    _, conductivity = coefficients(transport, np.array([0.7]), np.array([500.0]))
    heat = conductivity[0] / (PRESSURE / (CONSTANT * 500.0) * CAPACITY / GAMMA)
    sound = np.sqrt(GAMMA * CONSTANT * 500.0)
    expected = sound * (1 / h + 2) + 2 * heat * (1 / h**2 + 2)
    np.testing.assert_allclose(1 / flow.core.stable_dt, expected, rtol=1e-9)
