"""Asked to stop, a run finishes its step and writes a checkpoint; killed, it keeps the last one."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_server import CommandServer
from conftest import Run, family, wait
from heat_solver import exact
from mpi4py import MPI

from uzushio import staging
from uzushio._base.store import checkpoint

Start = Callable[..., subprocess.Popen[str]]
SLOW = ("--set", "time.steps=100000", "--set", "fault.pause=0.05", "--set", "checkpoint.every=null")
SHAPE = (10, 12, 8)


def first_line(job: subprocess.Popen[str]) -> str:
    assert job.stdout is not None
    return job.stdout.readline()


SIGNALS = [
    *((1, number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)),
    *((2, number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)),
]


@pytest.mark.parametrize(("ranks", "number"), SIGNALS)
def test_a_signal_finishes_the_step_and_writes_a_checkpoint(
    start: Start, uzushio: Run, case: Path, tmp_path: Path, ranks: int, number: signal.Signals
) -> None:
    more = ("--ranks", ranks) if ranks > 1 else ()
    job = start(sys.executable, "-m", "uzushio", "run", case, *more, *SLOW)
    assert "step 1" in first_line(job)
    os.killpg(job.pid, number)  # to the process group, like Ctrl-C
    done = wait(job, 20)
    assert done.returncode == 128 + number, done.stderr
    assert done.stderr == ""
    newest = checkpoint.newest(tmp_path / "run")
    assert newest is not None
    step = checkpoint.step_of(newest)
    ranks_again = f" --ranks {ranks}" if ranks > 1 else ""
    again = f"continue with: uzushio run{ranks_again} --restart run\n"
    assert f"Stopped after step {step}, as requested; {again}" in done.stdout
    stored = checkpoint.open_checkpoint(newest, MPI.COMM_SELF).state()
    np.testing.assert_allclose(
        stored.read("u", (0, 0, 0), SHAPE), exact(SHAPE, 0.05, step or 0), rtol=0, atol=1e-13
    )
    again = uzushio("run", case, "--restart", "run", "--set", f"time.steps={(step or 0) + 2}")
    assert again.returncode == 0, again.stderr


WAITS = {
    "for readers": ("wait_for_readers=1", "wait_limit=60", "queue.on_timeout=fail"),
    "for room": ("queue.policy=block", "queue.depth=1", "queue.time_limit=60"),
}


@pytest.mark.parametrize("wait_", WAITS)
@pytest.mark.parametrize(("ranks", "number"), [(1, signal.SIGINT), (2, signal.SIGTERM)])
def test_a_signal_ends_a_wait_for_readers_at_once_with_a_checkpoint(
    start: Start, case: Path, tmp_path: Path, ranks: int, number: signal.Signals, wait_: str
) -> None:
    case.write_text(case.read_text() + "publish: {engine: tcp}\n")
    more = [word for setting in WAITS[wait_] for word in ("--set", f"publish.{setting}")]
    words = ("run", case, *(("--ranks", ranks) if ranks > 1 else ()), *SLOW, *more)
    job = start(sys.executable, "-m", "uzushio", *words)
    with contextlib.ExitStack() as held:
        if wait_ == "for room":
            contact = tmp_path / "run/heat.contact"
            reader = held.enter_context(staging.attach(contact, attach_limit=60.0))
            assert reader.next(60.0) is not None  # held, as by a reader that has stopped
        assert job.stderr is not None
        line = job.stderr.readline()  # after two seconds
        began = time.monotonic()
        os.killpg(job.pid, number)
        done = wait(job, 20)
        assert time.monotonic() - began < 8.0, "it waited for its limit"
    assert ("waits for 1 reader" if wait_ == "for readers" else "to release a step") in line
    assert done.returncode == 128 + number, done.stderr
    newest = checkpoint.newest(tmp_path / "run")
    assert newest is not None
    step = checkpoint.step_of(newest)
    assert step == (1 if wait_ == "for readers" else step)
    assert f"Stopped after step {step}, as requested; continue with: uzushio run " in done.stdout
    assert not (tmp_path / "run/heat.contact").exists()


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_run_ends_it_with_one_sentence(
    start: Start, tmp_path: Path, ranks: int, number: signal.Signals
) -> None:
    case = tmp_path / "case.yaml"
    os.mkfifo(case)  # without a writer: the ranks wait for their case
    more = ("--ranks", ranks) if ranks > 1 else ()
    job = start(sys.executable, "-m", "uzushio", "run", case, *more)
    deadline = time.monotonic() + 20
    # Opened for reading by the ranks, it can be opened for writing without waiting.
    while (writer := opened(case)) is None:
        assert time.monotonic() < deadline, job.poll()
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(job.pid, number)
    done = wait(job, 20)
    os.close(writer)
    assert done.returncode == 128 + number, done.stderr
    assert done.stdout == "Stopped before the first step; nothing was written.\n"
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["case.yaml"]


def test_a_signal_while_the_ranks_start_ends_them_with_one_sentence(
    start: Start, case: Path, tmp_path: Path
) -> None:
    job = start(sys.executable, "-m", "uzushio", "run", case, "--ranks", 2)
    deadline = time.monotonic() + 20
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children")
    # The launcher exists, and does not handle signals yet.
    while not any(b"\0-n\0" in command_line(child) for child in children.read_text().split()):
        assert time.monotonic() < deadline, job.poll()
    job.send_signal(signal.SIGINT)
    done = wait(job, 20)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")
    assert done.stdout == "Stopped before the first step; nothing was written.\n"
    assert not (tmp_path / "run").exists()


def command_line(pid: str | int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_signal_to_one_rank_before_the_run_is_reported(start: Start, tmp_path: Path) -> None:
    case = tmp_path / "case.yaml"
    os.mkfifo(case)  # without a writer: the ranks wait for their case
    job = start(sys.executable, "-m", "uzushio", "run", case, "--ranks", 2)
    deadline = time.monotonic() + 20
    while (writer := opened(case)) is None:
        assert time.monotonic() < deadline, job.poll()
        time.sleep(0.05)
    ranks = [pid for pid in family(job.pid) if b"\0PMIX_RANK=1\0" in environment_of(pid)]
    os.kill(ranks[0], signal.SIGTERM)
    done = wait(job, 20)
    os.close(writer)
    assert done.returncode == 128 + signal.SIGTERM
    sentence = "rank 1 received SIGTERM. Stopped before the first step; nothing was written."
    assert done.stderr == f"uzushio: {sentence}\n"


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def opened(fifo: Path) -> int | None:
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def test_a_second_signal_ends_the_run_at_once(start: Start, case: Path, tmp_path: Path) -> None:
    more = ("--ranks", 2, *SLOW, "--set", "fault.pause=3")
    job = start(sys.executable, "-m", "uzushio", "run", case, *more)
    assert "step 1" in first_line(job)
    began = time.monotonic()
    for _ in range(2):
        job.send_signal(signal.SIGINT)
        time.sleep(0.3)
    done = wait(job, 5)
    assert done.returncode == 128 + signal.SIGINT
    assert time.monotonic() - began < 2.5, "it waited for the end of the step"
    assert checkpoint.newest(tmp_path / "run") is None


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(("ranks", "rounds"), [(1, 15), (2, 5)])
def test_killed_at_random_moments_the_last_checkpoint_is_readable(
    command_server: CommandServer,
    job_environment: dict[str, str],
    case: Path,
    tmp_path: Path,
    ranks: int,
    rounds: int,
) -> None:
    """Each round restarts from the previous one, so that restarts are tested too."""
    rng, run, before = random.Random(20), tmp_path / "run", 0
    words = ["run", str(case), "--set", "time.steps=1000000", "--set", "checkpoint.every=1"]
    words += ["--ranks", str(ranks)] if ranks > 1 else []
    for _ in range(rounds):
        more = ["--restart", "run"] if before else []
        job = command_server.start([*words, *more], tmp_path, job_environment)
        deadline = time.monotonic() + 60
        while "Wrote checkpoint" not in job.out():
            assert time.monotonic() < deadline, job.wait(0)
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.1))
        pids = family(job.pid)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert job.wait(10)[0] == -signal.SIGKILL
        while not all(has_ended(pid) for pid in pids):
            time.sleep(0.01)
        restored = checkpoint.open_checkpoint(run, MPI.COMM_SELF)
        step = restored.manifest.step
        assert step > before
        np.testing.assert_allclose(
            restored.state().read("u", (0, 0, 0), SHAPE), exact(SHAPE, 0.05, step), atol=1e-12
        )
        before = step


@pytest.mark.parametrize("ranks", [1, 2])
def test_no_process_remains_when_the_launcher_is_killed(
    start: Start, case: Path, tmp_path: Path, ranks: int
) -> None:
    job = start(sys.executable, "-m", "uzushio", "run", case, "--ranks", ranks, *SLOW)
    first_line(job)
    pids = family(job.pid)
    assert len(pids) == 2 + ranks, job.communicate()
    job.kill()
    job.wait()
    end_soon(pids)


def test_no_rank_of_a_relay_remains_when_mpiexec_is_killed(start: Start, tmp_path: Path) -> None:
    """They wait for sockets, not in MPI, which would notify them."""
    ends = ["--from", tmp_path / "writer.contact", "--to", tmp_path / "here.contact"]
    job = start(sys.executable, "-m", "uzushio", "relay", *ends, "--ranks", 2)
    assert "Readers attach" in first_line(job)
    pids = family(job.pid)
    (mpiexec,) = (pid for pid in pids if sum(parent_of(process) == pid for process in pids) == 2)
    os.kill(mpiexec, signal.SIGKILL)
    end_soon(pids)
    assert job.wait(10) != 0


def end_soon(pids: list[int]) -> None:
    """Wait until all of them have ended."""
    deadline = time.monotonic() + 10
    while not all(has_ended(pid) for pid in pids):
        assert time.monotonic() < deadline, "ranks outlived the launcher"
        time.sleep(0.05)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
