"""Every error ends all ranks soon, with one message and a non-zero status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Run

from uzushio._base.store.checkpoint import newest


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_a_case_error_is_printed_once(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case, "--ranks", 2, "--set", "grid.nzz=3")
    assert done.returncode == 1
    assert lines(done.stderr) == [
        "uzushio: error: --set grid.nzz: grid.nzz is not known; did you mean 'nz'? "
        "(allowed: nx, ny, nz)"
    ]


def test_debug_adds_the_traceback(uzushio: Run, case: Path) -> None:
    assert "Traceback" in uzushio("run", case, "--debug", "--set", "grid.nzz=3").stderr


def test_ranks_that_do_not_fit_are_refused(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case, "--ranks", 2, "--set", "grid={nz: 1, ny: 1}")
    assert done.returncode == 1
    assert "ranks do not fit the grid" in done.stderr
    assert len(lines(done.stderr)) == 1


def test_contradicting_numbers_of_ranks_are_refused(mpi_run: Run, case: Path) -> None:
    done = mpi_run(2, ["-m", "uzushio", "run", str(case), "--ranks", "3"])
    assert done.returncode != 0
    assert "--ranks 3 was given inside an MPI job of 2 ranks" in done.stderr


def test_a_launcher_of_another_mpi_is_refused(
    uzushio: Run, case: Path, tmp_path: Path, job_environment: dict[str, str]
) -> None:
    job_environment["PMI_SIZE"] = "4"
    try:
        done = uzushio("run", case)
    finally:
        del job_environment["PMI_SIZE"]
    assert done.returncode == 1
    assert "the launcher started 4 ranks, but MPI has 1" in done.stderr
    assert len(lines(done.stderr)) == 1
    assert not (tmp_path / "run").exists()


def test_it_runs_inside_the_users_own_mpiexec(mpi_run: Run, case: Path, tmp_path: Path) -> None:
    done = mpi_run(2, ["-m", "uzushio", "run", str(case)])
    assert done.returncode == 0, done.stderr
    assert '"ranks": 2' in (tmp_path / "run/summary.json").read_text()


def test_a_diverged_solution_keeps_the_last_good_checkpoint(
    uzushio: Run, case: Path, tmp_path: Path
) -> None:
    fault = ("--set", "fault={kind: diverge, step: 8}")
    done = uzushio("run", case, "--ranks", 2, *fault)
    assert done.returncode == 1
    assert lines(done.stderr) == [
        "uzushio: error: step 8: NaN at (0, 0, 0), use a smaller dt. "
        "The last good checkpoint is kept: run/checkpoints/step-00000005."
    ]
    assert newest(tmp_path / "run") == tmp_path / "run/checkpoints/step-00000005"


def test_a_state_that_diverged_at_the_end_keeps_the_last_good_checkpoint(
    uzushio: Run, case: Path
) -> None:
    done = uzushio("run", case, "--set", "fault={kind: diverge-at-end}")
    assert done.returncode == 1
    assert lines(done.stderr) == [
        "uzushio: error: step 12: NaN in the state to be stored. "
        "The last good checkpoint is kept: run/checkpoints/step-00000010."
    ]


def test_an_error_on_one_rank_ends_all(uzushio: Run, case: Path) -> None:
    fault = ("--set", "fault={kind: raise, step: 3, rank: 2}")
    done = uzushio("run", case, "--ranks", 3, *fault, timeout=30)
    assert done.returncode == 1
    assert lines(done.stderr)[0].startswith("rank 2: Traceback")
    assert lines(done.stderr)[-1] == "ValueError: a mistake on rank 2"


def test_an_error_on_all_ranks_is_reported_once(uzushio: Run, case: Path) -> None:
    done = uzushio("run", case, "--ranks", 2, "--set", "fault={kind: set-up}", timeout=30)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1


def test_a_killed_rank_ends_the_job(uzushio: Run, case: Path) -> None:
    fault = ("--set", "fault={kind: kill, step: 3, rank: 1}")
    done = uzushio("run", case, "--ranks", 3, *fault, timeout=30)
    assert done.returncode == 128 + signal.SIGKILL
    assert "signal 9" in done.stderr


def test_another_run_in_the_folder_is_not_changed(uzushio: Run, case: Path, tmp_path: Path) -> None:
    assert uzushio("run", case).returncode == 0
    before = (tmp_path / "run/summary.json").read_text()
    done = uzushio("run", case, "--ranks", 2)
    assert done.returncode == 1
    assert "run holds another run" in done.stderr
    assert len(lines(done.stderr)) == 1
    assert (tmp_path / "run/summary.json").read_text() == before
    assert uzushio("run", case, "--ranks", 2, "--overwrite").returncode == 0


def test_the_users_own_case_file_is_never_replaced(uzushio: Run, case: Path) -> None:
    before = case.read_text()
    done = uzushio("run", case, "--out", ".", "--overwrite")
    assert done.returncode == 1
    assert "would be replaced" in done.stderr
    assert case.read_text() == before


def test_a_second_job_in_the_folder_is_refused(
    start: Callable[..., subprocess.Popen[str]], uzushio: Run, case: Path, tmp_path: Path
) -> None:
    slow = ("--set", "time.steps=100000", "--set", "fault.pause=0.05")
    job = start(sys.executable, "-m", "uzushio", "run", case, *slow)
    assert job.stdout is not None
    while "Wrote checkpoint" not in (line := job.stdout.readline()):
        assert line, job.communicate()
    for more in ((), ("--overwrite",), ("--restart", "run")):
        done = uzushio("run", case, *more)
        assert done.returncode == 1
        assert f"process {job.pid}, since" in done.stderr
        assert len(lines(done.stderr)) == 1
        assert newest(tmp_path / "run") is not None
    job.kill()  # its remaining files do not prevent a restart
    job.communicate()
    few = ("--set", "fault.pause=0", "--set", "time.steps=5000", "--set", "checkpoint.every=null")
    for more in (("--restart", "run", *few), ("--overwrite",)):
        again = uzushio("run", case, *more)
        assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("more", [(), ("--ranks", 2)])
def test_a_run_without_readers_continues(
    start_uzushio: Callable[..., subprocess.Popen[str]],
    case: Path,
    tmp_path: Path,
    more: tuple[object, ...],
) -> None:
    slow = ("--set", "output.monitor_every=0.01", "--set", "fault.pause=0.05")
    job = start_uzushio("run", case, *slow, *more)
    assert job.stdout is not None and job.stderr is not None
    assert "step 1" in job.stdout.readline()
    job.stdout.close()
    errors = job.stderr.read()
    assert job.wait(30) == 0, errors
    assert errors == ""
    assert (tmp_path / "run/summary.json").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that holds one checkpoint of `BIG` and a part of a second one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=928k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


#: 12 planes of 32 KiB, which fill 36 KiB each.
BIG = ("--set", "grid={nx: 64, ny: 64, nz: 12}")


@pytest.mark.parametrize("taken", [0, 150_000])
def test_a_full_disk_keeps_the_old_checkpoint(
    uzushio: Run, case: Path, small_disk: Path, taken: int
) -> None:
    (small_disk / "other").write_bytes(b"x" * taken)
    done = uzushio("run", case, "--ranks", 4, "--out", "disk", *BIG)
    assert done.returncode == 1
    assert len(lines(done.stderr)) == 1
    assert "the checkpoint of step 10 (393,312 bytes) cannot be written into disk" in done.stderr
    reason = "bytes are free there" if taken else "No space left on device"
    assert reason in done.stderr
    there = [path.name for path in (small_disk / "checkpoints").iterdir()]
    assert there == ["step-00000005"]
    (small_disk / "other").unlink()
    done = uzushio("run", case, "--restart", "disk", "--out", "elsewhere", *BIG)
    assert done.returncode == 0, done.stderr


def test_a_limit_of_file_size_is_reported(uzushio: Run, case: Path, tmp_path: Path) -> None:
    done = uzushio("run", case, *BIG, largest_file=20_000)
    assert done.returncode == 1
    assert "File too large; raise the limit" in done.stderr
    assert newest(tmp_path / "run") is None
    assert list((tmp_path / "run/checkpoints").iterdir()) == []


NO_MEMORY = """
import numpy as np
from pathlib import Path
from mpi4py import MPI
from uzushio._base.store import checkpoint
from uzushio._base.store import distribution
from uzushio._base.store.array import DistributedArray, State

comm = MPI.COMM_WORLD
values = np.zeros((6, 4, 4))[:, ::2]

def nothing(*_):
    raise MemoryError("no memory for a test")

if comm.rank == 1:
    distribution.Scratch = nothing
array = DistributedArray((6, 4, 4), values.dtype, [((0, 2 * comm.rank, 0), values)])
try:
    checkpoint.write(
        Path("run"), checkpoint.Snapshot("toy", "", 1, 1.0, State({"u": array}, {})), 2, comm
    )
except (MemoryError, RuntimeError) as error:
    print(f"rank {comm.rank}: {type(error).__name__}", flush=True)
"""


def test_a_sender_without_memory_leaves_no_writer_waiting(mpi_run: Run, tmp_path: Path) -> None:
    done = mpi_run(2, ["-c", NO_MEMORY], timeout=30)
    assert done.returncode == 0, done.stderr
    assert sorted(lines(done.stdout)) == [
        "rank 0: MemoryShortageError",
        "rank 1: MemoryShortageError",
    ]
    assert newest(tmp_path / "run") is None
