"""No run writes over another."""

from __future__ import annotations

from pathlib import Path

import pytest

from uzushio.case.model import Case, Time
from uzushio.errors import OutputError
from uzushio.job import run_folder
from uzushio.job.options import Options

CASE = Case(solver="toy", time=Time(steps=1, dt=1.0))


def a_run(folder: Path) -> Path:
    run_folder.claim(folder, CASE, None)
    (folder / "checkpoints" / "step-00000001").mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    return folder


def test_a_folder_without_a_run_is_taken(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    run_folder.check(tmp_path, None, overwrite=False)
    run_folder.check(tmp_path / "new", None, overwrite=False)


def test_another_run_is_refused_with_the_ways_out(tmp_path: Path) -> None:
    a_run(tmp_path / "a")
    with pytest.raises(OutputError, match=r"holds another run .*--restart .*--out .*--overwrite"):
        run_folder.check(tmp_path / "a", None, overwrite=False)
    with pytest.raises(OutputError, match="holds another run"):
        run_folder.check(tmp_path / "a", tmp_path / "b", overwrite=False)


@pytest.mark.parametrize("inner", ["", "checkpoints/step-00000001"])
def test_a_restarted_run_goes_on_in_its_own_folder(tmp_path: Path, inner: str) -> None:
    folder = a_run(tmp_path / "a")
    run_folder.check(folder, folder / inner, overwrite=False)
    run_folder.claim(folder, CASE, folder / inner)
    assert (folder / "checkpoints" / "step-00000001").is_dir()
    with pytest.raises(OutputError, match="--overwrite would remove the run"):
        run_folder.check(folder, folder / inner, overwrite=True)


def test_overwrite_removes_the_run_and_nothing_else(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "a")
    run_folder.check(folder, None, overwrite=True)
    run_folder.claim(folder, CASE, None, overwrite=True)
    there = sorted(path.name for path in folder.iterdir())
    assert there == [".uzushio-run", "case.yaml", "notes.txt"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "name", ["figures/a.png", "checkpoints/a", "statistics.zarr/a", "summary.json", "case.yaml"]
)
def test_files_that_no_run_wrote_are_left_alone(tmp_path: Path, name: str, overwrite: bool) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match=r"and no \.uzushio-run that says that a run wrote it"):
        run_folder.claim(tmp_path, CASE, None, overwrite)
    assert (tmp_path / name).read_text() == "mine"
    assert not (tmp_path / ".uzushio-run").exists()


def test_the_case_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    file = a_run(tmp_path / "a") / "case.yaml"
    with pytest.raises(OutputError, match="would be replaced"):
        run_folder.claim(tmp_path / "a", CASE, None, True, file)
    run_folder.claim(tmp_path / "a", CASE, tmp_path / "a", False, file)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        run_folder.check(tmp_path / "f", None, overwrite=False)


def test_the_command_that_goes_on_is_whole() -> None:
    assert Options().going_on(Path("run")) == "go on with: uzushio run --restart run"
    other = Options(command="assimilate", ranks=4).going_on(Path("my run"))
    assert other == "go on with: uzushio assimilate --ranks 4 --restart 'my run'"


def test_a_folder_knows_the_overrides_and_ranks_of_its_run(tmp_path: Path) -> None:
    told = run_folder.RunRecord(["time.steps=7"], 4)
    run_folder.claim(tmp_path / "a", CASE, None, record=told)
    assert run_folder.read_record(tmp_path / "a") == told
    (tmp_path / "a/.uzushio-run").write_text('{"uzushio": "0.1.0"}')  # of a version before
    assert run_folder.read_record(tmp_path / "a") == run_folder.RunRecord()
    assert not run_folder.RunRecord().other_ranks(2) and told.other_ranks(2)
