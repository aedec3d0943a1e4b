"""Files of actions do not depend on the decomposition of a flow, nor on the number of ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray
from conftest import TESTS, Run

sys.path.insert(0, str(TESTS / "unit"))
from test_extracts import read_vtk

JOB = Path(__file__).with_name("actions_job.py")


def tables(folder: Path) -> dict[str, np.ndarray]:
    return {
        str(path.relative_to(folder)): np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
        for path in sorted(folder.glob("*/*.csv"))
    }


def run(mpi_run: Run, folder: Path, ranks: int, cuts: tuple[int, int, int]) -> Path:
    done = mpi_run(ranks, [JOB, folder, *cuts], timeout=150)
    assert done.returncode == 0, done.stderr
    assert "all done" in done.stdout
    return folder


@pytest.mark.parametrize(("ranks", "cuts"), [(3, (2, 1, 3)), (4, (1, 2, 1))])
def test_numbers_and_stores_are_those_of_one_rank(
    mpi_run: Run, tmp_path_factory: pytest.TempPathFactory, ranks: int, cuts: tuple[int, int, int]
) -> None:
    """The first rank has nothing, of four the last one neither; of three, each other has three."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    base = tmp_path_factory.getbasetemp() / "one_rank_acts"
    on_one = base if base.exists() else run(mpi_run, base, 1, (1, 1, 1))
    many = run(mpi_run, tmp_path_factory.mktemp("many"), ranks, cuts)
    expected, values = tables(on_one), tables(many)
    assert list(values) == list(expected) and len(values) == 5
    for name, rows in expected.items():
        np.testing.assert_allclose(values[name], rows, rtol=1e-12, atol=1e-13, err_msg=name)
        if "probe" in name:
            np.testing.assert_array_equal(values[name], rows, err_msg=name)
    for store in ("extract/it.zarr", "statistics/it.zarr"):
        with xarray.open_zarr(on_one / store) as a, xarray.open_zarr(many / store) as b:
            assert set(a.variables) == set(b.variables)
            for name in a.variables:
                np.testing.assert_array_equal(b[name], a[name], err_msg=name)
    for step in range(3):
        times, a = read_vtk(on_one / "extract/it.vtkhdf", step)
        assert times == [0.0, 0.5, 1.0]
        b = read_vtk(many / "extract/it.vtkhdf", step)[1]
        for name in ("f", "v"):
            arrays = [vtk_to_numpy(grid.GetPointData().GetArray(name)) for grid in (a, b)]
            np.testing.assert_array_equal(arrays[0], arrays[1])
