"""Runs of solvers use what `uzushio tune` found for them, and only that."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Run

from uzushio.tuning.declared import declare
from uzushio.tuning.result_cache import TuningResult, store_result
from uzushio.tuning.subject import Value

CASES = Path(__file__).parents[2] / "examples/cases"
CHANNEL = (
    CASES / "channel.yaml",
    *("--set", "grid.nx=16", "--set", "grid.ny=16", "--set", "grid.nz=16"),
    *("--set", "publish=null"),
)
PLATES = (
    CASES / "rayleigh-benard.yaml",
    *("--set", "grid.x.cells=16", "--set", "grid.y.cells=12", "--set", "grid.z.cells=10"),
)
Solved = Callable[..., tuple[str, dict[str, Any]]]


@pytest.fixture
def solved(uzushio: Run, tmp_path: Path, job_environment: dict[str, str]) -> Solved:
    """Run a case for four steps on two ranks; return its output and the results of its summary."""
    job_environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def run(name: str, *more: object) -> tuple[str, dict[str, Any]]:
        words = ("--set", "time.steps=4", "--ranks", 2, "--no-figures", "--out", name)
        done = uzushio("run", *more, *words, timeout=120)
        assert done.returncode == 0, done.stderr
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        return done.stdout, summary["results"]

    return run


def settings(*decomposition: str) -> tuple[str, ...]:
    """Return options that set keys of the section `decomposition`."""
    return tuple(
        word for setting in decomposition for word in ("--set", f"decomposition.{setting}")
    )


def store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: tuple[object, ...], **values: Value
) -> dict[str, Value]:
    """Store values as those tuned for a case on two ranks."""
    file, *words = case
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as in `job_environment`
    subject = declare(Path(str(file)), [str(word) for word in words if word != "--set"], 2).subject
    point = subject.default() | {name.replace("__", "."): value for name, value in values.items()}
    store_result(subject, TuningResult(point, 1.0, 1.3, "TPE", "2026-11-28 12:00", "case", "0.1.0"))
    return point


def test_a_channel_is_tuned_and_its_runs_use_it(
    uzushio: Run, solved: Solved, tmp_path: Path
) -> None:
    short = ("--ranks", 2, "--budget", 6, "--repetitions", 2, "--no-baseline", "--out", "here")
    done = uzushio("tune", *CHANNEL, *short, timeout=240)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "here/tuning.json").read_text())
    assert not any(trial["failure"] for trial in result["trials"] + result["random_trials"])
    assert result["possible"] == 6 and result["steps"] >= 1
    chosen = result["chosen"]["values"]
    text, _ = solved("tuned", *CHANNEL)
    assert "Tuned values are used: " in text
    case = yaml.safe_load((tmp_path / "tuned/case.yaml").read_text())
    for name, value in chosen.items():
        section, _, key = name.partition(".")
        assert case[section][key] == value


def test_overlapped_messages_of_a_tuned_channel_give_the_same_bits(
    uzushio: Run, solved: Solved, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = {"decomposition__py": 2, "decomposition__pz": 1, "numerics__scheme": "pipelined"}
    store(monkeypatch, tmp_path, CHANNEL, **shared, numerics__transposes="overlapped")
    text, tuned = solved("tuned", *CHANNEL)
    assert "Tuned values are used: py 2, pz 1, scheme pipelined, transposes overlapped" in text
    given = (*settings("py=2", "pz=1"), "--set", "numerics.transposes=messages")
    text, stated = solved("stated", *CHANNEL, *given)
    assert "uned values" not in text  # nothing is left to choose
    text, plain = solved("plain", *CHANNEL, *given, "--no-tuned")
    assert "uned values" not in text
    flow = ("bulk_velocity", "wall_shear", "kinetic_energy")
    for name in flow:
        assert tuned[name] == stated[name] == plain[name]

    # On another number of ranks the choice is that of the case again.
    done = uzushio("run", "--restart", "tuned", "--ranks", 1, "--set", "time.steps=5", timeout=60)
    assert done.returncode == 0, done.stderr
    case = yaml.safe_load((tmp_path / "tuned/case.yaml").read_text())
    assert case["numerics"]["transposes"] == "auto" and case["decomposition"]["py"] is None


def test_blocks_and_solver_of_a_tuned_thermal_flow_change_rounding_alone(
    solved: Solved, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocks = {"decomposition__px": 1, "decomposition__py": 2, "decomposition__pz": 1}
    store(monkeypatch, tmp_path, PLATES, **blocks, numerics__solver="fft/partitioned")
    text, tuned = solved("tuned", *PLATES)
    assert "Tuned values are used: px 1, py 2, pz 1, solver fft/partitioned" in text
    text, plain = solved("plain", *PLATES, "--no-tuned")
    assert tuned["kinetic_energy"] == pytest.approx(plain["kinetic_energy"], rel=1e-10)
    direct = settings("px=1", "py=2", "pz=1")
    _, stated = solved("stated", *PLATES, *direct, "--set", "numerics.solver=fft/partitioned")
    assert stated["kinetic_energy"] == tuned["kinetic_energy"]


def test_a_damaged_file_of_tuned_values_does_not_stop_a_run(
    solved: Solved, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store(monkeypatch, tmp_path, CHANNEL)
    (file,) = (tmp_path / "cache/uzushio").glob("tuned-channel-2-*.json")
    file.write_text("{")
    text, _ = solved("run", *CHANNEL)
    assert text.count("Tuned values are not used: ") == 1
    assert f"{file} is damaged or of another version" in text


def test_other_blocks_than_ranks_are_refused_in_one_sentence(uzushio: Run) -> None:
    given = settings("px=2", "py=2", "pz=1")
    done = uzushio("run", *PLATES, *given, "--ranks", 2)
    assert done.returncode == 1
    assert "2 x 2 x 1 = 4 does not have the 2 ranks of the job; start 4 ranks" in done.stderr
