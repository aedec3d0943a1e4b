"""Memory that NumPy frees in a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CASE = {
    "solver": "thermal",
    "grid": {"x": {"cells": 6}, "y": {"cells": 6}},
    "periodic": ["x", "y"],
    "fluid": {"viscosity": 0.1},
    "time": {"dt": 0.001, "steps": 12},
    "publish": {"engine": "inproc", "python": "temporaries.py"},
    "output": {"figures": False, "folder": "run"},
}
#: A step of a solver in NumPy on 256 x 256 cells, and the page faults of each.
TEMPORARIES = """\
import json, resource
import numpy as np

u, faults = np.ones((258, 258)), []

def on_step(step):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    sides = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    rates = [0.1 * sides - u[1:-1, 1:-1] * (u[2:, 1:-1] - u[:-2, 1:-1]) for _ in range(3)]
    np.copyto(u[1:-1, 1:-1], u[1:-1, 1:-1] + 1e-3 * sum(rates))
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    with open("faults.json", "w") as file:
        json.dump(faults, file)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="thresholds of glibc")
def test_arrays_of_a_step_reuse_the_memory_of_the_step_before(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(CASE))
    (tmp_path / "temporaries.py").write_text(TEMPORARIES)
    command = [sys.executable, "-m", "uzushio", "run", "case.yaml"]  # not a fork: its own heap
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, timeout=240, env=environment
    )
    faults = json.loads((tmp_path / "faults.json").read_text())
    assert len(faults) >= 12
    assert sorted(faults[4:])[len(faults[4:]) // 2] < 32  # an array has 128 pages
