"""Thermal flows have the same bits on any number of threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("thermal_threads_job.py")


@pytest.mark.parametrize("ranks", [1, 2])
def test_threads_change_no_bit(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, [JOB], timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "same"
