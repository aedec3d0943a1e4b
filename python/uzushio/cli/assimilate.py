"""`uzushio assimilate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

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
)
from uzushio.cli.start import need_case, run_on_ranks, start_job
from uzushio.job.options import Options
from uzushio.parallel.signals import exit_on_signal
from uzushio.terminal import tell

if TYPE_CHECKING:
    from mpi4py import MPI


def assimilate(
    case: RestartedCase = None,
    ranks: Ranks = None,
    overrides: Overrides = None,
    restart: Restart = None,
    restart_fallback: Fallback = False,
    out: Out = None,
    overwrite: Overwrite = False,
    no_tuned: Annotated[
        bool,
        typer.Option(
            "--no-tuned", help="Ignore the values that `uzushio tune` found for this machine."
        ),
    ] = False,
    no_figures: NoFigures = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate a model's initial state and parameters from observations.

    Ctrl-C, SIGTERM and SIGUSR1 finish the iteration, write a checkpoint and stop; a second one
    stops at once. docs/how-to/assimilate.md describes the case and the folder.

    To continue an assimilation: uzushio assimilate --restart DIR; docs/how-to/run.md.
    """
    exit_on_signal()
    need_case(case, restart)
    options = Options(
        restart=restart,
        fallback=restart_fallback,
        out=out,
        overwrite=overwrite,
        quiet=quiet,
        figures=not no_figures,
        command="assimilate",
        ranks=ranks,
    )
    start_job(ranks)

    def work(comm: MPI.Intracomm) -> int:
        from uzushio.assimilation.case import load_assimilation
        from uzushio.assimilation.run import run as assimilate_case
        from uzushio.job.restart import source_of_case
        from uzushio.tuning.use import tuned_overrides

        source = source_of_case(case, overrides or [], options, comm)
        file, given = source.file, source.overrides
        say = (lambda _: None) if quiet else tell
        tuned = [] if no_tuned else tuned_overrides(file, given, comm, say)
        return assimilate_case(load_assimilation(file, [*given, *tuned]), comm, source.options)

    raise SystemExit(run_on_ranks(work, ranks, debug))
