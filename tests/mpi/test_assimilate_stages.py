"""Stages of `uzushio assimilate`, its second search, and observations that are few or wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from assimilation_twin import CASE, outcome, summary
from command_server import CommandServer
from conftest import Run

EXAMPLE = Path(__file__).parents[2] / "examples/cases/phasefield.yaml"
SMALL = ("grid.nx=48", "grid.ny=48")


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    return path


@pytest.fixture(scope="module")
def dense(
    command_server: CommandServer,
    job_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> xr.Dataset:
    """Observations of the example at all points, at 8 times."""
    folder = tmp_path_factory.mktemp("dense")
    twin = ("optimiser.iterations=0", "uncertainty.iterations=0", *SMALL)
    more = [word for override in twin for word in ("--set", override)]
    words = ["assimilate", str(EXAMPLE), *more, "--no-figures", "--out", "twin"]
    status, _, errors = command_server.start(words, folder, job_environment).wait(60)
    assert status == 0, errors
    observations = xr.open_zarr(folder / "twin/observations.zarr").load()
    return observations.isel(time=[2, 6, 7, 19, 20, 44, 89, 126])


@pytest.mark.parametrize("share", [0.8, 0.9, 0.97])
def test_sparse_observations_give_the_parameter_of_the_truth(
    uzushio: Run, dense: xr.Dataset, tmp_path: Path, share: float
) -> None:
    """Short first windows of the same observations end at m = 1.6, with a small deviation."""
    hidden = np.random.default_rng(100).random(dense["values"].shape) < share
    sparse = dense.assign(values=dense["values"].astype(float).where(~hidden))
    sparse.drop_encoding().to_zarr(tmp_path / "sparse.zarr", consolidated=False)
    more = [word for override in SMALL for word in ("--set", override)]
    store = ("--set", "observations.store=sparse.zarr", "--set", "truth=null")
    done = uzushio("assimilate", EXAMPLE, *more, *store, "--no-figures", "--out", "found")
    results = summary(tmp_path / "found")
    m = results["results"]["parameters"]["m"]
    assert results["windows"] == [128] and results["results"]["fit"]["verdict"] == "good"
    assert abs(m["estimate"] - 1.0) < 4.0 * m["sd"] < 0.1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("iterations", "first", "windows"),
    [(20, "null", [3, 6, 24]), (20, "5", [3, 6, 10, 20, 24]), (2, "5", [3, 5, 10, 20, 24])],
)
def test_a_restart_with_another_first_window_continues_its_stage(
    uzushio: Run, twin: Path, tmp_path: Path, iterations: int, first: str, windows: list[int]
) -> None:
    few = ("--set", "uncertainty.iterations=0")
    begin = ("--set", f"optimiser.iterations={iterations}", "--set", "optimiser.first_window=3")
    done = uzushio("assimilate", twin, *begin, *few)
    assert done.returncode == 0, done.stderr
    seen = [line.split(",")[1] for line in (tmp_path / "run/history.csv").open()][1:]
    assert seen[-1] == ("6" if iterations == 20 else "3")
    more = ("--set", "optimiser.iterations=60", "--set", f"optimiser.first_window={first}")
    done = uzushio("assimilate", twin, "--restart", "run", *more, *few)
    assert done.returncode == 0, done.stderr
    content = summary(tmp_path / "run")
    assert content["windows"] == windows
    after = [line.split(",")[1] for line in (tmp_path / "run/history.csv").open()][1:]
    assert after[: len(seen)] == seen and after[-1] == "24"
    assert abs(content["results"]["parameters"]["m"]["estimate"] - 1.0) < 0.2


def test_hubers_norm_and_the_background_check_are_the_same_on_any_ranks_and_after_a_restart(
    uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    robust = ("--set", "observations={sigma: 0.1, huber: 1.5, background_check: 8}")
    more = (*robust, "--set", "optimiser.iterations=10")
    for ranks in (1, 3):
        out = ("--out", f"on{ranks}", "--ranks", ranks)
        done = uzushio("assimilate", twin, *more, *out)
        assert done.returncode == 0, done.stderr
        assert re.search(r"The background check leaves out \d+ of 12480 values", done.stdout)
        assert re.search(r"Huber's norm: \d+ values \(\d+\.?\d* %\) are beyond", done.stdout)
    on_one = outcome(tmp_path / "on1")
    assert outcome(tmp_path / "on3") == on_one
    counts = summary(tmp_path / "on1")["observations"]
    assert 0 < counts["rejected"] < 1248 and counts["values"] + counts["rejected"] == 12480
    few = ("--set", "optimiser.iterations=4", "--set", "uncertainty.iterations=0")
    uzushio("assimilate", twin, *robust, *few, "--ranks", 2)
    again = ("--set", "optimiser.iterations=10", "--set", "uncertainty.iterations=8")
    done = uzushio("assimilate", twin, "--restart", "run", *robust, *again)
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "run") == on_one
    other = uzushio("assimilate", twin, "--restart", "run", "--set", "observations.huber=2")
    assert "is of another problem: observations.huber changed" in other.stderr


def stages(run: Path) -> tuple[np.ndarray, np.ndarray]:
    """Table of the iterations, and the rows at which another stage or search begins."""
    rows = np.genfromtxt(run / "history.csv", delimiter=",", names=True)
    return rows, np.flatnonzero(np.diff(rows["iteration"]) == 0) + 1


ALL_KEPT = ("--set", "checkpoint={every: 1, keep: 1000}")


def test_a_stage_with_a_parameter_at_a_bound_is_not_handed_on(
    uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    """The truth, 1, is beyond the bound: no search can fit."""
    bound = ("--set", "controls.m.bounds=[-2, 0.2]", "--set", "optimiser.tolerance=20")
    done = uzushio("assimilate", twin, *bound, "--set", "optimiser.iterations=60", *ALL_KEPT)
    assert done.returncode == 0, done.stderr
    remark = (
        "The stage of 12 steps ended with m at a bound; the next one begins at the first guess."
    )
    assert remark in done.stdout and "the fit is poor: 2J/N is" in done.stderr
    results = summary(tmp_path / "run")
    assert results["remarks"] == [remark] and results["windows"] == [12, 24]
    rows, (start,) = stages(tmp_path / "run")
    assert (rows["m"][start - 1], rows["m"][start]) == (0.2, -0.5)
    m = results["results"]["parameters"]["m"]
    assert m["estimate"] == rows["m"][-1] == 0.2 and m["note"] == "it is at its bound"
    at = f"run/checkpoints/step-{int(rows['iteration'][start + 1]):08}"
    done = uzushio("assimilate", "--restart", at, "--out", "again", "--ranks", 2)
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "again") == outcome(tmp_path / "run")
    assert summary(tmp_path / "again")["remarks"] == [remark]


def test_a_poor_fit_is_tried_again_from_the_first_guess_and_the_better_one_is_kept(
    uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    """The errors of the observations are twice what they claim."""
    none = ("--set", "optimiser.iterations=0", "--set", "uncertainty.iterations=0")
    uzushio("assimilate", twin, *none, "--out", "twin")
    zarr.open_group(tmp_path / "twin/observations.zarr", mode="r+").attrs["sigma"] = 0.05
    seen = ("--set", "observations.store=twin/observations.zarr", "--set", "truth=null")
    more = (*seen, "--set", "optimiser.tolerance=20")
    done = uzushio("assimilate", twin, *more, "--set", "optimiser.iterations=60", *ALL_KEPT)
    assert done.returncode == 0, done.stderr
    assert "the whole run is tried again from the first guess" in done.stdout
    assert "the fit is poor: 2J/N is 3." in done.stderr
    results = summary(tmp_path / "run")
    first_and_second, J = results["tried_again"], results["results"]["J"]
    assert results["windows"] == [12, 24, 24] and min(first_and_second.values()) == J
    assert f"J is {first_and_second['first']:.8g} after the first search" in done.stdout
    assert f"{first_and_second['second']:.8g} after the second one" in done.stdout
    rows, starts = stages(tmp_path / "run")
    assert rows["m"][starts[1]] == -0.5 and rows["J"][starts[1] - 1] == first_and_second["first"]
    # Restarts at the end of the first search and in the second one have the same result.
    for ranks, row in ((2, starts[1] - 1), (1, starts[1] + 2)):
        at, out = f"run/checkpoints/step-{int(rows['iteration'][row]):08}", f"from{row}"
        done = uzushio("assimilate", "--restart", at, "--out", out, "--ranks", ranks)
        assert done.returncode == 0, done.stderr
        assert outcome(tmp_path / out) == outcome(tmp_path / "run")
        assert summary(tmp_path / out)["tried_again"] == first_and_second
    # A second search that the limit of iterations ends early is not kept.
    few = ("--set", f"optimiser.iterations={int(rows['iteration'][starts[1]]) + 1}")
    done = uzushio("assimilate", twin, *more, *few, "--out", "few")
    results = summary(tmp_path / "few")
    assert results["results"]["J"] == first_and_second["first"] < results["tried_again"]["second"]
    assert results["results"]["parameters"]["m"]["estimate"] == rows["m"][starts[1] - 1]


def test_a_deviation_of_a_part_of_the_run_is_named_as_such(
    uzushio: Run, twin: Path, tmp_path: Path
) -> None:
    few = ("--set", "optimiser.iterations=9")
    done = uzushio("assimilate", twin, *few)
    assert done.returncode == 0, done.stderr
    results = summary(tmp_path / "run")["results"]
    m = results["parameters"]["m"]
    assert m["sd"] is not None and results["observations_looked_at"] == 6240
    part = "the first 12 of 24 steps, with 6240 of 12480 observations, not the whole run"
    assert m["note"] == f"± belongs to {part}" and f"m: {m['note']}." in done.stdout
    assert re.search(r"m = \S+ ± \S+ \(of 12 of 24 steps\), truth 1", done.stdout)
    assert results["fit"]["values"] == 6240 and results["fit"]["steps"] == 12
    estimate = zarr.open_group(tmp_path / "run/estimate.zarr", mode="r")
    assert estimate.attrs["m_sd_note"] == m["note"]
    assert uzushio("report", "run").returncode == 0
    assert part in (tmp_path / "run/report.html").read_text()
