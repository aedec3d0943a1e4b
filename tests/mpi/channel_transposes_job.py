"""A short channel flow with each exchange of planes; rank 0 prints whether all are the same.

python channel_transposes_job.py PY PZ
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from channel_cases import faces, make, stir


def velocities(py: int, pz: int, transposes: str) -> np.ndarray:
    """Return this rank's velocity and spectra after two steps; one process has the same plans."""
    z = faces(23)  # several batches of planes on each rank
    comm = MPI.COMM_WORLD
    solver = make(
        (20, 18, 23), z, viscosity=0.02, drive=0.5, transposes=transposes, ranks=(py, pz), comm=comm
    )
    stir(solver, z)
    solver.reset_traffic()
    for _ in range(2):
        solver.step(0.4, float("inf"))
    hidden, exposed = solver.transpose_seconds
    assert hidden > 0.0
    assert exposed > 0.0
    moments = solver.samples([2, 7])["uu"][1]
    return np.concatenate([*(solver.spectral(name).ravel() for name in "uvwp"), moments])


def main(py: int, pz: int) -> None:
    messages = velocities(py, pz, "messages")
    # Batches in shared memory have another size, and their transforms other plans.
    same = [
        np.array_equal(messages, velocities(py, pz, "overlapped")),
        np.allclose(messages, velocities(py, pz, "shared_memory"), rtol=0, atol=2e-12),
    ]
    gathered = MPI.COMM_WORLD.gather(same)
    if gathered is not None:
        print("same" if np.all(gathered) else f"different: {gathered}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
