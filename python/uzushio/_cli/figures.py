"""`uzushio figures`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.parallel.signals import exit_on_signal
from uzushio._cli.arguments import Debug, Ranks, path_argument
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.options import Fallback, JobOptions, Quiet

if TYPE_CHECKING:
    from mpi4py import MPI


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
    options = JobOptions(restart=folder, restart_fallback=restart_fallback, quiet=quiet)
    start_job(ranks)

    def work(comm: MPI.Intracomm) -> int:
        from uzushio._cli.writing_again import write_again

        return write_again(comm, options)

    raise SystemExit(run_on_ranks(work, ranks, debug))
