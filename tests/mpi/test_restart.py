"""A run that was restarted is the run that was not, on any number of ranks."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from command_server import CommandServer
from conftest import CASE, Run
from heat_solver import exact, initial

from uzushio._base.store.checkpoint.manifest import read_manifest, write_manifest

SHAPE = (10, 12, 8)


def fields(run: Path, step: int) -> dict[str, np.ndarray]:
    root = zarr.open_group(run / f"checkpoints/step-{step:08d}", mode="r")
    names = ("state/u", "state/edge", "statistics/square")
    return {name: np.asarray(root[name]) for name in names}


@pytest.mark.parametrize("ranks", [1, 6])
def test_the_checkpoint_holds_the_solution(
    uzushio: Run, case: Path, tmp_path: Path, ranks: int
) -> None:
    done = uzushio("run", case, "--ranks", ranks)
    assert done.returncode == 0, done.stderr
    arrays = fields(tmp_path / "run", 12)
    # To round-off of a dozen steps of sums of seven terms.
    np.testing.assert_allclose(arrays["state/u"], exact(SHAPE, 0.05, 12), rtol=0, atol=1e-15)
    assert arrays["state/edge"].tolist() == list(range(10))
    squares = [(exact(SHAPE, 0.05, n) ** 2).sum(axis=(1, 2)) for n in (3, 6, 9, 12)]
    np.testing.assert_allclose(arrays["statistics/square"], np.mean(squares, axis=0), rtol=1e-12)


@pytest.fixture(scope="module")
def uninterrupted(
    command_server: CommandServer,
    job_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The uninterrupted run, on 4 ranks."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "case.yaml").write_text(CASE)
    words = ["run", "case.yaml", "--ranks", "4"]
    status, _, errors = command_server.start(words, folder, job_environment).wait(60)
    assert status == 0, errors
    return folder / "run"


def test_restart_on_the_same_ranks_is_the_same_to_the_bit(
    uzushio: Run, case: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    assert uzushio("run", case, "--ranks", 4, "--set", "time.steps=7").returncode == 0
    done = uzushio("run", case, "--ranks", 4, "--restart", "run")
    assert done.returncode == 0, done.stderr
    assert "Restarted from run/checkpoints/step-00000007 (step 7)." in done.stdout
    restarted = fields(tmp_path / "run", 12)
    for name, values in fields(uninterrupted, 12).items():
        assert values.tobytes() == restarted[name].tobytes(), name
    with xr.open_zarr(tmp_path / "run/statistics.zarr") as statistics:
        assert statistics.attrs["samples"] == 4


@pytest.mark.parametrize(("before", "after"), [(4, 1), (1, 6)])
def test_restart_on_other_ranks_gives_the_same_fields(
    uzushio: Run, case: Path, uninterrupted: Path, tmp_path: Path, before: int, after: int
) -> None:
    assert uzushio("run", case, "--ranks", before, "--set", "time.steps=7").returncode == 0
    assert uzushio("run", case, "--ranks", after, "--restart", "run").returncode == 0
    same, restarted = fields(uninterrupted, 12), fields(tmp_path / "run", 12)
    assert np.array_equal(same["state/u"], restarted["state/u"])
    np.testing.assert_allclose(
        same["statistics/square"], restarted["statistics/square"], rtol=1e-13
    )


def test_going_back_to_an_earlier_checkpoint_sets_later_ones_aside(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    assert uzushio("run", case).returncode == 0
    done = uzushio("run", case, "--restart", "run/checkpoints/step-00000010")
    assert done.returncode == 0, done.stderr
    assert "set aside as run/checkpoints/step-00000012.set-aside" in done.stdout
    there = sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir())
    assert there == ["step-00000010", "step-00000012", "step-00000012.set-aside"]


def test_a_checkpoint_of_another_grid_is_refused_once(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    assert uzushio("run", case).returncode == 0
    done = uzushio("run", case, "--ranks", 2, "--restart", "run", "--set", "grid.nz=11")
    assert done.returncode == 1
    assert done.stderr.count("the checkpoint is of a grid (10, 12, 8)") == 1
    assert "Traceback" not in done.stderr


def state_of(run: Path) -> dict[str, bytes]:
    """All files of a run, but for the lock."""
    files = (path for path in run.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): path.read_bytes() for path in files}


def test_a_restart_uses_the_case_of_the_run_with_its_overrides(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    given = ("--set", "grid.nz=11", "--set", "decomposition={pz: 4}", "--set", "time.dt=0.04")
    assert uzushio("run", case, "--ranks", 4, "--out", "a", *given).returncode == 0
    shutil.rmtree(tmp_path / "a/checkpoints/step-00000012")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    # On other ranks without their decomposition, in the folder of the run, with its case.
    done = uzushio("run", "--restart", "a", "--ranks", 2)
    assert done.returncode == 0, done.stderr
    # With a case file for that folder, the same.
    done = uzushio("run", case, "--restart", "b", "--out", "b")
    assert done.returncode == 0, done.stderr
    assert "As the earlier run: --set grid.nz=11 --set time.dt=0.04\n" in done.stdout
    a, b = (fields(tmp_path / name, 12)["state/u"] for name in "ab")
    np.testing.assert_allclose(a, exact((11, 12, 8), 0.04, 12), rtol=0, atol=1e-15)
    assert np.array_equal(a, b)
    # In another folder it is another run, of the case file without changes.
    done = uzushio("run", case, "--restart", "a", "--set", "time.steps=20")
    assert done.returncode == 1
    assert "the checkpoint is of a grid (11, 12, 8)" in done.stderr
    # New overrides come last.
    done = uzushio("run", "--restart", "a", "--set", "time.dt=0.05", "--set", "time.steps=13")
    assert done.returncode == 0, done.stderr
    decay = sum(2.0 - 2.0 * np.cos(2.0 * np.pi / n) for n in (11, 12, 8))
    np.testing.assert_allclose(
        fields(tmp_path / "a", 13)["state/u"], a * (1 - 0.05 * decay), rtol=0, atol=1e-15
    )


def test_a_restart_of_an_ended_run_changes_nothing_and_prints_a_notice(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    more = ("--set", "time.steps=7")
    assert uzushio("run", case, *more).returncode == 0
    before = state_of(tmp_path / "run")
    done = uzushio("run", "--restart", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing is left to do: the run has reached its end at step 7." in done.stdout
    for end in ("time.steps=6", "time={end: 0.3, dt: 0.05}"):
        done = uzushio("run", "--restart", "run", "--set", end)
        assert done.returncode == 1
        assert "the case ends before the checkpoint run/checkpoints/step-00000007" in done.stderr
    assert state_of(tmp_path / "run") == before
    # The case file has a later end.
    done = uzushio("run", case, "--restart", "run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run/checkpoints/step-00000012").exists()


def test_a_case_is_needed_to_start_a_run(uzushio: Run, case: Path, tmp_path: Path) -> None:
    done = uzushio("run")
    assert done.returncode == 2 and "name the case" in done.stderr
    assert uzushio("run", case).returncode == 0
    (tmp_path / "run/case.yaml").unlink()
    done = uzushio("run", "--restart", "run")
    assert done.returncode == 1
    assert "run holds no case.yaml" in done.stderr


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--set", "fault.pause=0.001"), "discarded: fault.pause changed."),
        (("--reset-statistics",), "discarded: as requested."),
    ],
)
def test_averages_of_another_flow_are_dropped(
    uzushio: Run, case: Path, tmp_path: Path, more: tuple[str, ...], sentence: str
) -> None:
    assert uzushio("run", case, "--set", "time.steps=7").returncode == 0
    done = uzushio("run", case, "--restart", "run", *more)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"Averages of the earlier run are {sentence}") == 1
    with xr.open_zarr(tmp_path / "run/statistics.zarr") as statistics:
        assert statistics.attrs["samples"] == 2


def test_a_checkpoint_without_its_case_uses_the_case_of_its_folder(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    assert uzushio("run", case, "--set", "time.steps=7").returncode == 0
    stored = tmp_path / "run/checkpoints/step-00000007"
    manifest = read_manifest(stored)
    old = {name: value for name, value in manifest.statistics.items() if name != "averaged"}
    write_manifest(stored, replace(manifest, statistics=old))
    shutil.copytree(stored, tmp_path / "alone/checkpoints/step-00000007")
    for folder, samples in (("run", 4), ("alone", 2)):
        done = uzushio("run", case, "--restart", folder, "--out", folder)
        assert done.returncode == 0, done.stderr
        assert ("their case is not known" in done.stderr) == (folder == "alone")
        with xr.open_zarr(tmp_path / folder / "statistics.zarr") as statistics:
            assert statistics.attrs["samples"] == samples


def test_the_end_time_is_met_exactly_and_the_initial_field_is_not_sampled(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    more = ("--set", "time={end: 0.12, dt: 0.05}", "--set", "statistics={start: 0, every: 1}")
    assert uzushio("run", case, *more).returncode == 0
    stored = zarr.open_group(tmp_path / "run/checkpoints/step-00000003", mode="r")
    decay = sum(2.0 - 2.0 * np.cos(2.0 * np.pi / n) for n in SHAPE)
    factor = (1 - 0.05 * decay) * (1 - 0.035 * decay) ** 2  # none is shorter than half
    np.testing.assert_allclose(np.asarray(stored["state/u"]), factor * initial(SHAPE), atol=1e-15)
