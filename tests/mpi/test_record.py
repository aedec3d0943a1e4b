"""`uzushio record`: the stored values are the stream's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from uzushio import staging


@pytest.mark.parametrize("ranks", [1, 2])
def test_each_step_of_a_live_stream_is_stored(
    ranks: int, start_uzushio: Callable[..., Any], tmp_path: Path
) -> None:
    options = {
        "engine": "shm",
        "contact": str(tmp_path / "s.contact"),
        "wait_for_readers": 1,
        "queue": {"policy": "block"},
    }
    with staging.open("s", None, options) as writer:
        writer.uniform_mesh("box", elements=(3, 4, 5))
        writer.field("p", "box", "element", units="Pa")
        writer.field("u", "box", "vertex", components=3)
        writer.block(0, "box", ((0, 0, 0), (3, 4, 5)))
        rng = np.random.default_rng(1)
        p, u = rng.random((4, 3, 4, 5)), rng.random((4, 4, 5, 6, 3))
        job = start_uzushio("record", "s.contact", "--out", "kept", "--ranks", ranks)
        for n in range(4):
            with writer.step(10 * n, 0.5 * n):
                writer.put("p", p[n])
                writer.put("u", u[n])
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 0, errors
    stores = {path.name: zarr.open(path) for path in (tmp_path / "kept").glob("*.zarr")}
    assert sorted(stores) == ["box.zarr", "box__elements.zarr"]
    np.testing.assert_array_equal(stores["box__elements.zarr"]["p"], p)
    stored = stores["box.zarr"]
    components = [np.asarray(stored[name]) for name in stored if name.startswith("u")]
    whole = components[0] if len(components) == 1 else np.stack(components, axis=-1)
    assert sorted(np.ravel(whole)) == sorted(np.ravel(u))
    assert list(stored["time"]) == [0, 0.5, 1, 1.5]
