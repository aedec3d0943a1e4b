"""Compositing from Python and C, and jobs that lose a rank."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, wait

JOB = Path(__file__).with_name("compositing_job.py")
ORDERS = Path(__file__).with_name("compositing_orders_job.py")
KILLED = Path(__file__).with_name("compositing_kill_job.py")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "compositing"
BINARIES = Path(sys.executable).parent


@pytest.mark.parametrize("ranks", [2, 5])
def test_pictures_of_numpy_arrays_equal_those_of_numpy(mpi_run: Run, ranks: int) -> None:
    done = mpi_run(ranks, JOB, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "all pictures are correct" in done.stdout


def test_sequences_of_pictures_are_correct_in_changing_orders(mpi_run: Run) -> None:
    done = mpi_run(9, [ORDERS, 32], timeout=200)
    assert done.returncode == 0, done.stderr
    assert "all pictures are correct on 1 2 3 4 5 6 7 8 9 ranks" in done.stdout


def launcher(ranks: int) -> list[object]:
    mpiexec = BINARIES / "mpiexec"
    return [
        mpiexec if mpiexec.exists() else "mpiexec",
        "-n",
        ranks,
        "--oversubscribe",
        "--bind-to",
        "none",
    ]


@pytest.mark.parametrize("algorithm", ["binary_swap", "hybrid(binary_swap)"])
def test_a_job_that_loses_a_rank_in_the_middle_of_a_picture_ends(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, algorithm: str
) -> None:
    job = start(*launcher(3), sys.executable, KILLED, algorithm, tmp_path)
    files = [tmp_path / f"{rank}.pid" for rank in range(3)]
    deadline = time.monotonic() + 60
    while not all(file.exists() for file in files):
        assert job.poll() is None, job.communicate()
        assert time.monotonic() < deadline, "the job does not start"
        time.sleep(0.02)
    pids = [int(file.read_text()) for file in files]
    os.kill(pids[1], signal.SIGKILL)
    done = wait(job, 60)
    assert done.returncode != 0
    assert re.search(r"signal.*9|Killed", done.stderr + done.stdout), done.stderr
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "ranks are still running"
        time.sleep(0.02)


def test_the_example_in_c_is_compiled_by_a_c_compiler_and_has_the_exact_picture(
    start: Callable[..., subprocess.Popen[str]], job_environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "source")
    path = os.pathsep.join([str(BINARIES), job_environment.get("PATH", os.defpath)])
    made = subprocess.run(
        ["make", "CFLAGS=-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror"],
        cwd=folder,
        env=job_environment | {"PATH": path, "LDFLAGS": ""},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert made.returncode == 0, made.stderr
    for ranks in (1, 3):
        done = wait(start(*launcher(ranks), folder / "haze"), 60)
        assert done.returncode == 0, done.stderr
        errors = [float(e) for e in re.findall(r"maximum error ([0-9.]+) of 255", done.stdout)]
        assert len(errors) == 2
        assert max(errors) < 1.2  # one rounding per slab and one of the picture
    assert (tmp_path / "haze1.ppm").stat().st_size == len("P6 320 240 255\n") + 3 * 320 * 240
