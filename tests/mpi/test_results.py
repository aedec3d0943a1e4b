"""Results that a run writes after its last step: a failure of one does not affect others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from conftest import Run, wait

Start = Callable[..., subprocess.Popen[str]]


def summary(run: Path) -> dict[str, Any]:
    return json.loads((run / "summary.json").read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("fault", "ranks", "what", "missing"),
    [
        ("{kind: statistics}", 2, "the statistics", "statistics.zarr"),
        ("{kind: figures, rank: 1}", 2, "the figures", "no other"),
        ("{kind: figures}", 1, "the figures", "figures/u.txt"),
    ],
)
def test_each_result_is_written_if_another_one_fails(
    uzushio: Run, case: Path, tmp_path: Path, fault: str, ranks: int, what: str, missing: str
) -> None:
    done = uzushio("run", case, "--set", f"fault={fault}", "--ranks", ranks)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.count(f"uzushio: error: {what} could not be written, see above.") == 1
    assert f"{what} can be written with: uzushio figures run" in done.stderr
    run = tmp_path / "run"
    results = ["statistics.zarr", "figures/u.txt", "summary.json"]
    there = [name for name in results if (run / name).exists()]
    assert there == [name for name in results if name != missing]
    before = summary(run)
    assert before["steps_done"] == 12
    stored = run / "case.yaml"  # the cause is mended
    stored.write_text(stored.read_text().replace(f"kind: {what.split()[-1]}", "kind: none"))
    again = uzushio("figures", "run")
    assert (again.returncode, again.stderr) == (0, "")
    assert all((run / name).exists() for name in results)
    after = summary(run)
    assert after | {"files": None} == before | {"files": None}
    assert "run/figures/u.txt" in after["files"] and "run/statistics.zarr" in after["files"]


def test_a_run_that_was_killed_gets_its_results_from_the_last_checkpoint(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    job = ("--set", "decomposition={pz: 4}", "--ranks", 4)
    assert uzushio("run", case, "--no-figures", *job).returncode == 0
    run = tmp_path / "run"
    assert not (run / "figures").exists()
    with xr.open_zarr(run / "statistics.zarr") as stored:
        written = stored.square.values
    shutil.rmtree(run / "statistics.zarr")
    (run / "summary.json").unlink()
    done = uzushio("figures", "run/checkpoints/step-00000012", "--ranks", 2)
    assert (done.returncode, done.stderr) == (0, "")
    with xr.open_zarr(run / "statistics.zarr") as again:
        assert again.attrs["samples"] == 4
        np.testing.assert_array_equal(again.square.values, written)
    assert (run / "figures/u.txt").exists()
    content = summary(run)
    assert (content["step"], content["seconds"], content["steps_done"]) == (12, None, None)
    nothing = uzushio("figures", "nowhere")
    assert nothing.returncode == 1 and "holds no case.yaml" in nothing.stderr


def test_figures_can_be_disabled_in_the_case(uzushio: Run, case: Path, tmp_path: Path) -> None:
    assert uzushio("run", case, "--set", "output.figures=false").returncode == 0
    assert not (tmp_path / "run/figures").exists()
    assert (tmp_path / "run/statistics.zarr").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_signal_ends_the_drawing_and_the_run_in_order(
    start_uzushio: Start, case: Path, tmp_path: Path, ranks: int
) -> None:
    more = ("--ranks", ranks) if ranks > 1 else ()
    fault = ("--set", "fault.kind=slow-figures")
    job = start_uzushio("run", case, *fault, *more)
    assert job.stdout is not None
    while "figures/u0.txt" not in (line := job.stdout.readline()):
        assert line, job.communicate()
    os.killpg(job.pid, signal.SIGINT)
    done = wait(job, 20)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")
    assert "Stopped while figures were drawn, as requested" in done.stdout
    content = summary(tmp_path / "run")
    drawn = {f"run/figures/{path.name}" for path in (tmp_path / "run/figures").iterdir()}
    assert 2 <= len(drawn) < 50
    assert drawn < set(content["files"])
    assert (content["step"], content["samples"]) == (12, 4)


def test_modules_for_results_are_imported_before_the_first_step(
    start: Start, case: Path, tmp_path: Path
) -> None:
    """numexpr, which xarray imports with pandas, cannot be imported with this."""
    job = start("env", "NUMEXPR_NUM_THREADS=two", sys.executable, "-m", "uzushio", "run", case)
    done = wait(job, 60)
    assert done.returncode == 1
    assert "uzushio: error: the module xarray, which the results of the run need" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("statistics.start=5", "at time 0.6, before statistics.start (5)."),
        ("statistics.every=20", "after step 12, before the first of statistics.every (20)."),
    ],
)
def test_a_run_without_a_sample_reports_why_it_has_no_statistics(
    uzushio: Run, case: Path, tmp_path: Path, more: str, why: str
) -> None:
    done = uzushio("run", case, "--set", more)
    assert done.returncode == 0, done.stderr
    assert f"There are no statistics: the run ended {why}\n" in done.stdout
    assert not (tmp_path / "run/statistics.zarr").exists()
