"""`uzushio run` and `uzushio figures`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio.case.model import load_case
from uzushio.cli.arguments import (
    Debug,
    Fallback,
    NoFigures,
    Out,
    Overrides,
    Overwrite,
    Quiet,
    Ranks,
    Restart,
    RestartedCase,
    path_argument,
)
from uzushio.cli.start import need_case, run_on_ranks, start_job
from uzushio.job.options import Options
from uzushio.parallel.signals import exit_on_signal

if TYPE_CHECKING:
    from mpi4py import MPI


def run(
    case: RestartedCase = None,
    ranks: Ranks = None,
    overrides: Overrides = None,
    restart: Restart = None,
    restart_fallback: Fallback = False,
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
    out: Out = None,
    overwrite: Overwrite = False,
    no_figures: NoFigures = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a case.

    Ctrl-C, SIGTERM and SIGUSR1 finish the step, write a checkpoint and stop; a second one stops at
    once. Under your own mpiexec send SIGUSR1 to mpiexec, which kills its ranks on the other two.

    To continue a run: uzushio run --restart DIR; docs/how-to/run.md.
    """
    exit_on_signal()
    need_case(case, restart)
    options = Options(
        restart=restart,
        fallback=restart_fallback,
        out=out,
        overwrite=overwrite,
        quiet=quiet,
        reset_statistics=reset_statistics,
        figures=not no_figures,
        ranks=ranks,
        interpolate=interpolate,
    )
    start_job(ranks)
    raise SystemExit(_run_here(case, overrides or [], options, ranks, debug))


def _run_here(
    file: Path | None, overrides: list[str], options: Options, ranks: int | None, debug: bool
) -> int:
    """Run a case on the ranks of this MPI job, or on one."""

    def work(comm: MPI.Intracomm) -> int:
        from uzushio.job.case_run import run as run_case
        from uzushio.job.restart import source_of_case

        source = source_of_case(file, overrides, options, comm)
        return run_case(load_case(source.file, source.overrides), comm, source.options)

    return run_on_ranks(work, ranks, debug)


def figures(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            parser=path_argument,
            help="Folder of a run or an assimilation, or of one of its checkpoints.",
        ),
    ],
    ranks: Ranks = None,
    restart_fallback: Fallback = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write statistics, figures and summary of a run again, from its newest checkpoint.

    For a run that was killed, had no space for them, or ran with --no-figures. No step is computed.
    Of an assimilation: estimate, history, figures and summary, without an iteration. uzushio report
    makes a page of them.
    """
    exit_on_signal("Stopped before the first figure; nothing was written.")
    options = Options(restart=folder, fallback=restart_fallback, quiet=quiet)
    start_job(ranks)

    def work(comm: MPI.Intracomm) -> int:
        from uzushio.cli.figures import write_again

        return write_again(comm, options)

    raise SystemExit(run_on_ranks(work, ranks, debug))
