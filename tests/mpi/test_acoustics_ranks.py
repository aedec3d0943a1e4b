"""The far field of sound does not depend on the number of ranks, nor on a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import Run

JOB = Path(__file__).with_name("acoustics_job.py")


def series(path: Path) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", skiprows=1)


def run(mpi_run: Run, folder: Path, ranks: int, cuts: tuple[int, int, int]) -> Path:
    done = mpi_run(ranks, [JOB, folder, *cuts], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "all done" in done.stdout
    return folder


@pytest.mark.parametrize(("ranks", "cuts"), [(2, (1, 2, 1)), (3, (1, 3, 2))])
def test_series_of_any_number_of_ranks_and_of_a_restart_are_those_of_one_rank(
    mpi_run: Run, tmp_path_factory: pytest.TempPathFactory, ranks: int, cuts: tuple[int, int, int]
) -> None:
    """One rank has no part; of three, one has the more, and the cuts change at the restart."""
    base = tmp_path_factory.getbasetemp() / "sound_of_one_rank"
    on_one = base if base.exists() else run(mpi_run, base, 1, (1, 1, 1))
    many = run(mpi_run, tmp_path_factory.mktemp("many"), ranks, cuts)
    expected = series(on_one / "whole/it.csv")
    scale = np.nanmax(np.abs(expected[:, 2:]))
    assert np.isfinite(expected[:, 2:]).sum(axis=0).min() > 32
    for path in (on_one / "restarted/it.csv", many / "whole/it.csv", many / "restarted/it.csv"):
        values = series(path)
        np.testing.assert_array_equal(values[:, :2], expected[:, :2], err_msg=str(path))
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10 * scale, err_msg=str(path))


CASE = """\
solver: channel
grid: {nx: 8, ny: 8, nz: 24, lx: 2 pi, ly: pi}
flow: {reynolds_tau: 100}
time: {steps: 70, dt: 0.004}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {figures: false}
publish: {engine: inproc, every: 1, pipeline: sound.yaml}
"""
PIPELINE = """\
actions:
- acoustics:
    density: 1.0
    velocity: [u, v, w]
    pressure: p
    ambient: {density: 1, sound_speed: 60}
    surface: {spacing: 0.3, box: {from: [1, 1, 0.5], to: [3, 2, 1.5]}}
    points: {mic: [10, 1, 1]}
"""


def test_a_run_from_a_checkpoint_continues_the_series(uzushio: Run, tmp_path: Path) -> None:
    """Of staggered fields, in a solver; the part before is too short for spectra."""
    (tmp_path / "case.yaml").write_text(CASE)
    (tmp_path / "sound.yaml").write_text(PIPELINE)
    whole = uzushio("run", "case.yaml", "--out", "whole", timeout=120)
    part = uzushio("run", "case.yaml", "--out", "part", "--set", "time.steps=40", timeout=120)
    rest = uzushio("run", "--restart", "part", "--ranks", 2, "--set", "time.steps=70", timeout=120)
    for done in (whole, part, rest):
        assert done.returncode == 0, done.stderr
    assert "complete samples at the observer mic" in part.stderr + part.stdout
    assert "failed" not in rest.stderr + rest.stdout
    expected, values = (
        series(tmp_path / name / "pipeline/acoustics.csv") for name in ("whole", "part")
    )
    np.testing.assert_array_equal(values[:, :2], expected[:, :2])
    scale = np.abs(expected[:, 2]).max()
    np.testing.assert_allclose(values[:, 2], expected[:, 2], rtol=0, atol=1e-9 * scale)
