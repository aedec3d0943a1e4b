"""Whether this process is in an MPI job, and how one is started."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from uzushio._base.parallel import job_output, launch
from uzushio.errors import LaunchError

NAMES = [*launch._SIZES, *launch._RANKS, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*NAMES, "PBS_NODEFILE"]:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "ranks"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, 4),
        ({"PMI_SIZE": "3"}, 3),
        ({"PMIX_RANK": "1"}, 0),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "8"}, 8),
        # A shell that salloc opened is a step of one task.
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_JOB_ID": "7"}, None),
    ],
)
def test_the_job_around_is_recognised(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], ranks: int | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert launch.ranks_around() == ranks


def test_a_job_is_started_outside_of_one_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.wants_job(2)
    assert not launch.wants_job(None)
    monkeypatch.setenv("PMI_SIZE", "2")
    assert not launch.wants_job(2)
    with pytest.raises(LaunchError, match="--ranks 3 was given inside an MPI job of 2 ranks"):
        launch.wants_job(3)


def test_a_launcher_of_another_mpi_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    launch.check_size(1, "An MPI v1")
    monkeypatch.setenv("PMI_SIZE", "4")
    launch.check_size(4, "An MPI v1")
    with pytest.raises(LaunchError, match=r"started 4 ranks, but MPI has 1: .*\(An MPI v1\)"):
        launch.check_size(1, "An MPI v1\nmore")


def test_more_ranks_than_cores_are_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.os, "sched_getaffinity", lambda _: {0, 1})
    mpiexec = launch.find_mpiexec()
    few = launch.command(mpiexec, 2, ["run", "a.yaml"])
    many = launch.command(mpiexec, 3, ["run", "a.yaml"])
    assert few[-4:] == ["-m", "uzushio", "run", "a.yaml"]
    assert "--oversubscribe" not in few
    if "-x" in few:  # Open MPI
        assert "--oversubscribe" in many


def test_ranks_that_do_not_fill_the_cores_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one core each, a rank's threads would share it."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(launch.os, "sched_getaffinity", lambda _: set(range(8)))
    mpiexec = launch.find_mpiexec()
    two = launch.command(mpiexec, 2, ["run", "a.yaml"])
    if "-x" in two:  # Open MPI
        assert two[two.index("--bind-to") + 1] == "none"
        assert "--bind-to" not in launch.command(mpiexec, 5, ["run", "a.yaml"])
        own = launch.command(mpiexec, 5, ["run", "a.yaml"], own_binding=True)
        assert own[own.index("--bind-to") + 1] == "none"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "--bind-to" not in launch.command(mpiexec, 2, ["run", "a.yaml"])


def test_no_mpiexec_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(launch.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match="no mpiexec was found"):
        launch.find_mpiexec()


def test_a_low_limit_of_file_sizes_is_refused_before_ranks_are_started(tmp_path: Path) -> None:
    # Open MPI hangs or crashes with it.
    command = f"ulimit -f 64; exec {sys.executable} -m uzushio run --ranks 2 case.yaml"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("uzushio: error: ") and done.stderr.count("\n") == 1
    assert "files of 16 MiB" in done.stderr and "is 64 KiB; raise it (ulimit -f)." in done.stderr


def test_a_low_limit_of_file_sizes_does_not_disturb_one_rank() -> None:
    code = "from uzushio._base.parallel.launch import default_comm; print(default_comm().size)"
    command = f"unset OMPI_MCA_btl; ulimit -f 64; exec {sys.executable} -c '{code}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_signals_are_handled_before_slow_modules_are_imported() -> None:
    """An interrupt before is Python's traceback."""
    code = (
        "import sys; before = {*sys.modules}; import uzushio.__main__\n"
        "print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    modules = set(done.stdout.split())
    assert "uzushio._base.parallel.signals" in modules
    assert not {"typing", "re", "pathlib", "threading", "numpy", "mpi4py"} & modules


@pytest.mark.parametrize(
    ("name", "advice"), [("XFSZ", "; raise the limit of file sizes (ulimit -f)"), ("KILL", "")]
)
def test_a_launcher_that_a_signal_ends_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, advice: str
) -> None:
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text(f'#!/bin/sh\n[ "$1" = --version ] || kill -{name} $$\n')
    mpiexec.chmod(0o700)
    code = (
        "import sys; from pathlib import Path; from uzushio._base.parallel import launch\n"
        "launch.find_mpiexec = lambda: Path(sys.argv[1])\n"
        "try: launch.run_job(2, [])\n"
        "except launch.LaunchError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, mpiexec], capture_output=True, text=True)
    assert done.stdout == f"mpiexec was ended by SIG{name}, and its ranks with it{advice}.\n"


def test_only_repeated_failures_are_omitted() -> None:
    rule = b"-" * 74 + b"\n"
    repeats = rule + b"MPI_ABORT was invoked on rank 1\n" + rule
    wrapped = rule + b"prterun has exited due to process rank 1 calling\n" + b'"abort".\n' + rule
    notice = rule + b"process rank 1 exited on signal 9 (Killed).\n" + rule
    late = b"[warn] Epoll MOD(4) on fd 20 failed. Old events were 6: Bad file descriptor\n"
    first = b"first\n" + repeats + late + b"second\n"
    source = io.BytesIO(first + wrapped + notice + rule + b"open end\n")
    target = io.BytesIO()
    job_output.pass_on(source, target.write)
    assert target.getvalue() == b"first\nsecond\n" + notice + rule + b"open end\n"


@pytest.mark.parametrize(
    ("tasks", "nodes", "total"), [("2(x3),1", "4", 7), ("4", "1", 4), ("1", "1", 1)]
)
def test_more_ranks_than_tasks_of_a_job_of_slurm_are_one_error(
    monkeypatch: pytest.MonkeyPatch, tasks: str, nodes: str, total: int
) -> None:
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", tasks)
    launch._check_allocation(total + 1)  # not in a job of Slurm
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", nodes)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    launch._check_allocation(total)
    with pytest.raises(LaunchError, match=rf"{total} tasks? on {nodes} nodes? \(n\[1-4\]\)"):
        launch._check_allocation(total + 1)


@pytest.mark.parametrize(
    ("environment", "ranks", "spins"),
    [
        ({"OMP_NUM_THREADS": "2"}, 2, "4000"),
        ({"OMP_NUM_THREADS": "2"}, 3, None),  # six threads on four cores
        ({"OMP_NUM_THREADS": "3"}, None, "4000"),
        ({"OMP_NUM_THREADS": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "3"}, None, None),
        ({"OMP_NUM_THREADS": "1"}, 2, None),
        ({"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}, 2, None),
    ],
)
def test_idle_threads_spin_only_where_each_has_a_core(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    ranks: int | None,
    spins: str | None,
) -> None:
    monkeypatch.setattr(launch.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(launch.os, "cpu_count", lambda: 4)
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", *launch._LOCAL_SIZES):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    variables = dict(launch.os.environ)
    monkeypatch.setattr(launch.os, "environ", variables)
    launch.prepare_environment(ranks)
    assert variables.get("GOMP_SPINCOUNT") == spins
    assert variables["OMP_WAIT_POLICY"] == "passive"
