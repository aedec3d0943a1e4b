"""Compositing from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("compositing_job.py")


@pytest.mark.parametrize("ranks", [2, 5])
def test_pictures_of_numpy_arrays_are_those_that_numpy_makes(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "every picture is as it should be" in done.stdout
