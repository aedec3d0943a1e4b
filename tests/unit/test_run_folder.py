"""No run writes over another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from uzushio._job import folder_lock, run_folder
from uzushio._job.options import RunOptions
from uzushio._job.run_folder import RunFolder
from uzushio.case.model import Case, Time
from uzushio.errors import OutputError

CASE = Case(solver="toy", time=Time(steps=1, dt=1.0))


def folder_for(path: Path, restart: Path | None = None, **more: Any) -> RunFolder:
    return RunFolder(path, RunOptions(restart=restart, **more))


def a_run(folder: Path) -> Path:
    folder_for(folder).claim(CASE)
    (folder / "checkpoints" / "step-00000001").mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    return folder


def test_a_folder_without_a_run_is_taken(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    folder_for(tmp_path).check()
    folder_for(tmp_path / "new").check()


@pytest.mark.parametrize("root", ["/", "/tmp/.."])
def test_the_root_of_the_file_system_is_no_folder_of_a_run(root: str) -> None:
    with pytest.raises(OutputError, match="is the root of the file system; choose a folder"):
        folder_for(Path(root)).check()


def test_another_run_is_refused_with_the_ways_out(tmp_path: Path) -> None:
    a_run(tmp_path / "a")
    with pytest.raises(OutputError, match=r"holds another run .*--restart .*--out .*--overwrite"):
        folder_for(tmp_path / "a").check()
    with pytest.raises(OutputError, match="holds another run"):
        folder_for(tmp_path / "a", tmp_path / "b").check()


@pytest.mark.parametrize("inner", ["", "checkpoints/step-00000001"])
def test_a_restarted_run_continues_in_its_own_folder(tmp_path: Path, inner: str) -> None:
    folder = a_run(tmp_path / "a")
    folder_for(folder, folder / inner).check()
    folder_for(folder, folder / inner).claim(CASE)
    assert (folder / "checkpoints" / "step-00000001").is_dir()
    with pytest.raises(OutputError, match="--overwrite would remove the run"):
        folder_for(folder, folder / inner, overwrite=True).check()


def test_overwrite_removes_the_run_and_nothing_else(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "a")
    folder_for(folder, overwrite=True).check()
    folder_for(folder, overwrite=True).claim(CASE)
    there = sorted(path.name for path in folder.iterdir())
    assert there == [".uzushio-run", "case.yaml", "notes.txt"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "name", ["figures/a.png", "checkpoints/a", "statistics.zarr/a", "summary.json", "case.yaml"]
)
def test_files_of_other_programs_are_not_changed(
    tmp_path: Path, name: str, overwrite: bool
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match=r"and no \.uzushio-run that says that a run wrote it"):
        folder_for(tmp_path, overwrite=overwrite).claim(CASE)
    assert (tmp_path / name).read_text() == "mine"
    assert not (tmp_path / ".uzushio-run").exists()


def test_the_case_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    file = a_run(tmp_path / "a") / "case.yaml"
    with pytest.raises(OutputError, match="would be replaced"):
        folder_for(tmp_path / "a", overwrite=True, case_file=file).claim(CASE)
    folder_for(tmp_path / "a", tmp_path / "a", case_file=file).claim(CASE)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        folder_for(tmp_path / "f").check()


def test_the_restart_command_is_complete() -> None:
    assert RunOptions().continuation(Path("run")) == "continue with: uzushio run --restart run"
    other = RunOptions(command="assimilate", ranks=4).continuation(Path("my run"))
    assert other == "continue with: uzushio assimilate --ranks 4 --restart 'my run'"


def test_a_folder_stores_the_overrides_and_ranks_of_its_run(tmp_path: Path) -> None:
    record = run_folder.RunRecord(["time.steps=7"], 4)
    folder_for(tmp_path / "a", overrides=("time.steps=7",)).claim(CASE, 4)
    assert run_folder.read_record(tmp_path / "a") == record
    (tmp_path / "a/.uzushio-run").write_text('{"uzushio": "0.1.0"}')  # of a version before
    assert run_folder.read_record(tmp_path / "a") == run_folder.RunRecord()
    assert not run_folder.RunRecord().other_ranks(2) and record.other_ranks(2)


def test_the_error_of_a_lock_that_cannot_be_written_names_it(tmp_path: Path) -> None:
    """The error of a full disk has no name of its own; no device takes a lock's text."""
    lock = tmp_path / folder_lock.FILE
    lock.symlink_to("/dev/full")
    with pytest.raises(OSError, match=re.escape(str(lock))):
        folder_lock.FolderLock().take(tmp_path)
