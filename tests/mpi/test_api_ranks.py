"""The Python API on several ranks."""

from __future__ import annotations

from pathlib import Path

from conftest import Run


def test_a_run_stepped_by_hand_on_four_ranks(mpi_run: Run) -> None:
    done = mpi_run(4, Path(__file__).with_name("api_job.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all is well") == 4
    assert not done.stderr, done.stderr
