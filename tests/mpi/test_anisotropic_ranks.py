"""The algebraic multigrid on several ranks."""

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("anisotropic_job.py")


@pytest.mark.parametrize("ranks", [2, 3])
def test_solutions_and_iterations_are_those_of_one_rank(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same solutions" in done.stdout
