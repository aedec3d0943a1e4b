"""Gas mixtures of the compressible flow solver, against Cantera's values and exact relations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gas_reference import MIXTURES, PRESSURE, SPECIES

from uzushio import _core
from uzushio.errors import SettingsError
from uzushio.solvers.jet import mixture as gases

SUPPORT = Path(__file__).parents[1] / "support"
NASA9 = SUPPORT / "gases_nasa9.yaml"
REFERENCE = json.loads((SUPPORT / "gas_reference.json").read_text())
CONSTANT = 8.31446261815324


def mixture_of(model: str) -> tuple[Any, list[str]]:
    if model == "nasa7":
        return gases.mixture(SPECIES), SPECIES
    return gases.mixture(["N2", "O2"], NASA9), ["N2", "O2"]


def reference_rows(model: str, names: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rows = REFERENCE[model]
    fractions = [[MIXTURES[row["mixture"]].get(name, 0.0) for row in rows] for name in names]
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0] if key != "mixture"}
    return np.array(fractions), columns


@pytest.mark.parametrize("model", ["nasa7", "nasa9"])
def test_thermodynamics_are_those_of_cantera(model: str) -> None:
    mixture, names = mixture_of(model)
    fractions, expected = reference_rows(model, names)
    T = expected["T"]
    np.testing.assert_allclose(mixture.heat_capacity(fractions, T), expected["cp"], rtol=2e-6)
    for name, values in (
        ("h", mixture.enthalpy(fractions, T)),
        ("e", mixture.energies(fractions, T)[1]),
    ):
        scale = expected["cp"] * T + np.abs(expected[name])
        assert np.max(np.abs(values - expected[name]) / scale) < 2e-6
    entropy = mixture.entropy(fractions, T, np.full_like(T, PRESSURE))
    np.testing.assert_allclose(entropy, expected["s"], rtol=2e-6)
    pressure, sound_speed = mixture.pressures(fractions * expected["rho"], T)
    np.testing.assert_allclose(pressure, PRESSURE, rtol=2e-6)
    np.testing.assert_allclose(sound_speed, expected["a"], rtol=2e-6)
    np.testing.assert_allclose(
        mixture.sound_speed_of_temperature(fractions, T), sound_speed, rtol=1e-14
    )


@pytest.mark.parametrize("model", ["nasa7", "nasa9"])
@pytest.mark.parametrize("guess", [0.7, 1.02, 3.0])
def test_temperature_of_an_energy_returns(model: str, guess: float) -> None:
    """Also across the ranges of the polynomials and in the extensions on both sides."""
    mixture, names = mixture_of(model)
    rng = np.random.default_rng(1)
    T = np.concatenate([np.linspace(20.0, 8000.0, 777), [200.0, 999.999, 1000.0, 1000.001]])
    densities = rng.dirichlet(np.ones(len(names)), T.size).T * rng.uniform(0.01, 10.0, T.size)
    _, energy = mixture.energies(densities, T)
    result = mixture.temperatures(densities, energy, T * guess)
    # Polynomials of two ranges meet to about 1e-6: there the temperature is as uncertain.
    near = (np.abs(T - 1000.0) < 0.5) | (np.abs(T - 6000.0) < 0.5)
    np.testing.assert_allclose(result[~near], T[~near], rtol=1e-10)
    np.testing.assert_allclose(result[near], T[near], rtol=1e-4)
    # The same bits alone as among others.
    for n in (0, 100, 101, 776):
        alone = mixture.temperatures(
            np.ascontiguousarray(densities[:, n : n + 1]), energy[n : n + 1], T[n : n + 1] * guess
        )
        assert alone[0] == result[n]


def test_heat_capacity_is_constant_outside_the_polynomials() -> None:
    mixture = gases.mixture(["O2"])
    one = np.ones((1, 3))
    np.testing.assert_allclose(
        mixture.heat_capacity(one, np.array([50.0, 100.0, 200.0])),
        mixture.heat_capacity(one, np.full(3, 200.0)),
        rtol=1e-12,
    )
    h = mixture.enthalpy(one, np.array([6000.0 - 1e-6, 6000.0, 7000.0]))
    assert h[0] == pytest.approx(h[1], rel=1e-8)
    cp = mixture.heat_capacity(one, np.full(3, 6500.0))[0]
    assert h[2] - h[1] == pytest.approx(1000.0 * cp, rel=1e-10)


def test_an_energy_below_that_of_zero_temperature_has_none() -> None:
    for mixture in (
        gases.mixture(["N2"]),
        _core.jet.Mixture([gases.perfect_gas("air", 0.02896, 1.4)]),
    ):
        energies = np.array([1e5, -1e9, math.nan])
        result = mixture.temperatures(np.ones((1, 3)), energies, np.full(3, 300.0))
        assert result[0] > 0
        assert np.isnan(result[1:]).all()


def test_a_perfect_gas_has_its_exact_relations() -> None:
    mixture = _core.jet.Mixture([gases.perfect_gas("air", 0.029, 1.4)])
    assert mixture.is_calorically_perfect
    R = CONSTANT / 0.029
    T = np.array([1e-3, 300.0, 1e5])
    rho = np.full((1, 3), 1.7)
    pressure, sound_speed = mixture.pressures(rho, T)
    np.testing.assert_allclose(pressure, 1.7 * R * T, rtol=1e-14)
    np.testing.assert_allclose(sound_speed, np.sqrt(1.4 * R * T), rtol=1e-14)
    _, energy = mixture.energies(rho, T)
    np.testing.assert_allclose(energy, 1.7 * R * T / 0.4, rtol=1e-14)
    np.testing.assert_allclose(mixture.temperatures(rho, energy, T), T, rtol=1e-14)


@pytest.mark.parametrize(
    ("mixture", "tolerance"), [("air", 0.002), ("all", 0.008), ("light", 0.015), ("exhaust", 0.03)]
)
def test_viscosity_and_conductivity_are_those_of_kinetic_theory(
    mixture: str, tolerance: float
) -> None:
    """Cantera has Monchick and Mason's tables for dipoles: Brokaw's term is 3 % off for water."""
    transport = gases.kinetic_transport(SPECIES)
    fractions, expected = reference_rows("nasa7", SPECIES)
    rows = [row["mixture"] == mixture for row in REFERENCE["nasa7"]]
    viscosity, conductivity = transport.evaluate(
        np.ascontiguousarray(fractions[:, rows]), expected["T"][rows]
    )
    np.testing.assert_allclose(viscosity, expected["mu"][rows], rtol=tolerance)
    np.testing.assert_allclose(conductivity, expected["lambda"][rows], rtol=0.02)


def test_sutherlands_law_and_the_prandtl_number_are_exact() -> None:
    mixture = _core.jet.Mixture([gases.perfect_gas("air", 0.029, 1.4)])
    transport = _core.jet.Transport(mixture, [_core.jet.Sutherland(1.716e-5, 273.15, 110.4)], 0.7)
    T = np.array([100.0, 273.15, 1500.0])
    viscosity, conductivity = transport.evaluate(np.ones((1, 3)), T)
    law = 1.716e-5 * (T / 273.15) ** 1.5 * (273.15 + 110.4) / (T + 110.4)
    np.testing.assert_allclose(viscosity, law, rtol=1e-14)
    np.testing.assert_allclose(conductivity, law * 3.5 * CONSTANT / 0.029 / 0.7, rtol=1e-14)


def test_a_mixture_of_equal_gases_has_their_viscosity() -> None:
    same = [gases.perfect_gas(name, 0.029, 1.4) for name in "abc"]
    law = _core.jet.Sutherland(1.716e-5)
    transport = _core.jet.Transport(_core.jet.Mixture(same), [law] * 3, 0.7)
    fractions = np.array([[0.2], [0.5], [0.3]])
    viscosity, _ = transport.evaluate(fractions, np.array([400.0]))
    assert viscosity[0] == pytest.approx(transport.viscosity(0, 400.0), rel=1e-14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("species: [{name: NO}]", "has no species 'N2' (it has: NO)"),
        ("phases: []", "has no list 'species'"),
        ("species: [{name: N2, composition: {N: 2}}]", "'thermo' is missing"),
        ("species: [{name: N2, composition: {Qq: 2}, thermo: {}}]", "the element 'Qq'"),
        (
            "species: [{name: N2, composition: {N: 2}, thermo: {model: Shomate}}]",
            "the model 'Shomate' is not supported",
        ),
        (
            "species: [{name: N2, composition: {N: 2}, thermo: "
            "{model: NASA7, temperature-ranges: [200, 1000], data: [[1, 2]]}}]",
            "'data' must have 7 numbers",
        ),
        ("species: [", "cannot read the species"),
    ],
)
def test_one_sentence_says_what_is_wrong_with_a_file(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "gas.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as raised:
        gases.mixture(["N2"], path)
    assert message in str(raised.value)


def test_a_constant_heat_capacity_has_the_units_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "gas.yaml"
    path.write_text(
        "units: {energy: cal, quantity: mol}\n"
        "species: [{name: X, composition: {N: 2}, thermo: {model: constant-cp, T0: 300 K, "
        "cp0: 7.0, h0: 4.184 kJ/mol, s0: 10.0}}]\n"
    )
    mixture = gases.mixture(["X"], path)
    one, mass = np.ones((1, 1)), 0.028014
    assert mixture.heat_capacity(one, np.array([900.0]))[0] == pytest.approx(7 * 4.184 / mass)
    assert mixture.enthalpy(one, np.array([400.0]))[0] == pytest.approx(1700 * 4.184 / mass)
    entropy = mixture.entropy(one, np.array([300.0]), np.array([101325.0]))
    assert entropy[0] == pytest.approx(41.84 / mass)
