"""`uzushio assimilate`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._cli.job_arguments import JobArguments
from uzushio._job.options import JobOptions

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


def assimilate(
    job: JobArguments,
    options: JobOptions,
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

    def work(source: CaseSource[JobOptions], comm: MPI.Intracomm) -> int:
        from uzushio.assimilation import gradient_check
        from uzushio.assimilation.case import load_assimilation
        from uzushio.assimilation.run import run as assimilate_case

        loaded = load_assimilation(source.file, source.overrides)
        if check_gradient:
            checked = gradient_check.check_gradient(loaded, comm)
            if comm.rank == 0:
                print(checked)
            return 0 if checked.passed else 1
        return assimilate_case(loaded, comm, source.options)

    job.compute(work, replace(options, command="assimilate"))
