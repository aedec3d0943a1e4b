"""Run the real command line and real MPI jobs, with the tests' heat solver installed."""

from __future__ import annotations

import contextlib
import gc
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
from command_server import CommandServer

pytest_plugins = ["code_builds"]

# The time of an example depends on the load of the machine, so there is no deadline.
hypothesis.settings.register_profile("uzushio", deadline=None)
hypothesis.settings.load_profile("uzushio")

# Searches for garbage among the objects of modules and tests would take longer than many tests.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


TESTS = Path(__file__).parent
SUPPORT = TESTS / "support"
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
    """Environment of a job; the heat solver has an entry point like that of a package."""
    site = tmp_path_factory.mktemp("site")
    info = site / "heat_solver-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: heat-solver\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[uzushio.solvers]\nheat = heat_solver:HeatSolver\n"
        "cylinder = block_heat:CylinderHeat\n"
        "[uzushio.tunables]\nwaves = tuning_subjects:declare\n"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PMIX_", "OMPI_COMM_", "UZUSHIO_"))
        # Without stored bytecode, half of the time of a short run is the compilation of imports.
        and name != "PYTHONDONTWRITEBYTECODE"
    }
    path = [str(site), str(SUPPORT), *filter(None, [environment.get("PYTHONPATH")])]
    # Killed jobs leave sockets and memory behind. Paths of sockets must be short.
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
        # Ranks share cores with those of other jobs, so those that wait must not take them:
        # ranks that sleep between polls need a third of the processor time of yielding ones. Each
        # poll costs two interrupts: with the usual sleep of 0.05 ms they take half of two cores.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep",
        "OMPI_MCA_threads_pthreads_nanosleep_time": "200000",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        # A virtual machine takes a sixth of the time of a short command to read what devices are
        # on its PCI bus.
        "HWLOC_COMPONENTS": "-linux:pci",
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
    """Start a command in the test's folder; it is killed after the test if it still runs."""
    jobs: list[subprocess.Popen[str]] = []

    def go(*command: object, **more: object) -> subprocess.Popen[str]:
        # A separate folder: Open MPI identifies jobs there by 16 bits only (tools/own_memory).
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
    # Files of a killed launcher would disturb a later launcher with the same process id.
    for left in Path(job_environment["TMPDIR"]).glob("ompi.[0-9]*"):
        if not Path("/proc", left.suffix[1:]).exists():
            shutil.rmtree(left, ignore_errors=True)


@pytest.fixture(scope="session")
def command_server(job_environment: dict[str, str]) -> Iterator[CommandServer]:
    """Fork server of commands: in most tests, imports take longer than the command itself."""
    server = CommandServer(job_environment)
    yield server
    server.close()


@pytest.fixture
def uzushio(command_server: CommandServer, job_environment: dict[str, str], tmp_path: Path) -> Run:
    """Run `uzushio ARGUMENTS` to its end in the test's folder."""

    def go(
        *arguments: object, timeout: float = 60, largest_file: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in arguments]
        started = command_server.start(words, tmp_path, job_environment, largest_file)
        status, out, errors = started.wait(timeout)
        if status is None:
            pytest.fail(f"still running after {timeout} s:\n{out}\n{errors}")
        return subprocess.CompletedProcess(["uzushio", *words], status, out, errors)

    return go


@pytest.fixture
def python(command_server: CommandServer) -> Path:
    """Python with imported modules; it is no descendant of its caller, as `sys.executable` is."""
    return command_server.python


@pytest.fixture
def start_uzushio(start: Callable[..., Any], python: Path) -> Callable[..., Any]:
    """Start `uzushio ARGUMENTS` like `start`, with imported modules."""
    return lambda *arguments: start(python, "-m", "uzushio", *arguments)


@pytest.fixture
def mpi_run(start: Callable[..., subprocess.Popen[str]], python: Path) -> Run:
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
        return wait(start(*launcher, python, *arguments), timeout)

    return go


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case file of the heat solver in the test's folder."""
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    return path


class Peer:
    """Writer or reader of a staging test, a process or an MPI job; see `staging_peers`."""

    def __init__(self, folder: Path, name: str, ranks: int, handle: Any) -> None:
        self.name, self.ranks, self.handle = name, ranks, handle
        self.errors = ""  #: standard error of a command that has ended
        self._folder = folder

    def events(self, rank: int = 0) -> list[tuple[str, Any]]:
        """Return the events that a rank has reported so far: kinds and values."""
        log = self._folder / f"{self.name}.{rank}.log"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return [tuple(json.loads(line)) for line in lines if line.endswith("\n")]

    def values(self, kind: str, rank: int = 0) -> list[Any]:
        """Return the values of a rank's events of a kind."""
        return [value for event_kind, value in self.events(rank) if event_kind == kind]

    def wait_for(self, kind: str, count: int = 1, limit: float = 60.0, rank: int = 0) -> Any:
        """Wait for the `count`-th event of a kind; return its value."""
        deadline = time.monotonic() + limit
        while len(values := self.values(kind, rank)) < count:
            if time.monotonic() > deadline:
                pytest.fail(f"no {kind} ({count}) within {limit} s: {self.last_events()}")
            time.sleep(0.005)
        return values[count - 1]

    def wait_for_more(self, kind: str, count: int = 1, limit: float = 60.0, rank: int = 0) -> Any:
        """Wait for `count` more events of a kind; return the value of the last one."""
        return self.wait_for(kind, len(self.values(kind, rank)) + count, limit, rank)

    def pids(self) -> list[int]:
        """Return the process ids of all ranks, after all have started."""
        return [int(self.wait_for("pid", rank=rank)) for rank in range(self.ranks)]

    def signal(self, number: int, ranks: Iterable[int] | None = None) -> None:
        """Send a signal to the given ranks, by default all; after SIGSTOP wait until they stop."""
        pids = self.pids()
        chosen = [pids[rank] for rank in (range(self.ranks) if ranks is None else ranks)]
        for pid in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while number == signal.SIGSTOP and not all(map(_stopped, chosen)):
            time.sleep(0.001)

    def kill(self) -> None:
        """Kill all ranks, and wait for their end."""
        self.signal(signal.SIGKILL)
        self.ended()

    def ended(self, limit: float = 60.0) -> int:
        """Wait for the end and return the exit status; fail the test after `limit` seconds."""
        if isinstance(self.handle, subprocess.Popen):
            done = wait(self.handle, limit)
            self.errors += done.stderr
            return done.returncode
        self.handle.join(limit)
        if self.handle.exitcode is None:
            pytest.fail(f"still running after {limit} s: {self.last_events()}")
        return int(self.handle.exitcode)

    def last_events(self) -> str:
        """Return the last events of all peers, for messages: another one may be the cause."""
        logs = sorted(self._folder.glob("*.*.log"))
        lines = [f"{log.stem}: ... {' '.join(log.read_text().splitlines()[-6:])}" for log in logs]
        return "\n".join([*lines, self.errors[-4000:]])


def _ranks_below(job: subprocess.Popen[str], ranks: int, limit: float = 60.0) -> list[int]:
    """Wait for a launcher to start all ranks; return their process ids."""
    deadline = time.monotonic() + limit
    while True:
        pids = {
            rank: pid
            for pid in family(job.pid)
            if (rank := _environment(pid).get("PMIX_RANK")) is not None
        }
        if len(pids) == ranks:
            return [pids[str(rank)] for rank in range(ranks)]
        if time.monotonic() > deadline:
            os.killpg(job.pid, signal.SIGKILL)
            pytest.fail(f"not {ranks} ranks within {limit} s:\n{job.communicate()}")
        time.sleep(0.02)


def family(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(pid for child in children for pid in family(int(child)))]


def _environment(pid: int) -> dict[str, str]:
    """Return the initial environment of a process; empty if it has ended."""
    try:
        text = Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _stopped(pid: int) -> bool:
    """Return whether all threads of a process have stopped, or the process has ended."""
    try:
        texts = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return all(text.rpartition(")")[2].split()[0] in "TZX" for text in texts)


class Peers:
    """Launcher of the writers and readers of a staging test."""

    def __init__(self, folder: Path, start: Callable[..., Any], python: Path) -> None:
        self.folder = folder
        self._start, self._python = start, python
        self._processes: list[Any] = []
        # Processes are forks of a server that has imported modules, without threads and MPI.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["numpy", "uzushio.staging.reader"])

    def process(self, role: str, name: str, **arguments: Any) -> Peer:
        """Start a process without MPI."""
        import staging_peers

        process = self._context.Process(
            target=staging_peers.process, args=(role, str(self.folder), name, arguments)
        )
        process.start()
        self._processes.append(process)
        return Peer(self.folder, name, 1, process)

    def job(self, ranks: int, role: str, name: str, **arguments: Any) -> Peer:
        """Start an MPI job."""
        script = TESTS / "mpi/staging_peers.py"
        words = [self._python, script, role, self.folder, name, json.dumps(arguments)]
        mpiexec = Path(sys.executable).with_name("mpiexec")
        launcher = [mpiexec, "-n", ranks, "--oversubscribe", "--bind-to", "none"]
        return Peer(self.folder, name, ranks, self._start(*launcher, *words))

    def launch(self, *programs: tuple[int, str, str, dict[str, Any]]) -> list[Peer]:
        """Start one MPI job of several programs: ranks, role, name and arguments of each."""
        script = TESTS / "mpi/staging_peers.py"
        words: list[object] = []
        for ranks, role, name, arguments in programs:
            words += [":"] if words else []
            words += ["-n", ranks, self._python, script, role, self.folder, name]
            words.append(json.dumps(arguments))
        mpiexec = Path(sys.executable).with_name("mpiexec")
        job = self._start(mpiexec, "--oversubscribe", "--bind-to", "none", *words)
        return [Peer(self.folder, name, ranks, job) for ranks, _, name, _ in programs]

    def relay(self, name: str, source: str, target: str, ranks: int = 1) -> Peer:
        """Start `uzushio relay`."""
        words = ["-m", "uzushio", "relay", "--from", source, "--to", target]
        job = self._start(sys.executable, *words, *(["--ranks", ranks] if ranks > 1 else []))
        pids = [job.pid] if ranks == 1 else _ranks_below(job, ranks)
        for rank, pid in enumerate(pids):
            log = self.folder / f"{name}.{rank}.log"
            log.write_text(json.dumps(["pid", pid]) + "\n")
        return Peer(self.folder, name, ranks, job)

    def end(self) -> None:
        """Kill the remaining processes."""
        for process in self._processes:
            if process.exitcode is None:
                process.kill()
                process.join()


@pytest.fixture
def peers(start: Callable[..., Any], python: Path, tmp_path: Path) -> Iterator[Peers]:
    """Launcher of readers and writers; the remaining ones are killed after the test."""
    started = Peers(tmp_path, start, python)
    yield started
    started.end()


@pytest.fixture(scope="module")  # Playwright's event loop would stop asyncio.run in other files
def browser() -> Iterator[Any]:
    """Chromium of the system."""
    from live_pages import chromium

    with chromium() as chromium_browser:
        yield chromium_browser


@pytest.fixture
def live(browser: Any) -> Iterator[Any]:
    """Live view of a running stream, with a drawing side that paints one colour."""
    from live_pages import running

    with running(browser) as view:
        yield view


@pytest.fixture
def stored(browser: Any) -> Iterator[Any]:
    """Live view of stored steps, with such a drawing side."""
    from live_pages import STORED, running

    with running(browser, STORED) as view:
        yield view
