"""Arguments of the commands that compute a case, and the job that they start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from uzushio._base.parallel.signals import exit_on_signal
from uzushio._cli.arguments import Debug, Overrides, Ranks, path_argument
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.options import AnyOptions

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


@dataclass(frozen=True)
class JobArguments:
    """Arguments of each command that computes a case, besides `JobOptions`."""

    case: Annotated[
        Path | None,
        typer.Argument(
            metavar="CASE.yaml",
            parser=path_argument,
            help="The case to read; with --restart the run's own case is the default.",
        ),
    ] = None
    ranks: Ranks = None
    overrides: Overrides = None
    debug: Debug = False

    def compute(
        self, work: Callable[[CaseSource[AnyOptions], MPI.Intracomm], int], options: AnyOptions
    ) -> NoReturn:
        """Call `work` with the source of the case on the ranks of a job; exit with its status."""
        exit_on_signal()
        if self.case is None and options.restart is None:
            raise typer.BadParameter(
                "name the case; only --restart DIR needs none.", param_hint="'CASE.yaml'"
            )
        start_job(self.ranks, affinity=options.affinity)

        def on_ranks(comm: MPI.Intracomm) -> int:
            from uzushio._job.restart import source_of_case, with_tuned

            given = replace(options, ranks=self.ranks)
            source = source_of_case(self.case, self.overrides or [], given, comm)
            return work(with_tuned(source, comm), comm)

        raise SystemExit(run_on_ranks(on_ranks, self.ranks, self.debug))
