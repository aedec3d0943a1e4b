"""A short channel flow on a given process grid; rank 0 writes results for the tests.

python channel_job.py PY PZ SCHEME FORCING PRECISION TRANSPOSES OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from channel_cases import core, faces, make, stir

SIZE = (20, 18, 13)  # divides by none of the process grids
STEPS = 3


def in_space(solver: core.Solver, output: core.PhysicalOutput, name: str) -> np.ndarray:
    """This rank's part of a field, (z, y, x)."""
    (first, last), (bottom, top) = solver.planes, output.rows
    values = np.full((last - first, top - bottom, SIZE[0]), np.nan)
    output.write(solver, name, values)
    return values


def main(
    py: int, pz: int, scheme: str, forcing: str, precision: str, transposes: str, out: str
) -> None:
    comm = MPI.COMM_WORLD
    z = faces(SIZE[2])
    solver = make(
        SIZE,
        z,
        viscosity=0.02,
        drive=0.5,
        forcing=forcing,
        scheme=scheme,
        transpose_precision=precision,
        transposes=transposes,
        ranks=(py, pz),
        comm=comm,
    )
    stir(solver, z)
    solver.reset_traffic()
    for _ in range(STEPS):
        solver.step(0.4, float("inf"))
    traffic = comm.gather(solver.traffic())
    held = max(comm.allgather(solver.bytes))
    samples = solver.samples([2, 7])
    figures = [solver.bulk_velocity(), solver.wall_shear(), solver.kinetic_energy()]
    output = core.PhysicalOutput(solver)
    place = (solver.planes, solver.waves, output.rows)
    pieces = comm.gather(
        (
            place,
            {n: np.array(solver.spectral(n)) for n in "uvwp"},
            {n: in_space(solver, output, n) for n in "uvwp"},
        )
    )
    if pieces is None or traffic is None:
        return
    result: dict[str, np.ndarray] = {"figures": np.array(figures), "bytes": np.array(held)}
    for name in "uvwp":
        modes = np.zeros((SIZE[2], 2, 2 * solver.modes_y - 1, solver.modes_x))
        points = np.zeros(SIZE[::-1])
        for (planes, waves, rows), spectral, physical in pieces:
            modes[slice(*planes), :, :, slice(*waves)] = spectral[name]
            points[slice(*planes), slice(*rows)] = physical[name]
        result[name], result[f"{name}_points"] = modes, points
    for name, value in samples.items():
        result[f"sample_{name}"] = value[1] if isinstance(value, tuple) else value
    for kind in traffic[0]:
        result[f"traffic {kind}"] = np.array([sent[kind] for sent in traffic]).max(axis=0) / STEPS
    np.savez(out, **result)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
