"""Binding of the ranks of this machine, read back from the system."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

JOB = Path(__file__).with_name("affinity_job.py")
CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("ranks", "policy"), [(1, "compact"), (2, "scatter"), (3, "numa_block"), (3, "compact")]
)
def test_ranks_and_threads_are_bound_as_the_table_says(
    mpi_run: Run, ranks: int, policy: str
) -> None:
    done = mpi_run(ranks, [JOB, policy])
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"Affinity {policy}:"
    assert [line.split()[0] for line in lines[2 : 2 + ranks]] == [str(n) for n in range(ranks)]
    shared = f"{2 * ranks} threads of {ranks} ranks share" in done.stdout
    assert shared == (2 * ranks > CORES)


def test_threads_that_a_solver_does_not_use_are_reported(
    uzushio: Any,
    case: Path,
    tmp_path: Path,
    job_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(job_environment, "OMP_NUM_THREADS", "2")
    done = uzushio("run", case, "--no-figures", "--out", tmp_path / "threads")
    assert done.returncode == 0, done.stderr
    assert "reserves 2 threads a rank, and the solver heat uses 1" in done.stderr


def test_a_run_prints_the_table_when_a_policy_is_chosen(
    uzushio: Any, case: Path, tmp_path: Path
) -> None:
    done = uzushio("run", case, "--ranks", 2, "--affinity", "compact", "--no-figures")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Affinity compact:\n")
    assert ("share" in done.stderr) == (CORES < 2)
    assert json.loads((tmp_path / "run/summary.json").read_text())["affinity"] == "compact"
    checked = uzushio("check", case, "--ranks", 2, "--affinity", "numa_cyclic")
    assert "Affinity numa_cyclic:" in checked.stdout
    assert "Affinity" not in uzushio("check", case).stdout
