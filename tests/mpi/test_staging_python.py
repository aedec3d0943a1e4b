"""Writers and readers in Python, on several ranks each."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("staging_job.py")
SOURCE_JOB = Path(__file__).with_name("staging_source_job.py")
EXCEPTION_JOB = Path(__file__).with_name("staging_exception_job.py")


@pytest.mark.parametrize(("readers", "engine"), [(2, "shm"), (2, "tcp"), (2, "bp5"), (1, "sst")])
def test_the_ranks_of_a_reader_see_the_same_steps_of_two_that_write(
    mpi_run: Run, tmp_path: Path, readers: int, engine: str
) -> None:
    done = mpi_run(2 + readers, [JOB, 2, engine, tmp_path], timeout=150)
    if engine == "sst" and "it does not accept the reader" in done.stderr:
        # Once in some hundred runs ADIOS2 never answers a reader that opens a stream.
        again = tmp_path / "again"
        again.mkdir()
        done = mpi_run(2 + readers, [JOB, 2, engine, again], timeout=150)
    assert done.returncode == 0, done.stderr
    assert "all read" in done.stdout


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_exception_on_one_rank_ends_its_step_on_all_and_no_other(
    mpi_run: Run, tmp_path: Path, ranks: int
) -> None:
    done = mpi_run(ranks, [EXCEPTION_JOB, tmp_path], timeout=60)
    assert done.returncode == 0, done.stderr
    assert "all went on" in done.stdout


def test_a_collective_source_is_called_on_all_ranks(mpi_run: Run) -> None:
    done = mpi_run(2, [SOURCE_JOB], timeout=60)
    assert done.returncode == 0, done.stderr
    assert "all heard:" in done.stdout
    assert "The writer is gone." in done.stdout
