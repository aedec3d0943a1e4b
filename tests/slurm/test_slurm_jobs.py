"""The job scripts of examples/jobs under a real batch system, with small cases."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from slurm_jobs import Job, Slurm, running_cluster, until

pytestmark = pytest.mark.timeout(1800)  # more than the limits of the waits of a test

PROXY = Path(__file__).parents[1] / "support/unix_proxy.py"
CASE = """\
solver: channel
title: a small channel
grid: {nx: 8, ny: 8, nz: 36, lx: 2 pi, ly: pi}
flow: {reynolds_tau: 100}
time: {steps: 120, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: run, figures: false, monitor_every: 0.2}
"""
#: Takes a second a step until the file `go` is there: a limit of a minute is met at any speed.
PACE = """\
import time
from pathlib import Path


def on_step(step):
    end = time.monotonic() + 1.0
    while time.monotonic() < end and not Path("go").exists():
        time.sleep(0.02)
"""
#: Writes the node of each rank.
WHERE = """\
import os
from pathlib import Path


def on_step(step):
    Path("rank-" + os.environ["PMIX_RANK"]).write_text(os.environ["SLURMD_NODENAME"])
"""
PIPELINE = """\
actions:
- {plot: {series: {fields: [u], reduce: [max]}}, name: extremes}
"""


#: A machine without a network: only the tunnel leads out of it.
DESK = """
ip link set lo up
$1 &
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $2))" 2>/dev/null; do
    kill -0 $! || exit 1
    sleep 0.1
done
exec "$3" "$4" "$5"
"""


@contextlib.contextmanager
def ssh_server(folder: Path) -> Iterator[Path]:
    """Serve ssh on a Unix socket, which also a process without a network reaches.

    Yields the configuration of the client.
    """
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None or shutil.which("unshare") is None:
        pytest.skip("no sshd or unshare is installed here")
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("network namespaces cannot be made here")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(command, check=True)
    (folder / "sshd.conf").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\n"
        "PermitRootLogin yes\nUsePAM no\nPidFile none\n"
    )
    path = folder / "ssh"
    (folder / "ssh.conf").write_text(
        f"IdentityFile {folder}/user\nIdentitiesOnly yes\nBatchMode yes\n"
        f"StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
        f"ProxyCommand {sys.executable} {PROXY} {path}\n"
    )
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    servers = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                words = [server, "-i", "-e", "-f", str(folder / "sshd.conf")]
                log = (folder / "sshd.log").open("ab")
                servers.append(
                    subprocess.Popen(words, stdin=connection, stdout=connection, stderr=log)
                )
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield folder / "ssh.conf"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for started in servers:
            started.terminate()
            started.wait(30)


@pytest.fixture(scope="module")
def slurm(job_environment: dict[str, str]) -> Iterator[Slurm]:
    with running_cluster(job_environment) as started:
        yield started


@pytest.fixture(scope="module")
def limited(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Path]:
    """A run that meets its time limit while other tests run."""
    folder = tmp_path_factory.mktemp("chain")
    (folder / "pace.py").write_text(PACE)
    (folder / "case.yaml").write_text(CASE + "publish: {engine: inproc, python: pace.py}\n")
    options = "--nodes=2 --ntasks-per-node=1 --time=10 --signal=USR1@60"
    job = slurm.submit(folder, "slurm-chain.sh", "case.yaml", "run", options=options)
    job.prints("step +[1-9]")
    # Slurm counts limits in minutes, and looks at them every half minute.
    slurm.call("scontrol", "update", f"JobId={job.number}", "TimeLimit=1")
    return job, folder


def state(run: Path) -> dict[str, np.ndarray]:
    """The arrays of the newest checkpoint of a run."""
    newest = max((run / "checkpoints").iterdir(), key=lambda path: path.name)
    group = zarr.open_group(newest, mode="r")
    members = group.members(max_depth=None)
    return {name: node[...] for name, node in members if isinstance(node, zarr.Array)}


def summary(run: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return read


def processes_of(job: Job) -> list[str]:
    mark = f"SLURM_JOB_ID={job.number}".encode()
    command_lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                command_lines.append((entry / "cmdline").read_text())
    return command_lines


def test_a_channel_runs_on_two_nodes_by_srun_and_by_mpirun(
    slurm: Slurm, limited: object, tmp_path: Path
) -> None:
    (tmp_path / "case.yaml").write_text(CASE)
    jobs = {
        launcher: slurm.submit(
            tmp_path, "slurm-run.sh", "case.yaml", "--out", launcher, "--set", "time.steps=5",
            LAUNCHER=launcher,
        )
        for launcher in ("srun", "mpirun")
    }  # fmt: skip
    for launcher, job in jobs.items():
        assert job.end() == "COMPLETED", job.output
        assert summary(tmp_path / launcher)["ranks"] == 4
        assert job.field("NumNodes") == "2"


def test_ranks_are_on_the_nodes_of_a_placement_file(slurm: Slurm, tmp_path: Path) -> None:
    """Groups of two ranks that share planes are on nodes that share a switch."""
    (tmp_path / "where.py").write_text(WHERE)
    (tmp_path / "case.yaml").write_text(
        CASE + "decomposition: {py: 2, pz: 2}\npublish: {engine: inproc, python: where.py}\n"
    )
    options = "--nodes=4 --ntasks-per-node=1"
    few = ("--set", "time.steps=3")
    job = slurm.submit(tmp_path, "slurm-placement.sh", "case.yaml", *few, options=options)
    assert job.end() == "COMPLETED", job.output
    hosts = (tmp_path / f"placed-{job.number}/hosts").read_text().split()
    assert sorted(hosts) == ["n1", "n2", "n3", "n4"]
    assert {frozenset(hosts[:2]), frozenset(hosts[2:])} == {
        frozenset(("n1", "n3")), frozenset(("n2", "n4")),
    }  # fmt: skip
    assert [(tmp_path / f"rank-{rank}").read_text() for rank in range(4)] == hosts


def test_reader_ranks_of_another_job_get_every_step_through_a_relay(
    slurm: Slurm, tmp_path: Path
) -> None:
    (tmp_path / "pictures.yaml").write_text(PIPELINE)
    (tmp_path / "case.yaml").write_text(
        CASE
        + "publish:\n  engine: tcp\n  tcp: {listen: 0.0.0.0}\n  queue: {policy: block}\n"
        + "  wait_for_readers: 1\n  wait_limit: 200\n"
    )
    set_steps = ("--set", "time.steps=10", "--set", "publish.every=1")
    run = slurm.submit(
        tmp_path, "slurm-run.sh", "case.yaml", *set_steps, options="--nodelist=n1,n2"
    )
    readers = slurm.submit(
        tmp_path, "slurm-readers.sh", "run/channel.contact", "pictures.yaml",
        options="--nodelist=n3,n4",
    )  # fmt: skip
    assert readers.end() == "COMPLETED", readers.output
    assert run.end() == "COMPLETED", run.output
    rendered = tmp_path / f"rendered-{readers.number}"
    (table,) = rendered.rglob("*.csv")
    column = table.read_text().splitlines()[0].split(",").index("step")
    steps = np.loadtxt(table, delimiter=",", skiprows=1, usecols=column).astype(int)
    assert steps.tolist() == list(range(steps[0], 11)) and steps[0] <= 1
    assert readers.field("NodeList") == "n[3-4]"


def test_a_cancelled_run_writes_a_checkpoint_and_leaves_no_process(
    slurm: Slurm, tmp_path: Path
) -> None:
    (tmp_path / "pace.py").write_text(PACE)
    (tmp_path / "case.yaml").write_text(CASE + "publish: {engine: inproc, python: pace.py}\n")
    job = slurm.submit(tmp_path, "slurm-run.sh", "case.yaml")
    second = slurm.submit(tmp_path, "slurm-run.sh", "case.yaml", "--out", "second")
    job.prints("step +[1-9]")
    slurm.call("scancel", "--signal=TERM", job.number)
    assert job.end() == "FAILED"  # 128 + 15
    assert job.field("ExitCode") == "143:0"
    assert list((tmp_path / "run/checkpoints").glob("step-*"))

    second.prints("step +[1-9]")
    slurm.call("scancel", second.number)
    assert second.end() == "CANCELLED", second.output
    until(lambda: not processes_of(second), lambda: f"processes {processes_of(second)}")


def test_the_printed_ssh_line_leads_to_the_view_of_a_job_on_another_node(
    slurm: Slurm, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "pace.py").write_text(PACE)
    (tmp_path / "case.yaml").write_text(
        CASE + "publish: {engine: tcp, every: 1, tcp: {listen: 0.0.0.0}}\n"
    )
    endless = ("--set", "time.steps=1000000", "--set", "grid.nx=32", "--set", "grid.ny=32")
    run = slurm.submit(tmp_path, "slurm-run.sh", "case.yaml", *endless, options="--nodelist=n1,n2")
    until((tmp_path / "run/channel.contact").exists, lambda: run.output)
    view = slurm.submit(tmp_path, "slurm-view.sh", "run/channel.contact", options="--nodelist=n3")
    address = view.prints(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}")[0]
    line = view.prints(r"first run there: (ssh -N -L .*)")[1]
    with ssh_server(tmp_path) as configuration:
        port = line.split("-L ")[1].split(":")[0]
        page = Path(__file__).parents[1] / "mpi/view_page_job.py"
        desk = start(
            "unshare", "-rn", "sh", "-c", DESK, "desk",
            line.replace("ssh ", f"ssh -F {configuration} ", 1), port,
            sys.executable, page, address,
        )  # fmt: skip
        assert desk.stdout is not None
        shown = []
        for text in desk.stdout:
            if match := re.search(r"^step (\d+)", text):
                shown.append(int(match[1]))
            if len(shown) == 3:
                break
        assert len(shown) == 3 and shown[0] < shown[2], desk.stderr and desk.stderr.read()
    slurm.call("scancel", view.number, run.number)
    assert view.end() == "CANCELLED" and run.end() == "CANCELLED"


def test_fewer_tasks_than_ranks_are_one_clear_error(slurm: Slurm, tmp_path: Path) -> None:
    """As where a range of nodes was requested, and the scheduler gave the fewest."""
    (tmp_path / "case.yaml").write_text(CASE)
    job = slurm.submit(
        tmp_path, "slurm-run.sh", "case.yaml", "--ranks", "8",
        options="--nodes=1 --ntasks-per-node=2 --nodelist=n3", LAUNCHER="uzushio",
    )  # fmt: skip
    assert job.end() == "FAILED"
    assert job.output.count("\n") == 1, job.output
    assert "--ranks 8" in job.output and "2 tasks on 1 node (n3)" in job.output


def test_a_run_that_meets_its_time_limit_continues_in_the_next_job(
    slurm: Slurm, limited: tuple[Job, Path]
) -> None:
    job, folder = limited
    assert job.end() == "COMPLETED", job.output
    (folder / "go").touch()
    following = re.search(r"Submitted batch job (\d+)", job.output)
    assert following, job.output
    last = Job(slurm, following[1], folder / f"chain-{following[1]}.out")
    assert last.end() == "COMPLETED", last.output
    assert "Wrote checkpoint run/checkpoints/step-00000120" in last.output

    interrupted = int(re.findall(r"checkpoints/step-0*(\d+)", job.output)[-1])
    assert 0 < interrupted < 120
    whole = slurm.submit(
        folder, "slurm-chain.sh", "case.yaml", "whole", options="--nodes=2 --ntasks-per-node=1"
    )
    assert whole.end() == "COMPLETED", whole.output
    restarted, expected = state(folder / "run"), state(folder / "whole")
    assert restarted.keys() == expected.keys() and expected
    for name, values in expected.items():
        np.testing.assert_array_equal(restarted[name], values, err_msg=name)
