"""Harness of a job on one process: folder, votes, signals, messages and checkpoint times."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from mpi4py import MPI

from uzushio._job import case_job
from uzushio._job.case_job import CaseJob
from uzushio._job.job import Job
from uzushio._job.job_folder import JobFolder
from uzushio._job.options import RunOptions
from uzushio._job.vote import Vote
from uzushio.case.model import Case, Checkpoint, Time
from uzushio.errors import OutputError, UzushioError

CASE = Case(solver="toy", time=Time(steps=1, dt=1.0))


def test_a_job_without_mpi_votes_alone() -> None:
    with Job(None) as job:
        flag = job.vote.add(lambda: True)
        assert job.take_vote() == 0
        assert flag.agreed == 1
        os.kill(os.getpid(), signal.SIGTERM)
        deadline = time.monotonic() + 10.0
        while not job.stop.asked():
            assert time.monotonic() < deadline
        assert job.take_vote() == signal.SIGTERM


def test_entries_added_later_are_in_the_next_vote() -> None:
    vote = Vote(MPI.COMM_SELF)
    first = vote.add(lambda: 7)
    vote.take()
    second = vote.add(lambda: 2**40)
    assert (first.agreed, second.agreed) == (7, 0)
    vote.take()
    assert (first.agreed, second.agreed) == (7, 2**40)


def test_quiet_prints_warnings_and_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    job = Job(None, quiet=True)
    job.say("progress")
    job.warn("careful")
    job.error("wrong")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "uzushio: warning: careful\nuzushio: error: wrong\n"


def test_a_folder_is_locked_until_the_end_of_the_job(tmp_path: Path) -> None:
    folder, other = (JobFolder(tmp_path / "a", ".mark", "a test") for _ in range(2))
    with Job(None, folder):
        folder.lock()
        with pytest.raises(OutputError, match="is in use"):
            other.check_free()
        with pytest.raises(OutputError, match="is in use"):
            other.lock()
    other.lock()
    other.release()


def test_files_are_removed_only_beside_the_mark(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    own = JobFolder(tmp_path, ".mark", "a test")
    with pytest.raises(OutputError, match=r"holds mine\.txt, and no \.mark that says that a test"):
        own.clear()
    shared = JobFolder(tmp_path, ".mark", "a test", ["result"], shared=True)
    assert shared.existing() == []
    (tmp_path / "result").mkdir()
    with pytest.raises(OutputError, match="holds result, and no"):
        shared.clear()
    shared.write_mark({})
    assert shared.existing() == ["result"]
    shared.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mark", "mine.txt"]
    own.clear()
    assert own.existing() == [] and own.marked


def test_a_path_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        JobFolder(tmp_path / "f", ".mark", "a test").existing()


def test_a_checkpoint_is_due_by_steps_or_by_the_clock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = [100.0]
    monkeypatch.setattr(case_job.time, "monotonic", lambda: now[0])
    settings = Checkpoint(every=5, minutes=2.0)
    job = CaseJob(CASE, settings, MPI.COMM_SELF, RunOptions(out=tmp_path / "run"))
    job.take_vote()
    assert [step for step in range(1, 12) if job.checkpoint_due(step)] == [5, 10]
    now[0] += 121.0
    job.take_vote()
    assert job.checkpoint_due(1)


def test_a_missing_module_is_an_error_before_the_first_step(tmp_path: Path) -> None:
    job = CaseJob(CASE, CASE.checkpoint, MPI.COMM_SELF, RunOptions(out=tmp_path / "run"))
    with pytest.raises(OutputError, match="the module no_such_module, which the results"):
        job.prepare(["no_such_module"])
    job.prepare(["json"])
    assert not (tmp_path / "run").exists()


def test_options_that_need_a_restart_are_refused() -> None:
    with pytest.raises(UzushioError, match="--interpolate is for a restart"):
        CaseJob(CASE, CASE.checkpoint, MPI.COMM_SELF, RunOptions(interpolate=True))
