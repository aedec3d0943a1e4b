"""Measurements in a separate process or MPI job, which prints its result as a line of JSON.

    [mpiexec …] python _job.py MODULE FUNCTION ARGUMENTS

calls a function of a module of this folder with arguments in JSON, and prints on rank 0 what it
returns there.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from uzushio._base.parallel.launch import find_mpiexec, prepare_environment

TIME_LIMIT = 1800.0  # seconds for one command
#: Turns for which idle threads wait in a run in which each has a core.
SPINS = 4000
#: Options of mpiexec for ranks that may share cores, and are not bound to any.
UNBOUND = ("--oversubscribe", "--bind-to", "none")


def output_of(
    command: Sequence[object],
    environment: dict[str, str] | None = None,
    time_limit: float = TIME_LIMIT,
) -> str:
    """Run a command and return its standard output.

    Args:
        command: program and arguments.
        environment: variables besides those of this process.
        time_limit: in seconds.

    Raises:
        SystemExit: The command failed; with its output.
        subprocess.TimeoutExpired: The command took too long.
    """
    words = [str(word) for word in command]
    variables = os.environ | (environment or {})
    done = subprocess.run(words, capture_output=True, text=True, timeout=time_limit, env=variables)
    status = done.returncode
    if status != 0:
        how = f"exited with status {status}"
        if status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        raise SystemExit(f"{' '.join(words)} {how}:\n{done.stdout}{done.stderr}")
    return done.stdout


def measured(
    command: Sequence[object],
    environment: dict[str, str] | None = None,
    time_limit: float = TIME_LIMIT,
) -> Any:
    """Run a command like `output_of`, and return the value of its last line, which is JSON."""
    return json.loads(output_of(command, environment, time_limit).splitlines()[-1])


def measured_in_process(
    function: Callable[..., Any], *arguments: Any, environment: dict[str, str] | None = None
) -> Any:
    """Call a function of this folder in a new process, and return its result.

    Args:
        function: function of a module of this folder, at its top level.
        arguments: values that JSON can represent, as the result.
        environment: variables besides those of this process.
    """
    return measured(_call(function, arguments), environment)


def measured_in_job(
    ranks: int,
    function: Callable[..., Any],
    *arguments: Any,
    threads: int | None = None,
    options: Sequence[str] = UNBOUND,
    spins: int | None = None,
) -> Any:
    """Call a function on all ranks of an MPI job, and return the result of rank 0.

    Args:
        ranks: number of ranks.
        function: as of `measured_in_process`.
        arguments: as of `measured_in_process`.
        threads: number of threads per rank; None: as in this process, or one.
        options: options of mpiexec.
        spins: turns for which an idle thread waits before it sleeps; None: as for these ranks.
    """
    prepare_environment(ranks)
    environment = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    if spins is not None:
        environment["GOMP_SPINCOUNT"] = str(spins)
    return measured([*launcher(ranks, options), *_call(function, arguments)], environment)


def measured_program(
    program: Path, *words: object, ranks: int, options: Sequence[str] = UNBOUND
) -> Any:
    """Run a program in an MPI job, and return the value of its last line, which is JSON."""
    prepare_environment()
    return measured([*launcher(ranks, options), program, *words])


def launcher(ranks: int, options: Sequence[str] = UNBOUND) -> list[str]:
    """Return the command that starts a program on a number of ranks."""
    return [str(find_mpiexec()), "-n", str(ranks), *options]


def build_folder() -> Path:
    """Return the build folder of `tools/setup`; raises `SystemExit` if there is no build."""
    folder = Path(__file__).resolve().parents[1] / "build" / "release"
    if not (folder / "CMakeCache.txt").exists():
        raise SystemExit("this benchmark needs the build of tools/setup: run `make build` first")
    return folder


def build_worker(target: str) -> Path:
    """Build a program of this folder, and return its path; raises `SystemExit` if that fails."""
    folder = build_folder()
    output_of(["cmake", "--build", folder, "--target", target])
    return folder / "bench" / target


def _call(function: Callable[..., Any], arguments: Sequence[Any]) -> list[str]:
    """Return the command of a process that calls a function of this folder."""
    module = Path(inspect.getfile(function)).stem
    return [sys.executable, __file__, module, function.__name__, json.dumps(arguments)]


def _main(module: str, function: str, arguments: str) -> None:
    """Call a function, and print its result on rank 0."""
    result = getattr(import_module(module), function)(*json.loads(arguments))
    mpi = sys.modules.get("mpi4py.MPI")  # missing if the function does not use MPI
    if mpi is None or mpi.COMM_WORLD.rank == 0:
        print(json.dumps(result))


if __name__ == "__main__":
    _main(*sys.argv[1:])
