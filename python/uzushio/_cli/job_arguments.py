"""Arguments that `run` and `assimilate` share, and the job that these commands start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from uzushio._base.parallel.affinity import Policy
from uzushio._base.parallel.signals import exit_on_signal
from uzushio._cli.arguments import (
    Affinity,
    Debug,
    Fallback,
    Overrides,
    Quiet,
    Ranks,
    path_argument,
    path_option,
)
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.options import Options

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._job.restart import CaseSource


@dataclass(frozen=True)
class JobArguments:
    """Arguments of each command that computes a case; see `flattened`."""

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
    restart: Annotated[
        Path | None,
        path_option(
            metavar="DIR",
            help="Continue from the newest checkpoint of a run's folder, or from one checkpoint's "
            "folder, on any number of ranks.",
        ),
    ] = None
    restart_fallback: Fallback = False
    out: Annotated[
        Path | None, path_option(metavar="DIR", help="Folder of the run. Default: output.folder.")
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the run that the folder holds.")
    ] = False
    no_figures: Annotated[
        bool, typer.Option("--no-figures", help="Draw no figures, as with output.figures: false.")
    ] = False
    affinity: Affinity = Policy.NONE
    quiet: Quiet = False
    debug: Debug = False

    def compute(self, work: Callable[[CaseSource, MPI.Intracomm], int], **more: Any) -> NoReturn:
        """Call `work` with the source of the case on the ranks of a job; exit with its status.

        Args:
            work: computes the case.
            more: the command's own `Options`.
        """
        exit_on_signal()
        if self.case is None and self.restart is None:
            raise typer.BadParameter(
                "name the case; only --restart DIR needs none.", param_hint="'CASE.yaml'"
            )
        start_job(self.ranks, affinity=self.affinity)
        options = Options(
            restart=self.restart,
            fallback=self.restart_fallback,
            out=self.out,
            overwrite=self.overwrite,
            quiet=self.quiet,
            figures=not self.no_figures,
            ranks=self.ranks,
            affinity=self.affinity,
            **more,
        )

        def on_ranks(comm: MPI.Intracomm) -> int:
            from uzushio._job.restart import source_of_case

            return work(source_of_case(self.case, self.overrides or [], options, comm), comm)

        raise SystemExit(run_on_ranks(on_ranks, self.ranks, self.debug))
