"""`uzushio render`."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.parallel.signals import exit_on_signal
from uzushio._cli.arguments import Debug, Ranks, StreamArguments, path_argument, path_option
from uzushio._cli.start import run_on_ranks, start_job

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class RenderOptions:
    """Results of a rendering job, and its limits."""

    pipeline: Annotated[
        Path,
        typer.Argument(
            parser=path_argument,
            metavar="PIPELINE.yaml",
            help="The pipeline to apply to each step.",
        ),
    ]
    source: Annotated[
        str,
        typer.Option(
            "--from",
            parser=expanduser,
            metavar="CONTACT|RUN|STORE",
            help="Contact file of the writer or of a relay; host:port; the folder of a run; or a "
            "folder of stored steps, during or after the run.",
        ),
    ]
    out: Annotated[
        Path, path_option(metavar="DIR", help="Folder of the results, of this job only.")
    ] = Path("rendered")
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Remove the results of an earlier job in that folder."),
    ] = False
    limit: Annotated[float, typer.Option(min=0.0, help="Timeout in seconds of each step.")] = 3600.0
    progress: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between lines of progress.")
    ] = 5.0
    quiet: Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")] = False


def render(
    options: RenderOptions,
    reader: StreamArguments,
    ranks: Ranks = None,
    checkpoint: Annotated[
        bool,
        typer.Option(
            "--checkpoint",
            help="Use the checkpoints of the run --from instead of a stream, or one checkpoint; "
            "needs the memory of the run.",
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Make pictures, movies and more of the steps of a running solver, or of stored steps.

    docs/how-to/pipelines.md describes PIPELINE.yaml. The job may be started before the solver, or
    while it runs. It ends with the stream; Ctrl-C and SIGTERM finish the movies and end it earlier.
    DIR/summary.json lists the results and the time of each stage.

    Live: uzushio render pipeline.yaml --from runs/channel/channel.contact --ranks 2

    Later: uzushio render pipeline.yaml --from runs/channel/published/channel.zarr

    Of a run without published steps: uzushio render pipeline.yaml --from runs/channel --checkpoint
    """
    exit_on_signal()
    start_job(ranks)

    def draw(comm: MPI.Comm) -> int:
        if checkpoint:
            from uzushio._cli.render_checkpoints import render_checkpoints

            return render_checkpoints(options, comm)
        from uzushio._cli.rendering import render_stream

        return render_stream(options, reader.contact(options.source), comm)

    raise SystemExit(run_on_ranks(draw, ranks, debug))
