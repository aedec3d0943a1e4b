"""The command line's own words."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_server import CommandServer
from conftest import TESTS, Run

from uzushio import __version__
from uzushio._base.terminal import tell


def test_check_prints_the_needs_of_a_case(uzushio: Run, case: Path, tmp_path: Path) -> None:
    done = uzushio("check", case, "--ranks", 4)
    assert done.returncode == 0, done.stderr
    assert "is valid: a decaying wave" in done.stdout
    assert "8 x 12 x 10 points on 2 x 2 ranks" in done.stdout
    # 6 x 5 x 8 values of 8 bytes, twice.
    assert "memory per rank: 3.84 kB (2 arrays of the size of a field)" in done.stdout
    row = next(line for line in done.stdout.splitlines() if "halo" in line)
    assert row.replace("│", " ").split() == ["halo", "4", "1.408", "kB"]
    assert "note: the box is periodic" in done.stdout
    assert not (tmp_path / "run").exists()


def test_check_reads_a_case_from_a_pipe() -> None:
    """A pipe has its content once."""
    command = [sys.executable, "-m", "uzushio", "check", "/dev/stdin"]
    text = (TESTS.parent / "examples/cases/cavity.yaml").read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "is valid: Lid-driven cavity" in done.stdout


def test_check_refuses_a_bad_case_and_ranks_that_do_not_fit(uzushio: Run, case: Path) -> None:
    bad = uzushio("check", case, "--set", "grid.nz=many")
    assert bad.returncode == 1
    assert bad.stderr == (
        "uzushio: error: --set grid.nz: grid.nz: got 'many', must be an integer\n"
    )
    assert uzushio("check", case, "--ranks", 1000).returncode == 1


@pytest.mark.parametrize(
    ("pipeline", "complaint"),
    [
        ("actions: [{count: {field: u}", "pipeline.yaml"),
        ("actions:\n- {cuont: {field: u}}\n", "pipeline.yaml:2"),
        ("actions:\n- {statistics: {fields: [uu]}}\n", "'uu'"),
    ],
)
def test_check_and_run_refuse_a_broken_pipeline_before_anything_is_removed(
    uzushio: Run, case: Path, tmp_path: Path, pipeline: str, complaint: str
) -> None:
    (tmp_path / "pipeline.yaml").write_text(pipeline)
    broken = ("--set", "publish={engine: inproc, pipeline: pipeline.yaml}")
    checked = uzushio("check", case, *broken)
    assert checked.returncode == 1
    assert complaint in checked.stderr and "Traceback" not in checked.stderr
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.uzushio-run").write_text("{}")
    (tmp_path / "run/summary.json").write_text("{}")
    refused = uzushio("run", case, *broken, "--overwrite")
    assert (refused.returncode, refused.stderr) == (1, checked.stderr)
    assert (tmp_path / "run/summary.json").exists()


def test_check_refuses_a_field_and_a_function_that_cannot_be_used(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    done = uzushio("check", case, "--set", "publish.fields=[v]")
    assert done.returncode == 1 and "publish.fields: 'v'" in done.stderr
    (tmp_path / "look.py").write_text("def on_step(step:\n")
    done = uzushio("check", case, "--set", "publish={engine: inproc, python: look.py}")
    assert done.returncode == 1 and "publish.python: look.py, line 1: SyntaxError" in done.stderr


def test_a_case_is_checked_from_any_folder(uzushio: Run) -> None:
    done = uzushio("check", TESTS.parent / "examples/cases/heated-room.yaml")
    assert done.returncode == 0, done.stderr


def test_a_restart_from_another_folder_finds_the_files_of_the_run(
    command_server: CommandServer, job_environment: dict[str, str], case: Path, tmp_path: Path
) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for name in ("seen", "set"):
        text = (
            "def on_step(step):\n    import pathlib\n    pathlib.Path(__file__ + '.seen').touch()\n"
        )
        (tmp_path / f"cases/{name}.py").write_text(text)
    publish = "publish: {engine: inproc, python: seen.py}\n"
    (tmp_path / "cases/case.yaml").write_text(case.read_text() + publish)

    def at(folder: str, *words: str) -> None:
        for seen in tmp_path.glob("cases/*.seen"):
            seen.unlink()
        started = command_server.start(["run", *words], tmp_path / folder, job_environment, None)
        status, _, errors = started.wait(60)
        assert status == 0, errors

    more = ("--set", "time.steps=14")
    at(".", "cases/case.yaml", "--out", "run")
    assert (tmp_path / "cases/seen.py.seen").is_file()
    at("elsewhere", "--restart", "../run", *more)
    assert (tmp_path / "cases/seen.py.seen").is_file()
    at(".", "cases/case.yaml", "--out", "other", "--set", "publish.python=cases/set.py")
    assert (tmp_path / "cases/set.py.seen").is_file()
    at("elsewhere", "../cases/case.yaml", "--restart", "../other", "--out", "../other", *more)
    assert (tmp_path / "cases/set.py.seen").is_file()


def test_a_run_ends_well_where_its_output_cannot_encode_a_dash(
    case: Path, tmp_path: Path, job_environment: dict[str, str]
) -> None:
    case.write_text(case.read_text().replace("a decaying wave", "a wave – ū"))
    done = subprocess.run(
        [sys.executable, "-m", "uzushio", "check", case],
        cwd=tmp_path,
        env=job_environment | {"PYTHONIOENCODING": "ascii:strict"},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"a wave ? ?" in done.stdout


def test_a_line_has_replacements_for_what_a_stream_cannot_encode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "latin-1", errors="strict"))
    tell("μ – ü")
    assert raw.getvalue() == "? ? ü\n".encode("latin-1")


def test_the_version_and_the_help_are_printed(uzushio: Run) -> None:
    assert uzushio("--version").stdout == f"uzushio {__version__}\n"
    text = uzushio("run", "--help").stdout
    for option in (
        "--ranks",
        "--set",
        "--restart",
        "--restart-fallback",
        "--reset-statistics",
        "--out",
        "--overwrite",
    ):
        assert option in text


@pytest.mark.parametrize("option", ["--reset-statistics", "--restart-fallback"])
def test_options_of_a_restart_are_refused_without_one(
    uzushio: Run, case: Path, tmp_path: Path, option: str
) -> None:
    done = uzushio("run", case, option)
    assert done.returncode == 1
    assert done.stderr == (
        f"uzushio: error: {option} is for a restart: add --restart DIR, or leave it out.\n"
    )
    assert not (tmp_path / "run").exists()


def test_a_short_run_prints_no_table_of_its_sections(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case)
    summary = json.loads((case.parent / "run/summary.json").read_text())
    is_short = summary["sections"]["seconds"] < 10.0  # as it is not on a machine that is busy
    assert is_short != ("max/mean" in done.stdout)


def test_quiet_prints_nothing(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_demo_removes_nothing_that_no_demo_wrote(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    dry = ["make", "-n", "--no-print-directory"]
    command = [*dry, "demo", "ENGINE=inproc", f"ARGS=--out {tmp_path}"]
    shown = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=True)
    demo = shown.stdout.splitlines()[-1].rpartition("&& python ")[2].split()
    done = subprocess.run(
        [sys.executable, *demo], cwd=TESTS.parent, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "holds files that no demo wrote" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_config_prints_where_headers_and_library_are(uzushio: Run) -> None:
    (prefix,) = uzushio("config", "--prefix").stdout.split()
    done = uzushio("config", "--cflags", "--cxxflags", "--fortran-source", "--libs")
    include = f"{prefix}/include"
    assert done.stdout.split() == [
        *(f"-I{include}", "-std=c++20", f"-I{include}", f"-I{include}/uzushio/cpp"),
        f"{include}/uzushio/uzushio.f90",
        *(f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-luzushio"),
    ]
    for file in ("uzushio/uzushio.h", "uzushio/uzushio.f90", "uzushio/cpp/staging/writer.hpp"):
        assert (Path(include) / file).is_file()
    nothing = uzushio("config")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "--cflags" in nothing.stderr
