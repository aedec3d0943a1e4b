"""`uzushio assimilate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.terminal import tell
from uzushio._cli.arguments import flattened
from uzushio._cli.job_arguments import JobArguments

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


@flattened
def assimilate(
    job: JobArguments,
    no_tuned: Annotated[
        bool,
        typer.Option(
            "--no-tuned", help="Ignore the values that `uzushio tune` found for this machine."
        ),
    ] = False,
    check_gradient: Annotated[
        bool,
        typer.Option(
            "--check-gradient",
            help="Only test the model's adjoint and the gradient of J; status 1 if one is wrong.",
        ),
    ] = False,
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
        say = (lambda _: None) if job.quiet else tell
        tuned = [] if no_tuned else tuned_overrides(file, given, comm, say)
        loaded = load_assimilation(file, [*given, *tuned])
        if check_gradient:
            checked = gradient_check.check_gradient(loaded, comm)
            if comm.rank == 0:
                print(checked)
            return 0 if checked.passed else 1
        return assimilate_case(loaded, comm, source.options)

    job.compute(work, command="assimilate")
