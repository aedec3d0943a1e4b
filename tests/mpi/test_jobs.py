"""The tests' own jobs: a failure on one rank ends them, and forks end as Python does."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, wait

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


def test_a_fork_ends_as_python_does_and_with_the_program_that_started_it(
    start: Callable[..., subprocess.Popen[str]], python: Path
) -> None:
    done = wait(start(python, "-c", "import sys; print(sys.argv[1:]); sys.exit(7)", "a b"), 60)
    assert (done.returncode, done.stdout) == (7, "['a b']\n")
    for number in (signal.SIGTERM, signal.SIGKILL):
        code = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"
        job = start(python, "-c", code)
        assert job.stdout is not None
        pid = int(job.stdout.readline())
        job.send_signal(number)
        assert wait(job, 60).returncode == -number
        deadline = time.monotonic() + 20
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < deadline, "the fork is still there"
            time.sleep(0.01)
