"""The tests' own jobs: a failure on one rank ends them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from conftest import Run

FAILS = """\
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert comm.rank != 1, "one rank alone is wrong"
comm.Barrier()
"""


@pytest.mark.parametrize("in_a_file", [True, False])
def test_an_assertion_on_one_rank_ends_the_job_at_once(
    mpi_run: Run, tmp_path: Path, in_a_file: bool
) -> None:
    script = tmp_path / "job.py"
    script.write_text(FAILS)
    began = time.monotonic()
    done = mpi_run(3, script if in_a_file else ["-c", FAILS], timeout=60)
    assert done.returncode != 0 and time.monotonic() - began < 30
    assert done.stderr.count("AssertionError: one rank alone is wrong") == 1
