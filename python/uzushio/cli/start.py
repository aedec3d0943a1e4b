"""Starts of commands: on this process, on the ranks of an MPI job, or as such a job."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from uzushio.errors import LaunchError, UzushioError
from uzushio.parallel import launch
from uzushio.parallel.collective import guarded

if TYPE_CHECKING:
    from mpi4py import MPI


def need_case(case: Path | None, restart: Path | None) -> None:
    """Raise `BadParameter` unless there is a case to read."""
    if case is None and restart is None:
        raise typer.BadParameter(
            "name the case; only --restart DIR needs none.", param_hint="'CASE.yaml'"
        )


def start_job(ranks: int | None) -> None:
    """Start this command as an MPI job and exit with its status, if `--ranks` asks for one."""
    try:
        if launch.wants_job(ranks) and ranks is not None:
            raise SystemExit(launch.run_job(ranks, sys.argv[1:]))
    except UzushioError as error:
        fail(error)


def run_on_ranks(work: Callable[[MPI.Intracomm], int], ranks: int | None, debug: bool) -> int:
    """Call `work` on the ranks of this MPI job, or on one; return the exit status."""
    launch.prepare_environment()
    from mpi4py import MPI

    comm = launch.program_comm(MPI.COMM_WORLD)

    def checked() -> int:
        launch.check_size(MPI.COMM_WORLD.size, MPI.Get_library_version())
        if ranks not in (None, comm.size):
            raise LaunchError(
                f"--ranks {ranks} was given, but the MPI job has {comm.size}; leave --ranks out."
            )
        return work(comm)

    return guarded(comm, checked, debug)


def fail(error: UzushioError) -> NoReturn:
    """Print an error and exit with status 1."""
    print(f"uzushio: error: {error}", file=sys.stderr)
    raise SystemExit(1)
