"""Commands that compute a case: `run`, `assimilate` and `figures`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from uzushio._base.parallel.affinity import Policy
from uzushio._base.parallel.signals import exit_on_signal
from uzushio._base.terminal import tell
from uzushio._cli.arguments import (
    Affinity,
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
    path_option,
)
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.options import Options
from uzushio.case.model import load_case

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


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
    trace: Annotated[
        Path | None,
        path_option(metavar="FILE", help="Write a trace of all ranks for ui.perfetto.dev (JSON)."),
    ] = None,
    affinity: Affinity = Policy.NONE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a case.

    Ctrl-C, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2 finish the step, write a checkpoint and stop; a
    second one stops at once. Under your own mpiexec send SIGUSR1 or SIGUSR2 to mpiexec, which kills
    its ranks on the others.

    To continue a run: uzushio run --restart DIR; docs/how-to/run.md.
    """

    def work(source: CaseSource, comm: MPI.Intracomm) -> int:
        from uzushio._job.case_run import run as run_case

        return run_case(load_case(source.file, source.overrides), comm, source.options)

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
        trace=trace,
        affinity=affinity,
    )
    _compute(case, overrides or [], options, debug, work)


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
    check_gradient: Annotated[
        bool,
        typer.Option(
            "--check-gradient",
            help="Only test the model's adjoint and the gradient of J; status 1 if one is wrong.",
        ),
    ] = False,
    affinity: Affinity = Policy.NONE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate a model's initial state and parameters from observations.

    Ctrl-C, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2 finish the iteration, write a checkpoint and stop;
    a second one stops at once. docs/how-to/assimilate.md describes the case and the folder.

    To continue an assimilation: uzushio assimilate --restart DIR; docs/how-to/run.md.
    """

    def work(source: CaseSource, comm: MPI.Intracomm) -> int:
        from uzushio.assimilation import gradient_check
        from uzushio.assimilation.case import load_assimilation
        from uzushio.assimilation.run import run as assimilate_case
        from uzushio.tuning.use import tuned_overrides

        file, given = source.file, source.overrides
        say = (lambda _: None) if quiet else tell
        tuned = [] if no_tuned else tuned_overrides(file, given, comm, say)
        loaded = load_assimilation(file, [*given, *tuned])
        if check_gradient:
            checked = gradient_check.check_gradient(loaded, comm)
            if comm.rank == 0:
                print(checked)
            return 0 if checked.passed else 1
        return assimilate_case(loaded, comm, source.options)

    options = Options(
        restart=restart,
        fallback=restart_fallback,
        out=out,
        overwrite=overwrite,
        quiet=quiet,
        figures=not no_figures,
        command="assimilate",
        ranks=ranks,
        affinity=affinity,
    )
    _compute(case, overrides or [], options, debug, work)


def _compute(
    case: Path | None,
    overrides: list[str],
    options: Options,
    debug: bool,
    work: Callable[[CaseSource, MPI.Intracomm], int],
) -> NoReturn:
    """Call `work` with the source of the case on the ranks of a job, and exit with its status."""
    exit_on_signal()
    if case is None and options.restart is None:
        raise typer.BadParameter(
            "name the case; only --restart DIR needs none.", param_hint="'CASE.yaml'"
        )
    start_job(options.ranks, affinity=options.affinity)

    def on_ranks(comm: MPI.Intracomm) -> int:
        from uzushio._job.restart import source_of_case

        return work(source_of_case(case, overrides, options, comm), comm)

    raise SystemExit(run_on_ranks(on_ranks, options.ranks, debug))


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
        from uzushio._cli.figures import write_again

        return write_again(comm, options)

    raise SystemExit(run_on_ranks(work, ranks, debug))
