"""The phase field on several ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("phasefield_job.py")


@pytest.mark.parametrize("ranks", [1, 2, 6])
def test_every_number_is_the_same_on_any_ranks_in_any_blocking(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ways give the same numbers to the last bit" in done.stdout


def test_a_rank_that_fails_in_an_exchange_ends_the_job(mpi_run: Run) -> None:
    """The last of three has no memory for its message, for which its neighbour waits."""
    done = mpi_run(3, JOB.with_name("sweep_failure_job.py"))
    assert done.returncode != 0 and "went well" not in done.stdout
    assert done.stderr.count("uzushio: error: the job ends, because rank 2 failed in a sweep") == 1
    assert "out of memory: an allocation failed" in done.stderr
