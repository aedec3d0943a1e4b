"""Run the real command line and real MPI jobs, with the tests' heat solver installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

# How long an example takes is no property of the code on a machine that does other work too.
hypothesis.settings.register_profile("uzushio", deadline=None)
hypothesis.settings.load_profile("uzushio")

TESTS = Path(__file__).parent
CASE = """\
solver: heat
title: a decaying wave
time: {steps: 12, dt: 0.05}
statistics: {start: 0.1, every: 3}
checkpoint: {every: 5, keep: 2}
output: {folder: run}
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def job_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a job: the heat solver is found by its entry point, as a package's is."""
    site = tmp_path_factory.mktemp("site")
    info = site / "heat_solver-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: heat-solver\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[uzushio.solvers]\nheat = heat_solver:HeatSolver\n")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PMIX_", "OMPI_COMM_", "UZUSHIO_"))
    }
    path = [str(site), str(TESTS), *filter(None, [environment.get("PYTHONPATH")])]
    # Killed jobs leave sockets and memory behind. The names of sockets have to be short.
    sockets = tempfile.mkdtemp(prefix="uz-")
    memory = (
        tempfile.mkdtemp(prefix="uz-", dir="/dev/shm") if Path("/dev/shm").is_dir() else sockets
    )
    yield environment | {
        "TMPDIR": sockets,
        "OMPI_MCA_btl_sm_backing_directory": memory,
        "PYTHONPATH": os.pathsep.join(path),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_osc": "^ucx",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
    }
    shutil.rmtree(sockets, ignore_errors=True)
    shutil.rmtree(memory, ignore_errors=True)


def wait(job: subprocess.Popen[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Wait for a job; a job that hangs is killed and fails the test."""
    try:
        out, errors = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        out, errors = job.communicate()
        pytest.fail(f"still running after {timeout} s:\n{out}\n{errors}")
    return subprocess.CompletedProcess(job.args, job.returncode, out, errors)


@pytest.fixture
def start(job_environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., object]]:
    """Start a command in the test's folder; whatever is left of it is killed afterwards."""
    jobs: list[subprocess.Popen[str]] = []

    def go(*command: object, **more: object) -> subprocess.Popen[str]:
        job = subprocess.Popen(
            [str(word) for word in command],
            cwd=tmp_path,
            env=job_environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **more,
        )
        jobs.append(job)
        return job

    yield go
    for job in jobs:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


@pytest.fixture
def uzushio(start: Callable[..., subprocess.Popen[str]]) -> Run:
    """Run `uzushio ARGUMENTS` to its end."""

    def go(
        *arguments: object, timeout: float = 60, **more: object
    ) -> subprocess.CompletedProcess[str]:
        return wait(start(sys.executable, "-m", "uzushio", *arguments, **more), timeout)

    return go


@pytest.fixture
def mpi_run(start: Callable[..., subprocess.Popen[str]]) -> Run:
    """Run a Python script, or a list of arguments to Python, on `n` ranks to its end."""

    def go(n: int, script_or_args: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        arguments = script_or_args if isinstance(script_or_args, list) else [script_or_args]
        mpiexec = Path(sys.executable).with_name("mpiexec")
        launcher = [mpiexec if mpiexec.exists() else "mpiexec", "-n", n]
        if n > len(os.sched_getaffinity(0)):
            launcher += ["--oversubscribe", "--bind-to", "none"]
        return wait(start(*launcher, sys.executable, *arguments), timeout)

    return go


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case file of the heat solver in the test's folder."""
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    return path
