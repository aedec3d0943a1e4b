"""Run the real command line and real MPI jobs, with the tests' heat solver installed."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from warm_uzushio import Warm

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
    (info / "entry_points.txt").write_text(
        "[uzushio.solvers]\nheat = heat_solver:HeatSolver\n"
        "[uzushio.tunables]\nwaves = tuning_subjects:declare\n"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PMIX_", "OMPI_COMM_", "UZUSHIO_"))
        # Half of a short run is the compilation of what it imports, if nobody may keep that.
        and name != "PYTHONDONTWRITEBYTECODE"
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
        # Ranks share cores, with those of other jobs too: who waits lets others run. A run
        # on two ranks takes half as long on a machine that does other work.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
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
        # Of its own, because Open MPI tells jobs apart by 16 bits there (tools/own_memory).
        memory = "OMPI_MCA_btl_sm_backing_directory"
        job = subprocess.Popen(
            [str(word) for word in command],
            cwd=tmp_path,
            env=job_environment | {memory: tempfile.mkdtemp(dir=job_environment[memory])},
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
    # What a killed launcher leaves is in the way of a later one that gets its number.
    for left in Path(job_environment["TMPDIR"]).glob("ompi.[0-9]*"):
        if not Path("/proc", left.suffix[1:]).exists():
            shutil.rmtree(left, ignore_errors=True)


@pytest.fixture(scope="session")
def warm(job_environment: dict[str, str]) -> Iterator[Warm]:
    """What forks for `uzushio`: a command's imports take as long as what it does in most tests."""
    server = Warm(job_environment)
    yield server
    server.close()


@pytest.fixture
def uzushio(warm: Warm, job_environment: dict[str, str], tmp_path: Path) -> Run:
    """Run `uzushio ARGUMENTS` to its end in the test's folder."""

    def go(
        *arguments: object, timeout: float = 60, largest_file: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in arguments]
        started = warm.start(words, tmp_path, job_environment, largest_file)
        status, out, errors = started.wait(timeout)
        if status is None:
            pytest.fail(f"still running after {timeout} s:\n{out}\n{errors}")
        return subprocess.CompletedProcess(["uzushio", *words], status, out, errors)

    return go


@pytest.fixture
def mpi_run(start: Callable[..., subprocess.Popen[str]]) -> Run:
    """Run a Python script, or a list of arguments to Python, on `n` ranks to its end.

    A script that fails on one rank ends the job at once; `-m uzushio` does so itself.
    """

    def go(n: int, script_or_args: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        arguments = script_or_args if isinstance(script_or_args, list) else [script_or_args]
        if arguments[0] != "-m":
            arguments = ["-m", "mpi4py", *arguments]
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


class Side:
    """A process, or a job of several, that does its part of a staging test; see `staging_sides`."""

    def __init__(self, folder: Path, name: str, ranks: int, handle: Any) -> None:
        self.name, self.ranks, self.handle = name, ranks, handle
        self.errors = ""  #: what a command printed there, once it has ended
        self._folder = folder

    def said(self, rank: int = 0) -> list[tuple[str, Any]]:
        """All that a rank told so far: kinds and values."""
        log = self._folder / f"{self.name}.{rank}.log"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return [tuple(json.loads(line)) for line in lines if line.endswith("\n")]

    def values(self, kind: str, rank: int = 0) -> list[Any]:
        """What a rank told of a kind."""
        return [value for said, value in self.said(rank) if said == kind]

    def hear(self, kind: str, count: int = 1, limit: float = 60.0, rank: int = 0) -> Any:
        """Wait until a rank has told something of this kind so often, and return the last."""
        deadline = time.monotonic() + limit
        while len(values := self.values(kind, rank)) < count:
            if time.monotonic() > deadline:
                pytest.fail(f"no {kind} ({count}) within {limit} s: {self.account()}")
            time.sleep(0.005)
        return values[count - 1]

    def more(self, kind: str, count: int = 1, limit: float = 60.0, rank: int = 0) -> Any:
        """Wait until a rank has told so many more of this kind than it has now."""
        return self.hear(kind, len(self.values(kind, rank)) + count, limit, rank)

    def pids(self) -> list[int]:
        """Of all ranks; waits until they are there."""
        return [int(self.hear("pid", rank=rank)) for rank in range(self.ranks)]

    def signal(self, number: int, ranks: Iterable[int] | None = None) -> None:
        """Send a signal to ranks, all if none are named; who is to stop has stopped then."""
        pids = self.pids()
        chosen = [pids[rank] for rank in (range(self.ranks) if ranks is None else ranks)]
        for pid in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while number == signal.SIGSTOP and not all(map(_stopped, chosen)):
            time.sleep(0.001)

    def kill(self) -> None:
        """Kill all ranks at once, and wait until they are gone."""
        self.signal(signal.SIGKILL)
        self.ended()

    def ended(self, limit: float = 60.0) -> int:
        """Wait for the end, and return the status; what hangs fails the test."""
        if isinstance(self.handle, subprocess.Popen):
            done = wait(self.handle, limit)
            self.errors += done.stderr
            return done.returncode
        self.handle.join(limit)
        if self.handle.exitcode is None:
            pytest.fail(f"still running after {limit} s: {self.account()}")
        return int(self.handle.exitcode)

    def account(self) -> str:
        """The last lines of all ranks, for messages."""
        lines = [f"{self.name} {rank}: ... {self.said(rank)[-6:]}" for rank in range(self.ranks)]
        return "\n".join([*lines, self.errors[-4000:]])


def _ranks_below(job: subprocess.Popen[str], ranks: int, limit: float = 60.0) -> list[int]:
    """The processes of the ranks that a launcher has started, once all are there."""
    deadline = time.monotonic() + limit
    while True:
        found = {
            rank: pid
            for pid in family(job.pid)
            if (rank := _environment(pid).get("PMIX_RANK")) is not None
        }
        if len(found) == ranks:
            return [found[str(rank)] for rank in range(ranks)]
        if time.monotonic() > deadline:
            os.killpg(job.pid, signal.SIGKILL)
            pytest.fail(f"not {ranks} ranks within {limit} s:\n{job.communicate()}")
        time.sleep(0.02)


def family(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(one for child in children for one in family(int(child)))]


def _environment(pid: int) -> dict[str, str]:
    """What a process was started with; nothing if it is gone."""
    try:
        text = Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _stopped(pid: int) -> bool:
    """Whether all threads of a process have stopped, which takes a moment, or it has ended."""
    try:
        texts = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return all(text.rpartition(")")[2].split()[0] in "TZX" for text in texts)


class Sides:
    """Starts the two sides of a staging test, each in processes of its own."""

    def __init__(self, folder: Path, start: Callable[..., Any]) -> None:
        self.folder = folder
        self._start = start
        self._processes: list[Any] = []
        # Forks of a process that has imported what is needed, and has no threads and no MPI.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["numpy", "uzushio.staging.reader"])

    def process(self, act: str, name: str, **arguments: Any) -> Side:
        """A process without MPI."""
        import staging_sides

        process = self._context.Process(
            target=staging_sides.process, args=(act, str(self.folder), name, arguments)
        )
        process.start()
        self._processes.append(process)
        return Side(self.folder, name, 1, process)

    def job(self, ranks: int, act: str, name: str, **arguments: Any) -> Side:
        """An MPI job."""
        script = TESTS / "mpi/staging_sides.py"
        words = [sys.executable, script, act, self.folder, name, json.dumps(arguments)]
        mpiexec = Path(sys.executable).with_name("mpiexec")
        launcher = [mpiexec, "-n", ranks, "--oversubscribe", "--bind-to", "none"]
        return Side(self.folder, name, ranks, self._start(*launcher, *words))

    def launch(self, *programs: tuple[int, str, str, dict[str, Any]]) -> list[Side]:
        """One MPI job of several programs: ranks, act, name and arguments of each."""
        script = TESTS / "mpi/staging_sides.py"
        words: list[object] = []
        for ranks, act, name, arguments in programs:
            words += [":"] if words else []
            words += ["-n", ranks, sys.executable, script, act, self.folder, name]
            words.append(json.dumps(arguments))
        mpiexec = Path(sys.executable).with_name("mpiexec")
        job = self._start(mpiexec, "--oversubscribe", "--bind-to", "none", *words)
        return [Side(self.folder, name, ranks, job) for ranks, _, name, _ in programs]

    def relay(self, name: str, source: str, target: str, ranks: int = 1) -> Side:
        """The command line's relay."""
        words = ["-m", "uzushio", "relay", "--from", source, "--to", target]
        job = self._start(sys.executable, *words, *(["--ranks", ranks] if ranks > 1 else []))
        pids = [job.pid] if ranks == 1 else _ranks_below(job, ranks)
        for rank, pid in enumerate(pids):
            log = self.folder / f"{name}.{rank}.log"
            log.write_text(json.dumps(["pid", pid]) + "\n")
        return Side(self.folder, name, ranks, job)

    def end(self) -> None:
        """Kill what is left."""
        for process in self._processes:
            if process.exitcode is None:
                process.kill()
                process.join()


@pytest.fixture
def sides(start: Callable[..., Any], tmp_path: Path) -> Iterator[Sides]:
    """Start readers and writers; whatever is left of them is killed afterwards."""
    both = Sides(tmp_path, start)
    yield both
    both.end()
