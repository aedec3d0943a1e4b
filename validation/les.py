"""Taylor-Green vortex at Re = 1600 with subgrid models, beside the peak of published dissipation.

python validation/les.py [--cells 64]

Writes docs/validation/les.csv and les.png. A few minutes on one core.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from mpi4py import MPI

from uzushio.solvers.thermal import ThermalCase, ThermalSolver

OUTPUT = Path(__file__).parents[1] / "docs" / "validation"
MODELS = ("none", "smagorinsky", "wale", "vreman")
#: Maximum of the dissipation and its time: spectral simulation of 512^3 modes, W. M. van Rees, A.
#: Leonard, D. I. Pullin, P. Koumoutsakos, J. Comput. Phys. 230 (2011) 2794.
PEAK_TIME, PEAK = 8.95, 0.0129
END = 12.0

Curve = tuple[np.ndarray, np.ndarray]


def dissipation(model: str, cells: int) -> Curve:
    """Return times and the rate at which kinetic energy per volume is lost."""
    axis = {"cells": cells, "length": 2.0 * np.pi}
    case = ThermalCase.model_validate(
        {
            "solver": "thermal",
            "grid": {"x": axis, "y": axis, "z": axis},
            "periodic": ["x", "y", "z"],
            "fluid": {"viscosity": 1.0 / 1600.0},
            "les": None if model == "none" else {"model": model},
            "time": {"end": END, "cfl": 0.5},
        }
    )
    solver = ThermalSolver(case, MPI.COMM_SELF).begin()
    faces = 2.0 * np.pi / cells * np.arange(cells + 1)
    centres = faces[:-1] + np.pi / cells
    u, v = (solver.core.values("face_velocity", 0, component)[0] for component in (0, 1))
    z, y = centres[:, None, None], centres[None, :, None]
    u[...] = np.sin(faces) * np.cos(y) * np.cos(z)
    v[...] = -np.cos(centres) * np.sin(faces[:, None]) * np.cos(z)
    solver.core.start(0.0)
    times, energies = [0.0], [solver.core.kinetic_energy()]
    while solver.time < END - 1e-9:
        solver.step(END - solver.time)
        times.append(solver.time)
        energies.append(solver.core.kinetic_energy())
    rates = -np.gradient(energies, times) / (2.0 * np.pi) ** 3
    return np.array(times), rates


def draw(curves: dict[tuple[str, int], Curve]) -> None:
    """Draw the dissipation over time."""
    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    for (model, cells), (times, rates) in curves.items():
        name = "no model" if model == "none" else model
        axes.plot(times, rates, label=f"{name}, ${cells}^3$")
    axes.plot(PEAK_TIME, PEAK, "k*", ms=12, label="maximum of the direct simulation, $512^3$")
    axes.set(
        xlabel="time [$L/V_0$]",
        ylabel=r"loss of kinetic energy per volume [$V_0^3/L$]",
        title="Taylor\N{EN DASH}Green vortex, Re = 1600",
        xlim=(0, END),
        ylim=(0, None),
    )
    axes.legend(loc="lower right")
    figure.savefig(OUTPUT / "les.png", dpi=110)


def main() -> None:
    """Run all models, and write the table and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=64, help="along each axis")
    cells = parser.parse_args().cells
    curves, rows = {}, []
    for model, number in [*((model, cells) for model in MODELS), ("none", 2 * cells)]:
        began = time.perf_counter()
        curves[model, number] = times, rates = dissipation(model, number)
        peak = int(rates.argmax())
        lost = np.trapezoid(rates, times)
        rows.append([model, number, f"{times[peak]:.2f}", f"{rates[peak]:.5f}", f"{lost:.4f}"])
        print(*rows[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    with (OUTPUT / "les.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "model",
                "cells along an axis",
                "time of the maximum",
                "maximum",
                "energy lost until 12",
            ]
        )
        writer.writerows(rows)
    draw(curves)


if __name__ == "__main__":
    main()
