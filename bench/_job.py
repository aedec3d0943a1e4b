"""Measurements in a separate process or MPI job, which prints its result as a line of JSON."""

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
    """Run a script of this folder, and return the value of its last line.

    Args:
        script: path of the script.
        words: arguments of the script.
        launcher: command that starts it; empty: no launcher.
        environment: variables besides those of this process.

    Raises:
        SystemExit: The script failed; with its output.
        subprocess.TimeoutExpired: The script took too long.
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
    """Run a script in an MPI job like `measured`, with a number of threads per rank."""
    prepare_environment()
    environment = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    launcher = (str(find_mpiexec()), "-n", str(ranks), "--oversubscribe", "--bind-to", "none")
    return measured(script, *words, launcher=launcher, environment=environment)
