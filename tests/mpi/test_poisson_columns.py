"""The direct Poisson solver on ranks that share memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_columns_in_shared_memory_have_the_bits_of_messages_and_of_one_rank(
    mpi_run: Run, ranks: int
) -> None:
    done = mpi_run(ranks, Path(__file__).with_name("poisson_columns_job.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "the same"
