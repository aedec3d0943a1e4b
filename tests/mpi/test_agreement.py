"""Functions of users that fail on one rank, while the others wait for it in communication."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("agreement_job.py")


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_that_raises_alone_ends_the_job_after_the_wait_limit(
    mpi_run: Run, tmp_path: Path, ranks: int
) -> None:
    done = mpi_run(ranks, [JOB, tmp_path, "1 s", "raise"], timeout=150)
    assert done.returncode != 0
    output = done.stderr
    assert output.count("uzushio: error: the job ends") == 1
    missing = "rank 0" if ranks == 2 else "ranks 0, 1"
    assert f"because the action stress at step 1 did not end on {missing}" in output
    assert f"It raised on rank {ranks - 1}:" in output
    # The traceback of the user's function, and advice.
    assert (
        f'File "{tmp_path / "mine.py"}", line ' in output
        and "in run\n    trip(comm.rank)" in output
    )
    assert f"ValueError: rank {ranks - 1} found nothing" in output
    assert "raise on all ranks or on none" in output and "longer wait_limit" in output
    assert "the end:" not in done.stdout


def test_ranks_that_returned_do_not_wait_for_ever_either(mpi_run: Run, tmp_path: Path) -> None:
    """Of two whose wait times out at once, one prints the message."""
    done = mpi_run(3, [JOB, tmp_path, "1 s", "return"], timeout=150)
    assert done.returncode != 0
    assert done.stderr.count("uzushio: error: the job ends") == 1
    assert "did not end on rank 0 while" in done.stderr
    assert "It returned on ranks 1, 2." in done.stderr


def test_ranks_that_are_slow_and_failures_within_the_limit_are_the_actions_alone(
    mpi_run: Run, tmp_path: Path
) -> None:
    """The wait of two ranks times out after three seconds; the third arrives a second later."""
    done = mpi_run(3, [JOB, tmp_path, "3 s", "slow"], timeout=150)
    assert done.returncode == 0, done.stderr
    # At the next step it raises before the others are there.
    assert "the end: 1 failures, 3 steps" in done.stdout
    first, *trace = done.stdout.splitlines()
    assert first.startswith("The action stress failed at step 1, and the others continue: ")
    assert "ValueError: rank 2 found nothing" in first and any("in trip" in line for line in trace)
