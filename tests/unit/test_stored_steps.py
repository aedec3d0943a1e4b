"""Steps that the engine `file` stored, opened with other people's tools."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr
from mpi4py import MPI

from uzushio import staging
from uzushio.staging.contact import Contact
from uzushio.viewer.steps import open_steps


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two steps: `u` on two blocks with ghosts, and `c` of three components, once each way round.

    Blocks lie in memory with gaps around them, and in step 1 `c` has its components outermost.
    """
    path = tmp_path / "flow.zarr"
    with staging.open("flow", None, {"engine": "file", "file": {"folder": str(path)}}) as writer:
        writer.attribute("Re", 180.0)
        writer.uniform_mesh("box", (4, 5, 6))
        writer.field("u", "box", unit="m/s")
        writer.field("c/d", "box", "vertex", np.float32, components=3)
        writer.block(0, "box", ((0, 0, 0), (2, 5, 6)))
        writer.block(1, "box", ((2, 0, 0), (2, 5, 6)))
        for step in range(2):
            u, c = values(step)
            if step == 1:
                c = np.ascontiguousarray(np.moveaxis(c, 3, 0)).transpose(1, 2, 3, 0)
            with writer.step(10 * step, 0.5 * step):
                writer.put("u", u[0:4, 1:-1], block=0, ghosts=(1, 0, 1))
                writer.put("u", u[2:6, 1:-1], block=1, ghosts=(1, 0, 1))
                writer.put("c/d", c[0:3], block=0)
                writer.put("c/d", c[2:5], block=1)
    return path


def values(step: int) -> tuple[np.ndarray, np.ndarray]:
    """`u` with a ghost layer on all sides, and `c/d`."""
    u = np.pad(np.arange(120.0).reshape(4, 5, 6) + 1000 * step, 1, constant_values=-1.0)
    return u, (np.arange(5 * 6 * 7 * 3).reshape(5, 6, 7, 3) + step).astype(np.float32)


def test_zarr_opens_them_without_a_warning_and_finds_the_numbers(store: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        root: Any = zarr.open_group(store, mode="r")
        assert root.attrs["stream"] == "flow"
        assert (root.attrs["closed"], root.attrs["steps"]) == (True, 2)
        assert sorted(root["steps"].group_keys()) == ["0000000000", "0000000001"]
        for step in range(2):
            u, c = values(step)
            group = root["steps"][f"{step:010}"]
            assert (group.attrs["index"], group.attrs["time"]) == (10 * step, 0.5 * step)
            assert group.attrs["attributes"] == {"Re": 180.0}
            for block in range(2):
                array = group["u"][str(block)]
                np.testing.assert_array_equal(array[:], u[2 * block : 2 * block + 4, 1:-1])
                assert array.metadata.dimension_names == ("z", "y", "x")
                assert array.attrs["unit"] == "m/s"
                assert array.attrs["association"] == "element"
                assert array.attrs["start"] == [2 * block - 1, 0, -1]
                assert array.attrs["ghosts_lower"] == [1, 0, 1]
                array = group["c%2Fd"][str(block)]
                names = array.metadata.dimension_names
                assert names.index("component") == (0 if step else 3)
                components_last = np.moveaxis(array[:], names.index("component"), 3)
                np.testing.assert_array_equal(components_last, c[2 * block : 2 * block + 3])


def test_xarray_opens_a_field_whose_blocks_are_alike(store: Path) -> None:
    with xarray.open_zarr(store, group="steps/0000000001/u", consolidated=False) as field:
        assert field["0"].dims == ("z", "y", "x")
        np.testing.assert_array_equal(field["1"], values(1)[0][2:6, 1:-1])


def test_zarr_and_readers_detect_damage(store: Path) -> None:
    chunk = store / "steps" / "0000000000" / "u" / "0" / "c.0.0.0"
    content = bytearray(chunk.read_bytes())
    content[33] ^= 1
    chunk.write_bytes(content)
    root: Any = zarr.open_group(store, mode="r")
    with pytest.raises(ValueError, match="checksum"):
        root["steps/0000000000/u/0"][:]
    with staging.attach(store) as reader:
        step = reader.next(10.0)
        assert step is not None
        for box in (None, np.s_[1, 4, 5]):  # damage is detected in parts, too
            with pytest.raises(staging.StagingError, match=f"checksum of {chunk}"):
                step.read("u", box)
        assert step.read("c/d").shape == (5, 6, 7, 3), "other arrays are sound"
    with staging.attach(store, verify=False) as reader:
        step = reader.next(10.0)
        assert step is not None
        assert not np.array_equal(step.blocks[0].values("u", True), values(0)[0][0:4, 1:-1])
        assert not step.blocks[0].verify("u"), "the table has a checksum too"


def test_a_reader_gets_all_steps_and_then_the_end(store: Path) -> None:
    with staging.attach(store, step_limit=10.0) as reader:
        for number, step in enumerate(reader):
            u, c = values(number)
            np.testing.assert_array_equal(step.read("u"), u[1:-1, 1:-1, 1:-1])
            np.testing.assert_array_equal(step.read("c/d"), c)
        assert number == 1


def test_the_list_of_stored_steps_has_no_other_folders_and_none_that_was_removed(
    store: Path,
) -> None:
    shutil.copytree(store / "steps" / "0000000001", store / "steps" / "0000000001 (copy)")
    with staging.attach(store) as reader:
        assert reader.stored_steps() == [(0, 0, 0.0), (1, 10, 0.5)]
    shutil.rmtree(store / "steps" / "0000000000")
    steps = open_steps(Contact(str(store)), MPI.COMM_SELF)
    step = steps.poll()
    assert step is not None and step.index == 10
    assert steps.stored == ((10, 0.5),) and steps.fetch(0) is None
    steps.close()
