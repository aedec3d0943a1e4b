"""`uzushio run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._cli.arguments import NoTuned, flattened, path_option
from uzushio._cli.job_arguments import JobArguments
from uzushio._cli.start import record_traffic
from uzushio.case.model import load_case

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


@flattened
def run(
    job: JobArguments,
    no_tuned: NoTuned = False,
    reset_statistics: Annotated[
        bool,
        typer.Option("--reset-statistics", help="At a restart, discard the averages over time."),
    ] = False,
    interpolate: Annotated[
        bool,
        typer.Option(
            "--interpolate",
            help="At a restart, interpolate a checkpoint of another grid in the same box.",
        ),
    ] = False,
    trace: Annotated[
        Path | None,
        path_option(metavar="FILE", help="Write a trace of all ranks for ui.perfetto.dev (JSON)."),
    ] = None,
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

    def work(source: CaseSource, comm: MPI.Intracomm) -> int:
        from uzushio._job.case_run import run as run_case
        from uzushio._job.restart import with_tuned

        source = source if no_tuned else with_tuned(source, comm)
        return run_case(load_case(source.file, source.overrides, comm), comm, source.options)

    if traffic is not None:
        record_traffic(traffic, job.ranks)
    job.compute(work, reset_statistics=reset_statistics, interpolate=interpolate, trace=trace)
