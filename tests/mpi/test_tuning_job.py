"""`uzushio tune` with real jobs, on a workload that sleeps for its predicted time."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, family
from tuning_subjects import MACHINE, Waves

from uzushio.tuning.journal import open_storage
from uzushio.tuning.space import Space

Start = Callable[..., object]


@pytest.fixture
def waves(tmp_path: Path, job_environment: dict[str, str]) -> Callable[..., Path]:
    """Write a case, and set a separate cache folder for the jobs."""
    job_environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def write(**more: object) -> Path:
        path = tmp_path / "waves.yaml"
        path.write_text(json.dumps({"solver": "waves", "points": 64, **more}))
        return path

    return write


def no_ranks_left(limit: float = 20.0) -> bool:
    """Whether none of this test's jobs has a process any more."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if not any(b"tuning-worker" in _command(pid) for pid in family(os.getpid())[1:]):
            return True
        time.sleep(0.1)
    return False


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_case_is_tuned_and_the_result_is_stored(
    uzushio: Run, waves: Callable[..., Path], tmp_path: Path
) -> None:
    command = ("tune", waves(), "--ranks", 2, "--budget", 16, "--out", "here")
    done = uzushio(*command, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "here/tuning.json").read_text())
    subject = Waves(2)
    space = Space(subject, MACHINE)
    best = min(subject.cost(space.point(candidate.key)) for candidate in space.all)
    assert subject.cost(result["chosen"]["values"]) < 1.15 * best
    assert len(result["trials"]) == len(result["random_trials"]) == 16
    assert result["possible"] == len(space.all) > result["kept_by_model"]
    for text in (
        "16 trials, best",
        "random search",
        "finals",
        "chosen",
        "Stored in",
        "--no-tuned",
    ):
        assert text in done.stdout
    (kept,) = (tmp_path / "cache/uzushio").glob("tuned-waves-2-*.json")
    assert json.loads(kept.read_text())["values"] == result["chosen"]["values"]

    # Again: nothing is measured, and the result is the same.
    again = uzushio(*command, timeout=60)
    assert again.returncode == 0
    assert json.loads((tmp_path / "here/tuning.json").read_text()) == result

    # Another case cannot continue there.
    other = uzushio(*command, "--set", "points=65")
    assert other.returncode == 1
    assert "holds a tuning with other size; choose another folder" in other.stderr


def test_a_budget_in_seconds_is_kept_to(
    uzushio: Run, waves: Callable[..., Path], tmp_path: Path
) -> None:
    began = time.monotonic()
    done = uzushio("tune", waves(), "--budget", "3 s", "--out", "here", "--no-keep")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "here/tuning.json").read_text())
    spent = sum(sum(trial["seconds"]) for trial in result["trials"] + result["random_trials"])
    assert 0.0 < spent < 3.0 and time.monotonic() - began < 60
    assert not (tmp_path / "cache").exists()


def test_a_killed_tuning_continues_and_measures_nothing_twice(
    uzushio: Run, start: Start, waves: Callable[..., Path], tmp_path: Path
) -> None:
    command = ("tune", waves(unit=0.01), "--ranks", 2, "--budget", 12, "--out", "here")
    tuner = start("python", "-m", "uzushio", *command)
    journal = tmp_path / "here/journal.log"
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_text().count('"seconds"') < 50:
        assert time.monotonic() < deadline and tuner.poll() is None  # type: ignore[attr-defined]
        time.sleep(0.02)
    ranks = [pid for pid in family(tuner.pid) if b"tuning-worker" in _command(pid)]  # type: ignore[attr-defined]
    assert len(ranks) >= 2
    os.kill(tuner.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    tuner.wait()  # type: ignore[attr-defined]
    before = recorded(tmp_path / "here")
    assert sum(map(len, before.values())) >= 40
    deadline = time.monotonic() + 20
    while any(map(alive, ranks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, ranks))

    done = uzushio(*command, timeout=120)
    assert done.returncode == 0, done.stderr
    after = recorded(tmp_path / "here")
    for trial, seconds in before.items():
        assert after[trial][: len(seconds)] == seconds
    assert all(len(seconds) <= 4 for (name, _), seconds in after.items() if name != "finals")
    result = json.loads((tmp_path / "here/tuning.json").read_text())
    assert len(result["trials"]) == 12


def recorded(folder: Path) -> dict[tuple[str, int], list[float]]:
    """Repetitions of each trial of each study."""
    storage = open_storage(folder)
    return {
        (study.study_name, trial.number): list(trial.user_attrs.get("seconds", []))
        for study in storage.get_all_studies()
        for trial in storage.get_all_trials(study._study_id)
    }


def test_points_that_kill_the_ranks_or_hang_are_the_only_failures(
    uzushio: Run, waves: Callable[..., Path], tmp_path: Path
) -> None:
    trouble = {"dies": [8], "hangs": [12], "alone": [16], "fails": [4]}
    blocking = {"scheme": "slanted", "rows": 32, "threads": 1, "groups": 1}
    done = uzushio(
        *("tune", waves(trouble=trouble, blocking=blocking), "--ranks", 2, "--budget", 10),
        *("--out", "here", "--limit", 3, "--no-baseline"),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("uzushio: warning: a new job is started, because") == 3
    result = json.loads((tmp_path / "here/tuning.json").read_text())
    failures = {
        trial["values"]["blocking.steps"]: trial["failure"]
        for trial in result["trials"]
        if trial["failure"]
    }
    assert set(failures) == {4, 8, 12, 16}
    assert failures[4] == "these steps cannot be run."
    assert "it ended with status" in failures[8]
    assert "did not answer within 3 s" in failures[12]
    assert "rank 1: the last rank has no memory left." in failures[16]
    assert result["chosen"]["values"]["blocking.steps"] in (2, 3, 6, 24, 32)
    assert no_ranks_left()


def test_a_workload_that_never_works_is_one_clear_message(
    uzushio: Run, waves: Callable[..., Path]
) -> None:
    case = waves(trouble={"dies": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]})
    done = uzushio("tune", case, "--ranks", 2, "--budget", 4, timeout=120)
    assert done.returncode == 1
    *warnings, line = done.stderr.strip().splitlines()
    assert line.startswith("uzushio: error: ") and "ended with status" in line
    assert not [text for text in warnings if not text.startswith("uzushio: warning: ")]
    assert no_ranks_left()


def test_a_case_without_tunables_is_refused_in_one_sentence(
    uzushio: Run, waves: Callable[..., Path], case: Path, tmp_path: Path
) -> None:
    def refused(*arguments: object) -> str:
        done = uzushio("tune", *arguments)
        assert done.returncode == 1 and done.stdout == ""
        (line,) = done.stderr.strip().splitlines()
        return line

    wrong = refused(waves(), "--set", "blocking.steps=24", "--set", "blocking.rows=8")
    assert "blocks of 24 steps need tiles of 24 rows, not 8" in wrong
    assert refused(case).endswith(
        "'heat' has no tunable parameters, so there is nothing to tune "
        "(tunable: channel, phasefield, thermal, waves)."
    )
    assert "--budget soon: give a number of trials" in refused(waves(), "--budget", "soon")
    assert "--budget 0: give" in refused(waves(), "--budget", "0")
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned/notes.txt").write_text("keep")
    assert "holds notes.txt" in refused(waves(), "--out", "tuned", "--overwrite")
    assert (tmp_path / "tuned/notes.txt").read_text() == "keep"


def test_an_assimilation_is_tuned_and_uses_it(
    uzushio: Run, waves: Callable[..., Path], tmp_path: Path
) -> None:
    case = Path(__file__).parents[2] / "examples/cases/phasefield.yaml"
    small = ("--set", "grid.nx=64", "--set", "grid.ny=64", "--set", "time.steps=24")
    small = (*small, "--set", "observations.last=24")
    short = ("--budget", 4, "--repetitions", 2)
    done = uzushio("tune", case, "--ranks", 2, *short, "--out", "here", *small, timeout=240)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "here/tuning.json").read_text())
    assert 2 in {trial["values"]["blocking.oblt"] for trial in result["trials"]}
    assert not any(trial["failure"] for trial in result["trials"] + result["random_trials"])

    def assimilated(name: str, *more: object) -> tuple[str, float]:
        quick = (
            "--set",
            "optimiser.iterations=2",
            "--set",
            "uncertainty.iterations=0",
            "--set",
            "optimiser.candidates=2",  # by default one for each group, on which the result depends
            "--no-figures",
        )
        run = uzushio(
            "assimilate", case, "--ranks", 2, *small, *quick, "--out", name, *more, timeout=120
        )
        assert run.returncode == 0, run.stderr
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        return run.stdout, summary["results"]["J"]

    text, tuned = assimilated("tuned")
    assert "Tuned values are used: " in text
    text, plain = assimilated("plain", "--no-tuned")
    assert "uned" not in text.replace("--no-tuned", "")
    assert tuned == plain


def test_tuning_inside_an_mpi_job_is_refused(
    uzushio: Run, waves: Callable[..., Path], job_environment: dict[str, str]
) -> None:
    job_environment["OMPI_COMM_WORLD_SIZE"] = "2"
    try:
        done = uzushio("tune", waves())
    finally:
        del job_environment["OMPI_COMM_WORLD_SIZE"]
    assert done.returncode == 1 and "start it without mpiexec" in done.stderr
