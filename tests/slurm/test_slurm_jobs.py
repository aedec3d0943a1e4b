"""The job scripts of examples/jobs under a real batch system, with small cases."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from slurm_jobs import Job, Slurm, running_cluster, until

CASE = """\
solver: channel
title: a small channel
grid: {nx: 8, ny: 8, nz: 36, lx: 2 pi, ly: pi}
flow: {reynolds_tau: 100}
time: {steps: 120, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
output: {folder: run, figures: false}
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
  - {kind: plot, name: centre, of: {u: {at: {x: 1.0, y: 1.0, z: 1.0}}}}
"""


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
    return {name: array[...] for name, array in group.arrays()}


def summary(run: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return read


def processes_of(job: Job) -> list[str]:
    mark = f"SLURM_JOB_ID={job.number}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_text())
    return found


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_a_channel_runs_on_two_nodes(
    slurm: Slurm, limited: object, tmp_path: Path, launcher: str
) -> None:
    (tmp_path / "case.yaml").write_text(CASE)
    job = slurm.submit(
        tmp_path, "slurm-run.sh", "case.yaml", "--set", "time.steps=5", LAUNCHER=launcher
    )
    assert job.end() == "COMPLETED", job.output
    assert summary(tmp_path / "run")["ranks"] == 4
    assert job.field("NumNodes") == "2"


def test_ranks_are_on_the_nodes_of_a_placement_file(slurm: Slurm, tmp_path: Path) -> None:
    """Groups of two ranks that share planes are on nodes that share a switch."""
    (tmp_path / "where.py").write_text(WHERE)
    (tmp_path / "case.yaml").write_text(
        CASE + "decomposition: {py: 2, pz: 2}\npublish: {engine: inproc, python: where.py}\n"
    )
    options = "--nodes=4 --ntasks-per-node=1"
    job = slurm.submit(tmp_path, "slurm-placement.sh", "case.yaml", options=options)
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
    assert run.end() == "COMPLETED", run.output + readers.output
    assert readers.end() == "COMPLETED", readers.output
    rendered = tmp_path / f"rendered-{readers.number}"
    (table,) = rendered.rglob("*.csv")
    steps = np.loadtxt(table, delimiter=",", skiprows=1)[:, 0]
    assert steps.astype(int).tolist() == list(range(int(steps[0]), 11))
    assert readers.field("NodeList") == "n[3-4]"


def test_a_cancelled_run_writes_a_checkpoint_and_leaves_no_process(
    slurm: Slurm, tmp_path: Path
) -> None:
    (tmp_path / "pace.py").write_text(PACE)
    (tmp_path / "case.yaml").write_text(CASE + "publish: {engine: inproc, python: pace.py}\n")
    job = slurm.submit(tmp_path, "slurm-run.sh", "case.yaml")
    job.prints("step +[1-9]")
    slurm.call("scancel", "--signal=TERM", job.number)
    assert job.end() == "FAILED"  # 128 + 15
    assert job.field("ExitCode") == "143:0"
    assert list((tmp_path / "run/checkpoints").glob("step-*"))

    second = slurm.submit(tmp_path, "slurm-run.sh", "case.yaml", "--out", "second")
    second.prints("step +[1-9]")
    slurm.call("scancel", second.number)
    assert second.end() == "CANCELLED", second.output
    until(lambda: not processes_of(second), lambda: f"processes {processes_of(second)}")


def test_fewer_tasks_than_ranks_are_one_clear_error(slurm: Slurm, tmp_path: Path) -> None:
    """Where nodes were asked for as a range, and the scheduler gave one."""
    (tmp_path / "case.yaml").write_text(CASE)
    job = slurm.submit(
        tmp_path, "slurm-run.sh", "case.yaml", "--ranks", "8",
        options="--nodes=1-4 --ntasks-per-node=2 --nodelist=n3", LAUNCHER="uzushio",
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
    (output,) = folder.glob(f"*-{following[1]}.out")
    last = Job(slurm, following[1], output)
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
