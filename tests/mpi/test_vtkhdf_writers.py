"""VTKHDF files whose values are written by all ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Run

SHAPE = (6, 4, 5)
JOB = """
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from uzushio._base.store.distribution import Distribution
from uzushio._base.store.schema import StoreSchema
from uzushio.domain.box import Box
from uzushio.domain.fields import Field
from uzushio.extracts import hdf5_extent
from uzushio.extracts.vtkhdf_series import VtkhdfSeries

comm, shape = MPI.COMM_WORLD, (6, 4, 5)
first, end = (6 * r // comm.size for r in (comm.rank, comm.rank + 1))
own = Box((first, 0, 0), (end - first, 4, 5))
lines = tuple(np.linspace(0.0, 1.0, n) for n in shape) if sys.argv[1] == "ImageData" else None
corners = np.arange(360.0).reshape(*shape, 3)
store = VtkhdfSeries(Path("a.vtkhdf"), StoreSchema(shape, {"u": Field("u")}, lines), sys.argv[1])
for step in range(3):
    u = 1000.0 * step + np.arange(120.0).reshape(shape)
    arrays = {"u": [u[first:end]]}
    more = () if lines else ([corners[first:end]],)
    store.append(step, float(step), Distribution(comm, [own]), arrays, *more)
assert store.bytes == 3 * 8 * 120 + (0 if lines else corners.nbytes)  # of all ranks
if sys.argv[2] == "merged" and comm.rank == 0:
    store.merge()
print("written", flush=True)
"""


@pytest.mark.parametrize(
    ("ranks", "kind", "state"),
    [(3, "ImageData", "growing"), (2, "ImageData", "merged"), (3, "StructuredGrid", "merged")],
)
def test_each_rank_writes_its_values_and_vtk_reads_them(
    mpi_run: Run, tmp_path: Path, ranks: int, kind: str, state: str
) -> None:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    done = mpi_run(ranks, ["-c", JOB, kind, state], timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("written") == ranks
    reader = vtkHDFReader()
    reader.SetFileName(str(tmp_path / "a.vtkhdf"))
    reader.UpdateInformation()
    for step in range(3):
        reader.UpdateTimeStep(float(step))
        data = reader.GetOutputDataObject(0)
        values = vtk_to_numpy(data.GetPointData().GetArray("u"))
        np.testing.assert_array_equal(values, 1000.0 * step + np.arange(120.0))
    if kind == "StructuredGrid":
        points = vtk_to_numpy(data.GetPoints().GetData())
        np.testing.assert_array_equal(points, np.arange(360.0).reshape(-1, 3))
