"""The phase field on several ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("phasefield_job.py")


@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_every_number_is_the_same_on_any_ranks_in_any_blocking(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ways give the same numbers to the last bit" in done.stdout
