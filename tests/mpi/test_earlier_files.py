"""Checkpoints and series of an earlier version, whose making earlier/README.md describes."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from conftest import Run
from mpi4py import MPI

from uzushio._base.store import checkpoint
from uzushio.assimilation import saved
from uzushio.assimilation.case import load_assimilation
from uzushio.assimilation.problem import Problem
from uzushio.case.model import load_case
from uzushio.solvers.channel.solver import ChannelSolver

COMM = MPI.COMM_SELF


@pytest.fixture
def earlier(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder of the earlier version, unpacked into the folder of the test."""
    with tarfile.open(Path(__file__).parent / f"earlier/{request.param}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none
        archive.extractall(tmp_path)
    return tmp_path / str(request.param)


def content(path: Path) -> dict[str, Any]:
    return dict(json.loads((path / "manifest.json").read_text())["content"])


def planes(path: Path, name: str) -> np.ndarray:
    """The planes of an array, from the bytes of its files alone."""
    dtype, *shape = content(path)["arrays"][name]
    files = [".".join(map(str, ["c", k, *[0] * (len(shape) - 1)])) for k in range(shape[0])]
    stored = [(path / "state" / name / file).read_bytes()[:-4] for file in files]
    return np.frombuffer(b"".join(stored), dtype).reshape(shape)


def vector(path: Path, name: str) -> np.ndarray:
    """A vector of the assimilation, from its planes and the table of tiles."""
    layout = content(path)["attributes"]["layout"]
    values = np.empty(layout["shape"])
    for plane, (y0, y1, x0, x1) in zip(planes(path, name), layout["tiles"], strict=True):
        values[y0:y1, x0:x1] = plane[: (y1 - y0) * (x1 - x0)].reshape(y1 - y0, x1 - x0)
    return np.append(values, layout["parameters"][name])


def close(values: np.ndarray, expected: np.ndarray) -> None:
    """The same bits on the machine that wrote them; round-off on others, where FFTW plans anew."""
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11 * abs(expected).max())


@pytest.mark.parametrize("earlier", ["channel"], indirect=True)
def test_a_channel_has_the_stored_bits_and_continues(uzushio: Run, earlier: Path) -> None:
    first, last = (earlier / f"checkpoints/step-0000000{step}" for step in (2, 4))
    case = load_case(earlier / "case.yaml", ["decomposition={}"])
    solver = ChannelSolver(case, COMM)  # type: ignore[arg-type]
    solver.restore(checkpoint.open_checkpoint(first, COMM).state())
    for name, array in solver.state().arrays.items():
        assert array.values[0].tobytes() == planes(first, name).tobytes(), name
    assert (solver.step_index, solver.time) == (2, 0.02)
    done = uzushio("run", "--restart", first, "--ranks", 4, "--no-figures")
    assert done.returncode == 0, done.stderr
    for name in "uvwp":
        close(planes(last, name), planes(last.with_name(f"{last.name}.set-aside"), name))


@pytest.mark.parametrize("earlier", ["assimilation"], indirect=True)
def test_an_assimilation_has_the_stored_bits_and_continues(uzushio: Run, earlier: Path) -> None:
    first, last = (earlier / f"checkpoints/step-0000000{step}" for step in (2, 4))
    model = Problem(load_assimilation(earlier / "case.yaml", []), COMM).model
    vectors = saved.vectors_of(checkpoint.open_checkpoint(first, COMM).state(), model)
    assert set(vectors) == {"point", "gradient", "step1", "step2", "change1", "change2"}
    for name, values in vectors.items():
        assert values.tobytes() == vector(first, name).tobytes(), name
    words = ("assimilate", "--restart", first, "--ranks", 3, "--no-figures")
    done = uzushio(*words)
    assert done.returncode == 0, done.stderr
    aside = last.with_name(f"{last.name}.set-aside")
    assert content(last)["arrays"]["point"] == ["<f8", 7, 8] != content(aside)["arrays"]["point"]
    stored_vectors = saved.vectors_of(checkpoint.open_checkpoint(last, COMM).state(), model)
    for name, values in stored_vectors.items():
        close(values, vector(aside, name))


RESUME = """
from pathlib import Path
import numpy as np
from mpi4py import MPI
from uzushio.domain.box import Box
from uzushio.extracts import Distribution, StoreSchema, Field, VtkhdfSeries, ZarrSeries

comm, shape = MPI.COMM_WORLD, (3, 4, 5)
lines = tuple(0.5 + np.linspace(0.0, 1.0, n) ** 2 for n in shape)
variables = {"u": Field("u"), "v": Field("v", dtype=np.dtype(np.float32), components=3)}
schema = StoreSchema(shape, variables, lines)
boxes = [Box((0, 0, 3 * comm.rank), (3, 4, 3 - comm.rank))]
distribution = Distribution(comm, boxes)
stores = [
    ZarrSeries(Path("extracts/series.zarr"), schema, (2, 3, 3)),
    VtkhdfSeries(Path("extracts/series.vtkhdf"), schema, "RectilinearGrid"),
]
for step in (2, 3):
    u = np.arange(60.0).reshape(shape) - 100.0 * step
    v = np.arange(180, dtype=np.float32).reshape(*shape, 3) + np.float32(step)
    parts = {name: [a[box.slices()] for box in boxes] for name, a in (("u", u), ("v", v))}
    for store in stores:
        store.append(10 * step, 0.5 * step, distribution, parts)
"""


def whole(step: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of u and v: those of the earlier version until step 1."""
    sign = 1.0 if step < 2 else -1.0
    u = np.arange(60.0).reshape(3, 4, 5) + sign * 100.0 * step
    v = np.arange(180, dtype=np.float32).reshape(3, 4, 5, 3) - np.float32(sign * step)
    return u, v


@pytest.mark.parametrize("earlier", ["extracts"], indirect=True)
def test_series_continue_on_other_ranks(mpi_run: Run, earlier: Path) -> None:
    with xr.open_zarr(earlier / "series.zarr") as stored:
        np.testing.assert_array_equal(stored.u[2], whole(0)[0] + 200.0)
    done = mpi_run(2, ["-c", RESUME], timeout=60)
    assert done.returncode == 0, done.stderr
    with xr.open_zarr(earlier / "series.zarr") as stored:
        np.testing.assert_array_equal(stored.step, [0, 10, 20, 30])
        for step in range(4):
            for name, expected in zip("uv", whole(step), strict=True):
                np.testing.assert_array_equal(stored[name][step], expected)
    with h5py.File(earlier / "series.vtkhdf") as file:
        assert file["VTKHDF/Steps/Values"][...].tolist() == [0.0, 0.5, 1.0, 1.5]
        for step in range(4):
            for name, expected in zip("uv", whole(step), strict=True):
                np.testing.assert_array_equal(file[f"VTKHDF/PointData/{name}"][step], expected)
