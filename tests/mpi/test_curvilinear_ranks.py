"""Surfaces and probes of curved zones do not depend on the number of ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from conftest import Run
from PIL import Image

JOB = Path(__file__).with_name("zones_job.py")


def test_surfaces_probes_extracts_and_pictures_of_zones_are_those_of_one_rank(
    mpi_run: Run, tmp_path: Path
) -> None:
    corners, tables, pictures, extracts = [], [], [], []
    for ranks in (1, 3):
        folder = tmp_path / str(ranks)
        done = mpi_run(ranks, [JOB, folder])
        assert done.returncode == 0, done.stderr
        with np.load(folder / "surface.npz") as stored:
            places = stored["corners"]
        # Triangles by their middles: those at one place are the same.
        corners.append(places[np.lexsort(places.mean(axis=1).T)])
        (table,) = (folder / "out").rglob("*.csv")
        (picture,) = (folder / "out").rglob("p.png")
        tables.append(table.read_text())
        with xr.open_zarr(folder / "out/e.zarr", consolidated=False) as stored:
            extracts.append(stored.load())
        pictures.append(np.asarray(Image.open(picture)).astype(int))
    assert corners[0].shape == corners[1].shape and len(corners[0]) > 300
    np.testing.assert_allclose(corners[0].mean(axis=1), corners[1].mean(axis=1), atol=1e-12)
    assert tables[0] == tables[1]
    assert extracts[0].equals(extracts[1])
    assert np.abs(pictures[0] - pictures[1]).max() <= 2
