"""Write `gas_reference.json`: values of Cantera (tests do not need it).

python tests/support/gas_reference.py    # in an environment that has cantera
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

SPECIES = ["N2", "O2", "H2", "H2O", "He", "Ar", "CO2"]
MIXTURES = {
    "air": {"N2": 0.767, "O2": 0.233},
    "exhaust": {"H2": 0.04, "H2O": 0.96},
    "light": {"H2": 0.3, "He": 0.1, "H2O": 0.6},
    "all": {"N2": 0.3, "O2": 0.1, "H2": 0.1, "H2O": 0.2, "He": 0.1, "Ar": 0.05, "CO2": 0.15},
}
TEMPERATURES = [250.0, 300.0, 600.0, 999.0, 1001.0, 1500.0, 3000.0]
PRESSURE = 3e5


def main() -> None:
    """Evaluate all mixtures at all temperatures."""
    import cantera

    folder = Path(__file__).parent
    data = folder.parents[1] / "python/uzushio/solvers/jet/gases.yaml"
    sets = {"nasa7": (data, SPECIES), "nasa9": (folder / "gases_nasa9.yaml", ["N2", "O2"])}
    result: dict[str, object] = {"source": f"Cantera {cantera.__version__}"}
    for name, (file, names) in sets.items():
        species = {s.name: s for s in cantera.Species.list_from_file(str(file))}
        gas = cantera.Solution(
            thermo="ideal-gas",
            species=[species[s] for s in names],
            transport_model="mixture-averaged" if name == "nasa7" else None,
        )
        rows = []
        for mixture, fractions in MIXTURES.items():
            if not set(fractions) <= set(names):
                continue
            for temperature in TEMPERATURES:
                gas.TPY = temperature, PRESSURE, fractions
                row = {"mixture": mixture, "T": temperature, "cp": gas.cp_mass}
                row |= {"h": gas.enthalpy_mass, "e": gas.int_energy_mass, "s": gas.entropy_mass}
                row |= {"rho": gas.density, "a": gas.sound_speed}
                if name == "nasa7":
                    row |= {"mu": gas.viscosity, "lambda": gas.thermal_conductivity}
                rows.append(row)
        result[name] = rows
    (folder / "gas_reference.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
