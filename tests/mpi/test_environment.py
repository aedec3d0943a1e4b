"""A run does not depend on variables and streams that a batch system leaves unset or closed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import wait

Start = Callable[..., subprocess.Popen[str]]
UZUSHIO = (sys.executable, "-m", "uzushio")


@pytest.mark.parametrize(
    "settings", [("-u", "HOME"), ("OMP_NUM_THREADS=2,1",), ("OMP_NUM_THREADS=128",)]
)
def test_a_run_ends_well_without_a_home_folder_and_with_any_number_of_threads(
    start: Start, case: Path, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    done = wait(start("env", *settings, *UZUSHIO, "run", case), 60)
    assert done.returncode == 0, done.stderr
    errors = done.stderr.splitlines()
    assert [
        line for line in errors if "threads a rank, and the solver heat uses 1" not in line
    ] == []
    assert (tmp_path / "run/statistics.zarr").is_dir()
    assert (tmp_path / "run/summary.json").is_file()


def test_a_tilde_that_the_shell_left_is_the_home_folder(
    start: Start, case: Path, tmp_path: Path
) -> None:
    job = start("env", f"HOME={tmp_path}/home", *UZUSHIO, "run", "~/../case.yaml", "--out=~/x")
    (tmp_path / "home").mkdir()
    done = wait(job, 60)
    assert (done.returncode, done.stderr) == (0, "")
    written = {path.name for path in (tmp_path / "home/x").iterdir()}
    assert {"checkpoints", "statistics.zarr", "figures", "summary.json"} <= written
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize("more", [(), ("--ranks", 2)])
def test_a_closed_output_does_not_end_the_run(
    start: Start, case: Path, tmp_path: Path, more: tuple[object, ...]
) -> None:
    closed = ("sh", "-c", 'exec "$0" "$@" >&-')
    done = wait(start(*closed, *UZUSHIO, "run", case, *more), 60)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "run/summary.json").is_file()


def test_a_full_disk_below_the_output_gets_one_sentence(start: Start, case: Path) -> None:
    done = wait(
        start(
            "sh", "-c", 'unset PYTHONUNBUFFERED; exec "$0" "$@" >/dev/full', *UZUSHIO, "check", case
        ),
        60,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "uzushio: error: the output cannot be written (No space left on device).\n"
    )


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("command", ["run", "check"])
def test_ctrl_c_while_modules_are_imported_gets_one_sentence(
    start: Start, case: Path, tmp_path: Path, command: str
) -> None:
    rng = random.Random(17)
    for _ in range(4):
        job = start(*UZUSHIO, command, case, "--set", "fault.pause=0.5")
        deadline = time.monotonic() + 20
        # Python itself catches SIGINT from its start, and no other signal.
        while not catches(job.pid, signal.SIGTERM):
            assert time.monotonic() < deadline, job.poll()
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.2))
        os.kill(job.pid, signal.SIGINT)
        done = wait(job, 20)
        assert done.returncode == 128 + signal.SIGINT
        assert done.stdout == "Stopped before anything was done.\n"
        assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["case.yaml"]
