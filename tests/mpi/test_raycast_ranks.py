"""Pictures of many ranks through the compositor."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

JOB = Path(__file__).with_name("raycast_job.py")
PICTURES = Path(__file__).with_name("picture_ranks_job.py")


@pytest.mark.parametrize("ranks", [2, 3, 6, 8])
def test_a_picture_is_the_same_on_any_number_of_ranks(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "the picture is the same on all numbers of ranks" in done.stdout


def test_opaque_pictures_are_the_same_bits_and_translucent_ones_differ_by_rounding(
    mpi_run: Run,
) -> None:
    done = mpi_run(8, PICTURES, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "within the limits" in done.stdout
