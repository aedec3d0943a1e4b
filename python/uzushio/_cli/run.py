"""`uzushio run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from uzushio._cli.arguments import path_option
from uzushio._cli.job_arguments import JobArguments
from uzushio._cli.start import record_traffic
from uzushio._job.options import RunOptions
from uzushio.case.model import load_case

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


def run(
    job: JobArguments,
    options: RunOptions,
    traffic: Annotated[
        Path | None,
        path_option(
            metavar="FILE",
            help="Record the bytes from rank to rank, for uzushio place --traffic. With --ranks.",
        ),
    ] = None,
) -> None:
    """Run a case.

    Ctrl-C, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2 finish the step, write a checkpoint and stop; a
    second one stops at once. Under your own mpiexec send SIGUSR1 or SIGUSR2 to mpiexec, which kills
    its ranks on the others.

    To continue a run: uzushio run --restart DIR; docs/how-to/run.md.
    """

    def work(source: CaseSource[RunOptions], comm: MPI.Intracomm) -> int:
        from uzushio._job.case_run import run as run_case

        return run_case(load_case(source.file, source.overrides, comm), comm, source.options)

    if traffic is not None:
        record_traffic(traffic, job.ranks)
    job.compute(work, options)
