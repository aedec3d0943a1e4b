"""The far field of sound does not depend on the number of ranks, nor on a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Run

JOB = Path(__file__).with_name("acoustics_job.py")


def series(path: Path) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", skiprows=1)


def run(mpi_run: Run, folder: Path, ranks: int, cuts: tuple[int, int, int]) -> Path:
    done = mpi_run(ranks, [JOB, folder, *cuts], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "all done" in done.stdout
    return folder


@pytest.mark.parametrize(("ranks", "cuts"), [(2, (1, 2, 1)), (3, (1, 3, 2))])
def test_series_of_any_number_of_ranks_and_of_a_restart_are_those_of_one_rank(
    mpi_run: Run, tmp_path_factory: pytest.TempPathFactory, ranks: int, cuts: tuple[int, int, int]
) -> None:
    """One rank has no part; of three, one has the more, and the cuts change at the restart."""
    base = tmp_path_factory.getbasetemp() / "sound_of_one_rank"
    one = base if base.exists() else run(mpi_run, base, 1, (1, 1, 1))
    many = run(mpi_run, tmp_path_factory.mktemp("many"), ranks, cuts)
    expected = series(one / "whole/it.csv")
    scale = np.nanmax(np.abs(expected[:, 2:]))
    assert np.isfinite(expected[:, 2:]).sum(axis=0).min() > 32
    for path in (one / "restarted/it.csv", many / "whole/it.csv", many / "restarted/it.csv"):
        found = series(path)
        np.testing.assert_array_equal(found[:, :2], expected[:, :2], err_msg=str(path))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * scale, err_msg=str(path))
