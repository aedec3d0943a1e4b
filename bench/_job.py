"""Measure in a process or an MPI job of its own, which prints its result as a line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from uzushio.parallel.launch import find_mpiexec, prepare_environment

TIME_LIMIT = 900.0  # seconds


def measured(
    script: str,
    *words: object,
    launcher: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Run a script of ours with such words, and return what its last line holds.

    Args:
        script: its path.
        words: that it is given.
        launcher: command that starts it; none: it is started alone.
        environment: variables that it has besides those of this process.

    Raises:
        SystemExit: It failed; says what it said.
        subprocess.TimeoutExpired: It took too long.
    """
    command = [*launcher, sys.executable, script, *map(str, words)]
    variables = os.environ | (environment or {})
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIME_LIMIT, env=variables
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured_in_job(
    ranks: int, script: str, *words: object, threads: int | None = None
) -> dict[str, Any]:
    """The same in an MPI job, each rank with so many threads; raises as `measured` does."""
    prepare_environment()
    environment = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    launcher = (str(find_mpiexec()), "-n", str(ranks), "--oversubscribe", "--bind-to", "none")
    return measured(script, *words, launcher=launcher, environment=environment)
