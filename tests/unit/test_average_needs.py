"""Memory and disk space of averages over time, as `uzushio check` states them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zarr

import uzushio
from uzushio.case.registry import solver_class


@pytest.mark.parametrize("over", [[], ["i"]])
def test_the_estimate_counts_the_means_over_batches_that_a_checkpoint_holds(
    over: list[str], tmp_path: Path
) -> None:
    walls = {side: {"type": "wall"} for side in ("y-min", "y-max")}
    case: dict[str, Any] = {
        "solver": "thermal",
        "grid": {"x": {"cells": 12}, "y": {"cells": 8}},
        "periodic": ["x"],
        "boundaries": walls,
        "fluid": {"viscosity": 0.1},
        "scalars": {"c": {"diffusivity": 0.1}},
        "time": {"steps": 4, "dt": 1e-3},
        "output": {"folder": str(tmp_path / "run"), "figures": False},
    }
    plain = solver_class("thermal").estimate(uzushio.load_case(case), 1)
    pairs = [["velocity", "velocity"], ["velocity", "c"]]
    case["statistics"] = {
        "fields": ["velocity", "c"],
        "covariances": pairs,
        "over": over,
        "every": 1,
    }
    estimate = solver_class("thermal").estimate(uzushio.load_case(case), 1)
    assert plain.average_bytes == 0
    uzushio.run(uzushio.load_case(case))
    group = zarr.open_group(tmp_path / "run/checkpoints/step-00000004/statistics", mode="r")
    held = sum(array.nbytes for _, array in group.arrays())
    sample = 8 * (2 * (2 + 1) + 3 + 2) * (8 if over else 96)  # means, squares, products
    assert held == (4 + 4) * sample
    assert estimate.checkpoint_bytes - plain.checkpoint_bytes == (4 + 5) * sample
    assert estimate.average_bytes > held
