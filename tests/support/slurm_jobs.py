"""Jobs on a cluster of four nodes of Slurm on this machine, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import slurm_cluster as cluster

#: Seconds of each wait; a wait ends as soon as its condition holds.
LIMIT = 600.0
#: Seconds between two looks at a condition: a call of scontrol takes processor time from the jobs.
PAUSE = 0.2
JOBS = Path(__file__).parents[2] / "examples/jobs"


def until(condition: Callable[[], object], what: Callable[[], str], limit: float = LIMIT) -> object:
    """Wait for a condition and return its value; `what` describes its absence."""
    deadline = time.monotonic() + limit
    while not (value := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {limit} s: {what()}")
        time.sleep(PAUSE)
    return value


class Job:
    """A submitted job; its output is a file of its folder."""

    def __init__(self, slurm: Slurm, number: str, output: Path) -> None:
        self._slurm, self.number, self._output = slurm, number, output

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    def field(self, name: str) -> str:
        """Return a field of `scontrol show job`."""
        shown = self._slurm.call("scontrol", "show", "job", self.number)
        match = re.search(rf"\b{name}=(\S+)", shown)
        assert match, f"{name} is not in {shown}"
        return match[1]

    def prints(self, pattern: str) -> re.Match[str]:
        """Wait for a text of the output; the job must not end before."""

        def first_match() -> re.Match[str] | None:
            done = self.ended
            match = re.search(pattern, self.output)
            assert match or not done, f"{pattern!r} is not in the output:\n{self.output}"
            return match

        until(first_match, lambda: f"{pattern!r} in:\n{self.output}")
        match = re.search(pattern, self.output)
        assert match
        return match

    @property
    def ended(self) -> bool:
        return self.field("JobState") not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")

    def end(self) -> str:
        """Wait for the end and return the state."""
        until(lambda: self.ended, lambda: f"end of job {self.number}:\n{self.output}")
        return self.field("JobState")


class Slurm:
    """Commands of the cluster."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def call(self, *command: object, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [str(word) for word in command],
            env=self.environment, cwd=cwd, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def submit(
        self, folder: Path, script: str, *arguments: object, options: str = "", **more: str
    ) -> Job:
        """Submit a script of examples/jobs in a folder; `more` is added to the environment."""
        output = folder / f"{Path(script).stem}-{len(list(folder.glob('*.out')))}.out"
        output.touch()
        command = ["sbatch", "--parsable", f"--output={output}", *options.split()]
        command += [str(JOBS / script), *map(str, arguments)]
        before = self.environment
        self.environment = before | more
        try:
            number = self.call(*command, cwd=folder).strip()
        finally:
            self.environment = before
        return Job(self, number, output)


@contextlib.contextmanager
def running_cluster(job_environment: dict[str, str]) -> Iterator[Slurm]:
    """Start a cluster, and end it with all its jobs; skip the test where there can be none."""
    if reason := cluster.missing():
        pytest.skip(reason)
    # The paths of sockets must be short.
    folder = Path(tempfile.mkdtemp(prefix="uz-slurm-"))
    # The cluster ends when this pipe is closed: also when this process is killed.
    daemons = subprocess.Popen(
        [sys.executable, cluster.__file__, folder, "4"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert daemons.stdin is not None and daemons.stdout is not None
    try:
        line = daemons.stdout.readline().strip()
        if line != "ready":
            pytest.skip(line or "Slurm cannot be started here")
        binaries = Path(sys.executable).parent
        yield Slurm(
            job_environment
            | {
                "SLURM_CONF": str(folder / "slurm.conf"),
                "PATH": f"{binaries}:{os.environ['PATH']}",
            }
        )
    finally:
        daemons.stdin.close()
        daemons.wait(60)
