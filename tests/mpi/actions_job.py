"""All actions that make numbers, on a flow cut over these ranks: actions_job.py FOLDER PZ PY PX."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from made_stream import Made
from mpi4py import MPI

SETTINGS: dict[str, dict[str, Any]] = {
    "extract": {
        "fields": ["f", "v"],
        "stride": {"x": 2},
        "chunks": (5, 4, 8),
        "to": ["it.zarr", "it.vtkhdf"],
    },
    "profile": {"profile": {"fields": ["f"], "along": "z", "reduce": "std"}},
    "spectrum": {"spectrum": {"fields": ["f"], "along": "x", "at": {"z": [0.1, 1.0]}}},
    "series": {"series": {"fields": ["f"], "reduce": ["integral", "std", "min", "max"]}},
    "probe": {
        "fields": ["f"],
        "points": {"a": (0.3, 6.0, 0.71), "b": (3.3, 1.0, 2.0)},
        "lines": {"up": {"from": (1, 1, 0), "to": (2, 2, 2), "points": 7}},
    },
    "statistics": {"fields": ["f", "v.x"], "covariances": [("f", "v.x")]},
}


def main() -> None:
    comm, folder = MPI.COMM_WORLD, Path(sys.argv[1])
    pz, py, px = map(int, sys.argv[2:5])
    noise = np.random.default_rng(1).standard_normal((13, 12, 16))
    lines = (
        1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, 13)),
        2.0 * np.pi * np.arange(12) / 12,
        np.pi * np.arange(16) / 8,
    )
    fields = {
        "f": lambda t, z, y, x: noise * (1.0 + t) + z * np.sin(y),
        "v": lambda t, z, y, x: np.stack([np.cos(x + t), y * z, z - t], axis=-1),
    }
    made = Made(lines, fields, comm, (pz, py, px), "xy", (0, 2, 0), empty=True)
    for name, settings in SETTINGS.items():
        kind = "plot" if name in ("profile", "spectrum", "series") else name
        action = made.action(kind, folder / name, **settings)
        made.run(action, [(0, 0.0), (3, 0.5), (6, 1.0)])
    if comm.rank == 0:
        print("all done")


main()
