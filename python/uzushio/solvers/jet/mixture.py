"""Mixtures of ideal gases: species from files in Cantera's YAML format, or from constants.

NASA's polynomials with 7 or 9 coefficients and constant heat capacities are read, and Lennard-Jones
potentials for viscosities and conductivities. `gases.yaml` beside this module has common species.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from uzushio import _core
from uzushio.errors import SettingsError

#: Species that come with the program.
BUILT_IN = Path(__file__).with_name("gases.yaml")

#: Molar gas constant, J/(mol K), exact in the SI.
_GAS_CONSTANT = 8.31446261815324
#: Pressure of the entropies that the kernels take, Pa.
_REFERENCE_PRESSURE = 1e5
_ANGSTROM = 1e-10
_DEBYE = 1e-21 / 299792458.0  # C m
#: Standard atomic weights, g/mol (IUPAC, conventional values).
_ATOMIC_WEIGHTS = {"H": 1.008, "He": 4.002602, "C": 12.011, "N": 14.007, "O": 15.999}
_ATOMIC_WEIGHTS |= {"F": 18.998403162, "Ne": 20.1797, "Na": 22.98976928, "Al": 26.9815384}
_ATOMIC_WEIGHTS |= {"Si": 28.085, "S": 32.06, "Cl": 35.45, "Ar": 39.95, "K": 39.0983}
_ATOMIC_WEIGHTS |= {"Kr": 83.798, "Xe": 131.293}
_PRESSURES = {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "bar": 1e5, "atm": 101325.0}
_ENERGIES = {"J": 1.0, "kJ": 1e3, "cal": 4.184, "kcal": 4184.0, "erg": 1e-7}
_AMOUNTS = {"mol": 1.0, "gmol": 1.0, "kmol": 1e3}


@dataclass(frozen=True)
class GasData:
    """Data of a species.

    Attributes:
        gas: thermodynamics, as the kernels take them.
        molecule: potential for kinetic theory; None: the file has none.
    """

    gas: Any
    molecule: Any | None = None


def read_species(names: Sequence[str], path: Path = BUILT_IN) -> list[GasData]:
    """Return species of a file in Cantera's format, in the order of the names.

    Raises:
        SettingsError: The file cannot be read, or lacks a species or its data, or has a model of
            another kind.
    """
    try:
        # Everything as text: the species NO would become a boolean.
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CBaseLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"cannot read the species in '{path}': {error}") from error
    species = document.get("species") if isinstance(document, dict) else None
    if not isinstance(species, list):
        raise SettingsError(f"'{path}' has no list 'species'")
    known = {entry["name"]: entry for entry in species if isinstance(entry, dict)}
    default_units = document.get("units") or {}
    result = []
    for name in names:
        if name not in known:
            raise SettingsError(
                f"'{path}' has no species '{name}' (it has: {', '.join(known)})", ("species",)
            )
        entry = known[name]
        # The units of an entry are used in it alone.
        units = {**default_units, **(entry.get("units") or {})}
        try:
            result.append(_data(name, entry, units))
        except SettingsError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
            raise SettingsError(f"species '{name}' in '{path}': {what}") from error
    return result


def perfect_gas(name: str, molar_mass: float, gamma: float) -> Any:
    """Return a calorically perfect gas whose enthalpy is zero at 0 K.

    Args:
        name: name of the species.
        molar_mass: molar mass, kg/mol.
        gamma: ratio of the heat capacities.
    """
    constant = gamma / (gamma - 1.0)
    return _core.jet.GasSpecies(name, molar_mass, [_constant_range(constant, 0.0, 0.0)])


def mixture(names: Sequence[str], path: Path = BUILT_IN) -> Any:
    """Return the thermodynamics of species of a file; raises `SettingsError`."""
    return _checked([species.gas for species in read_species(names, path)])


def kinetic_transport(
    names: Sequence[str], path: Path = BUILT_IN, prandtl: float | None = None
) -> Any:
    """Return viscosity and conductivity of species of a file by kinetic theory.

    Args:
        names: names of the species.
        path: file in Cantera's format.
        prandtl: Prandtl number that gives the conductivity; None: kinetic theory does.

    Raises:
        SettingsError: as `read_species`, or a species has no potential.
    """
    species = read_species(names, path)
    molecules = []
    for name, data in zip(names, species, strict=True):
        if data.molecule is None:
            raise SettingsError(f"species '{name}' in '{path}' has no section 'transport'")
        molecules.append(data.molecule)
    return _core.jet.Transport(_checked([data.gas for data in species]), molecules, prandtl)


def _checked(species: list[Any]) -> Any:
    try:
        return _core.jet.Mixture(species)
    except ValueError as error:
        raise SettingsError(str(error), ("species",)) from error


def _constant_range(heat_capacity: float, enthalpy: float, entropy: float) -> Any:
    powers = (0.0, 0.0, heat_capacity, 0.0, 0.0, 0.0, 0.0)
    return _core.jet.ThermoRange(0.0, math.inf, powers, enthalpy, entropy)


def _data(name: str, entry: Mapping[str, Any], units: Mapping[str, str]) -> GasData:
    weights = [(element, float(count)) for element, count in entry["composition"].items()]
    for element, _ in weights:
        if element not in _ATOMIC_WEIGHTS:
            raise ValueError(f"the element '{element}' is not known")
    molar_mass = 1e-3 * sum(_ATOMIC_WEIGHTS[element] * count for element, count in weights)
    thermo = entry["thermo"]
    pressure = _quantity(
        thermo.get("reference-pressure", "1 atm"), _PRESSURES, units.get("pressure", "Pa")
    )
    shift = math.log(pressure / _REFERENCE_PRESSURE)  # entropies at the kernels' pressure
    ranges = _ranges(thermo, shift, units)
    return GasData(
        _core.jet.GasSpecies(name, molar_mass, ranges), _molecule(entry.get("transport"))
    )


def _ranges(thermo: Mapping[str, Any], shift: float, units: Mapping[str, str]) -> list[Any]:
    model = thermo["model"]
    if model == "constant-cp":
        molar = f"{units.get('energy', 'J')}/{units.get('quantity', 'kmol')}"
        cp, h, s = (_molar(thermo.get(key, "0"), molar) for key in ("cp0", "h0", "s0"))
        start = _quantity(thermo.get("T0", "298.15"), {"K": 1.0}, "K")
        cp, h, s = (value / _GAS_CONSTANT for value in (cp, h, s))
        return [_constant_range(cp, h - cp * start, s - cp * math.log(start) + shift)]
    lengths = {"NASA7": 7, "NASA9": 9}
    if model not in lengths:
        raise ValueError(
            f"the model '{model}' is not supported (allowed: NASA7, NASA9, constant-cp)"
        )
    bounds = [_quantity(value, {"K": 1.0}, "K") for value in thermo["temperature-ranges"]]
    rows = [[float(value) for value in row] for row in thermo["data"]]
    if len(rows) != len(bounds) - 1 or any(len(row) != lengths[model] for row in rows):
        raise ValueError(f"'data' must have {lengths[model]} numbers for each temperature range")
    padding = [0.0] * (9 - lengths[model])
    ranges = []
    for lower, upper, row in zip(bounds[:-1], bounds[1:], rows, strict=True):
        *powers, enthalpy, entropy = padding + row
        ranges.append(_core.jet.ThermoRange(lower, upper, powers, enthalpy, entropy + shift))
    return ranges


def _molecule(transport: Mapping[str, Any] | None) -> Any | None:
    if transport is None:
        return None
    if transport.get("model") != "gas":
        raise ValueError(f"the transport model '{transport.get('model')}' is not supported")
    return _core.jet.Molecule(
        transport["geometry"],
        float(transport["well-depth"]),
        float(transport["diameter"]) * _ANGSTROM,
        float(transport.get("dipole", 0.0)) * _DEBYE,
        float(transport.get("rotational-relaxation", 0.0)),
    )


def _quantity(text: str, factors: Mapping[str, float], default: str) -> float:
    """Return a number with a unit, or without one and then in the default unit."""
    number, _, unit = text.strip().partition(" ")
    unit = unit.strip() or default
    if unit not in factors:
        raise ValueError(f"the unit '{unit}' is not known (allowed: {', '.join(factors)})")
    return float(number) * factors[unit]


def _molar(text: str, default: str) -> float:
    """Return an energy, or an energy over the temperature, in J/mol or J/(mol K)."""
    allowed = {
        f"{energy}/{amount}{kelvin}": factor / moles
        for energy, factor in _ENERGIES.items()
        for amount, moles in _AMOUNTS.items()
        for kelvin in ("", "/K")
    }
    return _quantity(text, allowed, default)
