"""Thermal flow on as many ranks as there are cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml
from conftest import Run
from mpi4py import MPI

from uzushio._base.store import checkpoint


def arrays(run: Path, step: int) -> dict[str, np.ndarray]:
    folder = run / f"checkpoints/step-{step:08d}"
    state = checkpoint.open_checkpoint(folder, MPI.COMM_SELF).state()
    shapes = state.shapes.items()
    return {name: state.read(name, tuple(0 for _ in shape), shape) for name, shape in shapes}


def test_as_many_ranks_as_cells_have_the_bits_of_one(uzushio: Run, tmp_path: Path) -> None:
    wall = {"type": "wall"}
    hot = wall | {"values": {"temperature": 1}}
    lid = {"type": "wall", "velocity": [1, 0, 0]}
    case = {
        "solver": "thermal",
        "grid": {"x": {"cells": 2}, "y": {"cells": 3}, "z": {"cells": 1}},
        "periodic": ["z"],
        "fluid": {"viscosity": 0.1},
        "scalars": {"temperature": {"diffusivity": 0.1}},
        "boundaries": {"x-min": hot, "x-max": wall, "y-min": wall, "y-max": lid},
        "time": {"dt": 0.01, "steps": 5},
        "statistics": {"every": 1, "fields": ["temperature"]},
        "publish": {"engine": "file"},
        "output": {"figures": False},
    }
    (tmp_path / "thin.yaml").write_text(yaml.safe_dump(case))
    results = []
    for ranks in (1, 5, 6):
        folder = tmp_path / f"thin{ranks}"
        done = uzushio("run", tmp_path / "thin.yaml", "--ranks", ranks, "--out", folder)
        assert done.returncode == 0, done.stderr
        results.append(arrays(folder, 5))
    assert results[0]["temperature"].max() > 0.01
    for name, values in results[0].items():
        for other in results[1:]:
            np.testing.assert_array_equal(other[name], values, err_msg=name)
    refused = uzushio("run", tmp_path / "thin.yaml", "--ranks", 7, "--out", tmp_path / "thin7")
    assert refused.returncode == 1
    assert "cannot be shared by 7 ranks; use fewer ranks" in " ".join(refused.stderr.split())
