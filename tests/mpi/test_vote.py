"""Ranks of a job agree in one reduction on information that only some of them have."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("vote_job.py")


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_vote_agrees_on_signals_limits_and_commands(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB)
    assert done.returncode == 0, done.stderr
    # Messages are printed once.
    assert done.stdout == "stopped\n"
    assert done.stderr == "uzushio: warning: careful\n"
