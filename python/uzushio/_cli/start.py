"""Starts of commands: on this process, on the ranks of an MPI job, or as such a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from uzushio._base.parallel import launch
from uzushio._base.parallel.affinity import Policy
from uzushio._base.parallel.allocation import keep_freed_memory
from uzushio._base.parallel.signals import stop_signals
from uzushio._base.parallel.sync import guarded
from uzushio._cli.config import RECORDER, installation
from uzushio.errors import LaunchError, UzushioError

if TYPE_CHECKING:
    from mpi4py import MPI


def start_job(
    ranks: int | None, stopped: int | None = None, affinity: Policy = Policy.NONE
) -> None:
    """Start this command as an MPI job and exit with its status, if `--ranks` asks for one.

    Args:
        ranks: as `--ranks`.
        stopped: exit status after a stop signal; None: 128 plus the signal.
        affinity: as `--affinity`; the launcher binds no ranks that bind themselves.
    """
    if launch.wants_job(ranks) and ranks is not None:
        status = launch.run_job(ranks, sys.argv[1:], affinity is not Policy.NONE)
        by_signal = stopped is not None and status - 128 in stop_signals()
        raise SystemExit(stopped if by_signal else status)


def record_traffic(file: Path, ranks: int | None) -> None:
    """Let the ranks of the job that `start_job` starts record their traffic into a file.

    Raises:
        LaunchError: this process starts no job, and its own MPI is not recorded.
    """
    library = installation() / "lib" / RECORDER
    loaded = os.environ.get("LD_PRELOAD", "").split(":")
    if str(library) in loaded:
        return
    if not launch.wants_job(ranks):
        raise LaunchError(
            "--traffic records the messages of ranks that --ranks starts; under your own mpiexec, "
            "set LD_PRELOAD to the output of `uzushio config --traffic`, and UZUSHIO_TRAFFIC to "
            "the file."
        )
    if not os.access(file.absolute().parent, os.W_OK):
        raise LaunchError(f"--traffic: {file} cannot be written; name a file in a folder that can.")
    os.environ["LD_PRELOAD"] = ":".join([str(library), *filter(None, loaded)])
    os.environ["UZUSHIO_TRAFFIC"] = str(file.absolute())


def run_on_ranks(
    work: Callable[[MPI.Intracomm], int], ranks: int | None = None, debug: bool = False
) -> int:
    """Call `work` on the ranks of this MPI job, or on one; return the exit status.

    Args:
        work: takes the communicator of all ranks and returns the exit status.
        ranks: as `--ranks`; another size of the job is an error.
        debug: print tracebacks of errors.
    """
    launch.prepare_environment()
    keep_freed_memory()
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
