"""Recorded traffic: counts by hand, and a run's own counters.

The recorder is preloaded when a process starts, so these tests use Python itself, not its forks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uzushio.case.model import load_case
from uzushio.placement import Pattern, read_traffic
from uzushio.solvers.channel.solver import ChannelSolver

JOB = Path(__file__).with_name("traffic_job.py")
CASE = """\
solver: channel
grid: {nx: 16, ny: 16, nz: 12, lx: pi, ly: pi/2}
flow: {reynolds_tau: 100}
time: {steps: STEPS, cfl: 0.4}
statistics: {start: 100.0}
checkpoint: {every: null}
decomposition: {py: 2, pz: 2}
output: {folder: run, figures: false}
"""


def matrix(pattern: Pattern) -> np.ndarray:
    sent = np.zeros((pattern.ranks, pattern.ranks))
    np.add.at(sent, (pattern.phases[0].source, pattern.phases[0].target), pattern.phases[0].sent)
    return sent


def start(folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_each_message_is_recorded_between_ranks_of_the_world(tmp_path: Path) -> None:
    config = start(tmp_path, sys.executable, "-m", "uzushio", "config", "--traffic")
    launcher = (Path(sys.executable).with_name("mpiexec"), "--oversubscribe", "-n", 4)
    done = start(
        tmp_path,
        *(*launcher, sys.executable, JOB),
        LD_PRELOAD=config.stdout.strip(),
        UZUSHIO_TRAFFIC="job.mtx",
    )
    assert done.returncode == 0, done.stderr
    expected = np.zeros((4, 4))
    for rank in range(4):
        expected[rank, (rank + 1) % 4] += 8 * (10 + 3 * 5)
        expected[rank, (rank + 2) % 4] += 8 * 3
    # In the order by parity, ranks 0 and 1 of the world are the second ones, which get two values.
    expected[2, 0] += 16
    expected[3, 1] += 16
    expected[0, 2] += 8 * 4
    expected[3, 0] += 8 * 8
    np.testing.assert_array_equal(matrix(read_traffic([tmp_path / "job.mtx"], 4)), expected)


def test_a_run_records_the_bytes_that_its_solver_counts(tmp_path: Path) -> None:
    """Of 2 steps more, so that set-up and end of the run cancel."""
    sent = []
    for steps in (1, 3):
        (tmp_path / "channel.yaml").write_text(CASE.replace("STEPS", str(steps)))
        words = ("run", "channel.yaml", "--ranks", 4, "--out", f"run{steps}", "--quiet")
        file = tmp_path / f"{steps}.mtx"
        done = start(tmp_path, sys.executable, "-m", "uzushio", *words, "--traffic", file)
        assert done.returncode == 0, done.stderr
        sent.append(matrix(read_traffic([file], 4)))
    a_step = (sent[1] - sent[0]) / 2
    traffic = ChannelSolver.estimate(load_case(tmp_path / "channel.yaml"), 4).traffic
    in_planes = sum(phase.bytes for kind, phase in traffic.items() if "xy" in kind)
    # Ranks 0, 1 and 2, 3 share planes; the busiest rank sends what the estimate says.
    pairs = [a_step[0, 1], a_step[1, 0], a_step[2, 3], a_step[3, 2]]
    assert max(pairs) == pytest.approx(in_planes, rel=0.02)
    assert a_step[0, 2] > 0 < a_step[2, 0]
    assert a_step[0, 3] == a_step[1, 2] == 0


def test_traffic_of_ranks_that_others_start_needs_the_library(tmp_path: Path) -> None:
    (tmp_path / "channel.yaml").write_text(CASE.replace("STEPS", "1"))
    done = start(
        tmp_path, *(sys.executable, "-m", "uzushio", "run", "channel.yaml"), "--traffic", "t"
    )
    assert done.returncode == 1
    assert "uzushio config --traffic" in done.stderr and len(done.stderr.splitlines()) == 1
