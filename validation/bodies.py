"""Orders of convergence at bodies in thermal flows where the theory page says that they are low.

python validation/bodies.py [--only inclined transient conductivity] [--finest N]

- inclined: flow that a force drives between inclined plates, thin ones (fluid on both sides) and
  ones of thickness 0.2. Exact: Poiseuille flow.
- transient: decay of the slowest mode of temperature in a layer of fluid and a conducting one
  behind it, whose surface lies between cell sides, and on one. Exact: the mode of two layers.
- conductivity: steady conduction through a square array of cylinders that conduct less, and more,
  than the fluid. Reference: Rayleigh's series (Perrins, McKenzie, McPhedran, Proc. R. Soc. Lond. A
  369 (1979) 207), whose error is below 1e-5 here.

Errors depend on where surfaces lie in cells: those of the first two are means of the absolute
values over four places. Prints the relative errors and the orders between successive grids. All
runs take about a quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import atan, cos, log2, pi, sin, sqrt, tan
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio.solvers.thermal import ThermalCase, ThermalSolver

Row = tuple[str, int, float]
#: Places of a surface between the sides of a cell, in cells.
PLACES = (0.125, 0.375, 0.625, 0.875)
SLOPE = atan(0.5)  # of the inclined plates, which are 1 apart along y


def solver_of(sections: dict[str, Any]) -> ThermalSolver:
    """Return a solver on this process."""
    common = {"solver": "thermal", "time": {"end": 1, "cfl": 0.9}, "output": {"folder": "."}}
    return ThermalSolver(ThermalCase.model_validate({**common, **sections}), MPI.COMM_SELF).begin()


def advance(solver: ThermalSolver, end: float) -> None:
    """Step to a time."""
    while solver.time < end:
        solver.step(end - solver.time)


def mean_size(errors: Iterable[float]) -> float:
    """Return the mean of the absolute values."""
    return float(np.mean(np.abs(list(errors))))


def write_plate(path: Path, thickness: float) -> None:
    """Write an STL file of a plate along x from 0 to 2 with the slope; thickness 0: open."""
    along, across = np.array([cos(SLOPE), sin(SLOPE)]), np.array([-sin(SLOPE), cos(SLOPE)])
    start, length = -0.5 * along, 2.0 / cos(SLOPE) + 1.0
    low, high = start - 0.5 * thickness * across, start + 0.5 * thickness * across
    ends = (low, low + length * along, high + length * along, high)
    corners = [np.array([*end, z]) for z in (-1.0, 2.0) for end in ends]
    if thickness == 0.0:
        quads = [(0, 1, 5, 4)]
    else:
        quads = [(0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7), (3, 2, 1, 0), (4, 5, 6, 7)]
    lines = ["solid plate"]
    for a, b, c, d in quads:
        for triangle in ((a, b, c), (a, c, d)):
            lines += ["facet normal 0 0 0", "outer loop"]
            lines += ["vertex " + " ".join(map(repr, map(float, corners[n]))) for n in triangle]
            lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid plate", ""]))


def flux_error(n: int, thickness: float, shift: float) -> float:
    """Return the relative error of the flux between plates, with n cells from one to the next.

    The plates are moved along y by `shift`.
    """
    gap = cos(SLOPE) - thickness
    force = 12.0 / gap**2  # so that the mean velocity in the gap is 1
    with tempfile.TemporaryDirectory() as folder:
        plate = Path(folder) / "plate.stl"
        write_plate(plate, thickness)
        solver = solver_of(
            {
                "grid": {"x": {"cells": 2 * n, "length": 2}, "y": {"cells": n}},
                "periodic": ["x", "y"],
                "fluid": {"viscosity": 1, "force": [force * cos(SLOPE), force * sin(SLOPE), 0]},
                "bodies": {
                    "plate": {"shape": "stl", "file": str(plate), "offset": [0.0, shift, 0.0]}
                },
                "seeds": [[1.0, shift, 0.0]],  # in the middle between plates
            }
        )
    advance(solver, 0.8)  # the slowest mode has decayed to exp(-9.9)
    return float(solver.core.values("face_velocity", 0, 0).mean()) / gap - 1.0


def inclined(finest: int) -> Iterator[Row]:
    """Yield errors of the flux between inclined plates."""
    for thickness, name in ((0.0, "inclined, thin"), (0.2, "inclined, thick")):
        for n in (16, 32, 64):
            if n <= finest:
                yield name, n, mean_size(flux_error(n, thickness, place / n) for place in PLACES)


def wave_number(surface: float, conductivity: float, capacity: float) -> float:
    """Return the wave number in the fluid of the slowest mode of two layers on [0, 1].

    The fluid reaches from the value 0 at x = 0 to `surface`, the body to the insulated end.
    """
    ratio = sqrt(capacity / conductivity)

    def excess(k: float) -> float:
        body = conductivity * ratio * tan(ratio * k * (1.0 - surface))
        return 1.0 / tan(k * surface) - body

    low, high = 1e-9, min(0.5 * pi / (ratio * (1.0 - surface)), pi / surface) * (1 - 1e-12)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return low


def decay_error(n: int, surface: float) -> float:
    """Return the error of a mode after its decay by e, in the norm of the exact temperature."""
    conductivity, capacity = 3.0, 2.0
    k = wave_number(surface, conductivity, capacity)
    inner = k * sqrt(capacity / conductivity)
    size = sin(k * surface) / cos(inner * (1.0 - surface))
    x = (np.arange(n) + 0.5) / n
    mode = np.where(x < surface, np.sin(k * x), size * np.cos(inner * (1.0 - x)))
    layer = {"shape": "box", "lower": [surface, -1, -1], "upper": [2, 2, 2]}
    material = {"conductivity": conductivity, "capacity": capacity}
    solver = solver_of(
        {
            "grid": {"x": {"cells": n}, "y": {"cells": 2, "length": 2 / n}},
            "fluid": {"viscosity": 1},
            "scalars": {"temperature": {"diffusivity": 1}},
            "boundaries": {
                "x-min": {"type": "wall", "values": {"temperature": 0}},
                "x-max": {"type": "wall"},
                "y-min": {"type": "symmetry"},
                "y-max": {"type": "symmetry"},
            },
            "bodies": {"layer": layer | {"conduction": {"temperature": material}}},
        }
    )
    values = solver.core.values("temperature", 0)[0, 0]
    values[...] = mode
    solver.core.start(0.0)
    advance(solver, 1.0 / k**2)
    exact = np.exp(-1.0) * mode
    return float(np.linalg.norm(values[0] - exact) / np.linalg.norm(exact))


def transient(finest: int) -> Iterator[Row]:
    """Yield errors of the decay of a mode, with the surface between cell sides and on one."""
    for places, name in ((PLACES, "transient"), ((0.0,), "transient, on cell sides")):
        for n in (20, 40, 80, 160):
            if n <= finest:
                yield name, n, mean_size(decay_error(n, 0.4 + place / n) for place in places)


def of_array(share: float, conductivity: float) -> float:
    """Return the conductivity of a square array of cylinders that fill a share of the area."""
    t = (1.0 + conductivity) / (1.0 - conductivity)
    rest = share - 0.305827 * share**4 * t / (t**2 - 1.402958 * share**8) - 0.013362 * share**8 / t
    return 1.0 - 2.0 * share / (t + rest)


def conductivity(finest: int) -> Iterator[Row]:
    """Yield errors of the conductivity of an array of cylinders."""
    radius = 0.3
    for inside in (0.1, 10.0):
        exact = of_array(pi * radius**2, inside)
        for n in (12, 24, 48, 96):
            if n > finest:
                continue
            solver = solver_of(
                {
                    "grid": {"x": {"cells": n}, "y": {"cells": n}},
                    "fluid": {"viscosity": 1},
                    "scalars": {"temperature": {"diffusivity": 1}},
                    "boundaries": {
                        "x-min": {"type": "wall", "values": {"temperature": 1}},
                        "x-max": {"type": "wall", "values": {"temperature": 0}},
                        "y-min": {"type": "symmetry"},
                        "y-max": {"type": "symmetry"},
                    },
                    "bodies": {
                        "core": {
                            "shape": "cylinder",
                            "centre": [0.5, 0.5, 0],
                            "radius": radius,
                            "conduction": {
                                "temperature": {"conductivity": inside, "capacity": inside}
                            },
                        }
                    },
                    "initial": {
                        "values": {"temperature": 1},
                        "gradients": {"temperature": [-1, 0, 0]},
                    },
                }
            )
            advance(solver, 1.0)
            flux = solver.fluxes("temperature")["x-min"]
            yield f"array, conductivity {inside:g}", n, flux / exact - 1.0


PARTS = {"inclined": inclined, "transient": transient, "conductivity": conductivity}


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return the rows with the order of convergence from the grid before."""
    lines = [[name, str(n), f"{error:+.3%}", ""] for name, n, error in rows]
    for line, (before, after) in zip(lines[1:], pairwise(rows), strict=True):
        if before[0] == after[0]:
            line[3] = f"{log2(abs(before[2] / after[2])) / log2(after[1] / before[1]):.2f}"
    return lines


def main() -> None:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--finest", type=int, default=1000, help="leave out finer grids")
    asked = parser.parse_args()
    rows: list[Row] = []
    for part in asked.only:
        for row in PARTS[part](asked.finest):
            rows.append(row)
            print(*table(rows)[-1], sep=", ", flush=True)


if __name__ == "__main__":
    main()
