"""Time of temperatures, pressures and speeds of sound of gas mixtures on one core.

Temperatures are found from internal energies, with guesses that are 0.1 % off. In `one range` all
cells are in the same range of the polynomials; in `two ranges` neighbours are on both sides of
1000 K. Times contain the allocation of the results. A time is the minimum of the rounds.

    python bench/jet_gas.py [--cells 4096] [--rounds 200] [--json FILE]
"""

from __future__ import annotations

import time

import numpy as np
from _report import option_parser, record, report
from rich.table import Table

from uzushio import _core
from uzushio.solvers.jet import mixture as gases

NAMES = ["N2", "O2", "H2", "H2O", "Ar", "CO2", "N2", "O2", "H2", "H2O"]


def seconds(mixture: _core.jet.Mixture, weights: np.ndarray, T: np.ndarray, rounds: int) -> float:
    """Return the seconds of temperatures, pressures and speeds of sound."""
    _, energies = mixture.energies(weights, T)
    guesses = T * (1.0 + 1e-3 * np.cos(0.2 * np.arange(T.size)))
    best = np.inf
    for _ in range(rounds):
        began = time.perf_counter()
        mixture.pressures(weights, mixture.temperatures(weights, energies, guesses))
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    """Measure, print a table and write the records."""
    parser = option_parser(__doc__)
    parser.add_argument("--cells", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    at = np.arange(arguments.cells)
    fields = {
        "one range": 600.0 + 200.0 * np.sin(0.003 * at),
        "two ranges": 1000.0 + 200.0 * np.sin(0.37 * at),
    }
    records = []
    table = Table("gas", *(f"{field}, ns per cell" for field in fields), title="one core")
    for kind in ("calorically perfect", "NASA-7"):
        for count in (1, 2, 5, 10):
            names = NAMES[:count]
            mixture = (
                gases.mixture(names)
                if kind == "NASA-7"
                else _core.jet.Mixture([gases.perfect_gas(name, 0.03, 1.4) for name in names])
            )
            weights = np.full((count, at.size), 1.0 / count)
            times = [
                seconds(mixture, weights, T, arguments.rounds) / at.size * 1e9
                for T in fields.values()
            ]
            table.add_row(f"{kind}, {count} species", *(f"{value:.1f}" for value in times))
            records += [
                record(f"{kind}, {count} species, {field}", value, "ns/cell")
                for field, value in zip(fields, times, strict=True)
            ]
    report(arguments.json, records, table)


if __name__ == "__main__":
    main()
