"""Ranks that a run exchanges: their order, and that results do not depend on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import zarr
from conftest import Run

from uzushio.placement import Torus, launchers, pencils, place

JOB = Path(__file__).with_name("placed_job.py")
CASE = """\
solver: channel
title: a small channel
grid: {nx: 8, ny: 8, nz: 12, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: 4, cfl: 0.4}
statistics: {start: 0.0, every: 2}
decomposition: {py: 2, pz: 2}
output: {folder: run, figures: false}
"""


def test_ranks_have_the_order_of_the_file_and_other_numbers_are_refused(
    mpi_run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "permutation.txt"
    launchers.write_permutation(file, np.array([2, 0, 3, 1]))
    done = mpi_run(4, [JOB, file])
    assert done.stdout.split("\n")[:4] == ["in order"] * 4, done.stderr
    done = mpi_run(3, [JOB, file])
    assert done.stdout.count("places 4 ranks, but the job has 3; make one for as many") == 3
    file.write_text("0\n0\n1\n")
    done = mpi_run(3, [JOB, file])
    assert done.stdout.count("does not name each of the ranks 0 to 2 once") == 3


def test_a_placed_run_has_the_same_bits(uzushio: Run, tmp_path: Path) -> None:
    (tmp_path / "channel.yaml").write_text(CASE)
    # The groups 0, 1 and 2, 3 are apart on the nodes 0, 2, 1, 3 of a line.
    line = Torus((4,), periodic=False)
    placement = place(line, pencils(2, 2), nodes=np.array([0, 2, 1, 3]), exchange=True)
    assert not np.array_equal(placement.permutation, np.arange(4))
    launchers.write_permutation(tmp_path / "permutation.txt", placement.permutation)
    for name in ("plain", "placed"):
        more = ("--set", "parallel.placement=permutation.txt") if name == "placed" else ()
        done = uzushio("run", "channel.yaml", "--ranks", 4, "--out", name, *more, timeout=120)
        assert done.returncode == 0, done.stderr
    plain, placed = (
        zarr.open_group(tmp_path / name / "checkpoints/step-00000004", mode="r")
        for name in ("plain", "placed")
    )
    names = [f"state/{name}" for name in "uvwp"] + ["statistics/uu", "statistics/batch_means"]
    for name in names:
        np.testing.assert_array_equal(np.asarray(plain[name]), np.asarray(placed[name]), name)
