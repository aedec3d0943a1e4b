"""Commands that show results: `render` and `report`."""

from __future__ import annotations

from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio.cli.arguments import (
    Debug,
    NoVerify,
    path_argument,
)
from uzushio.cli.start import fail, start_job
from uzushio.errors import UzushioError
from uzushio.parallel.signals import exit_on_signal

if TYPE_CHECKING:
    pass


def render(
    pipeline: Annotated[
        Path,
        typer.Argument(
            parser=path_argument,
            metavar="PIPELINE.yaml",
            help="The pipeline to apply to each step.",
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            parser=expanduser,
            metavar="CONTACT|STORE",
            help="Contact file of the writer or of a relay; host:port; or a folder of stored "
            "steps, during or after the run.",
        ),
    ],
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Start an MPI job of this many ranks, which share the mesh. Default: one rank, or "
            "those of the mpiexec or srun that started this command.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            parser=path_argument, metavar="DIR", help="Folder of the results, of this job only."
        ),
    ] = Path("rendered"),
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Remove the results of an earlier job in that folder."),
    ] = False,
    stream: Annotated[
        str, typer.Option(help="Expected name of the stream; another one is an error.")
    ] = "",
    wait: Annotated[float, typer.Option(min=0.0, help="Timeout in seconds of the writer.")] = 60.0,
    limit: Annotated[
        float, typer.Option(min=0.0, help="Timeout in seconds of each step.")
    ] = 3600.0,
    secret: Annotated[
        str, typer.Option(envvar="UZUSHIO_SECRET", help="Secret in hexadecimal, for host:port.")
    ] = "",
    tls: Annotated[bool, typer.Option("--tls", help="For host:port: the writer uses TLS.")] = False,
    no_verify: NoVerify = False,
    progress: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between lines of progress.")
    ] = 5.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")] = False,
    debug: Debug = False,
) -> None:
    """Make pictures, movies and more of the steps of a running solver, or of stored steps.

    docs/how-to/pictures.md describes PIPELINE.yaml. The job may be started before the solver, or
    while it runs. It ends with the stream; Ctrl-C and SIGTERM finish the movies and end it earlier.
    DIR/summary.json lists the results and the time of each stage.

    Live: uzushio render pipeline.yaml --from runs/channel/channel.contact --ranks 2

    Later: uzushio render pipeline.yaml --from runs/channel/published/channel.zarr
    """
    exit_on_signal()
    start_job(ranks)
    from uzushio.cli import render as render_command

    options = render_command.RenderOptions(
        pipeline,
        source,
        out,
        overwrite,
        stream,
        wait,
        limit,
        secret,
        tls,
        progress,
        quiet,
        False if no_verify else None,
    )
    raise SystemExit(render_command.render(options, ranks, debug))


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            parser=path_argument,
            metavar="FOLDER...",
            help="Folders of a run and of jobs that read it; folders below are included.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=path_argument,
            metavar="FILE",
            help="File of the page. Default: FOLDER/report.html.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page. Default: the title of the run.")
    ] = None,
    embed: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Maximum size of an embedded file; larger ones are linked."
        ),
    ] = "16 MB",
) -> None:
    """Write one HTML page of a run: pictures, movies, plots, figures, staging, timings.

    The page needs no network, and no other file but those that are larger than --embed.
    """
    from uzushio.config.quantities import parse_size
    from uzushio.report import write_report

    try:
        try:
            most = parse_size(embed)
        except ValueError as error:
            raise UzushioError(f"--embed {embed}: {error}.") from None
        assert isinstance(most, float)
        print(write_report(folders, out, title, int(most), 4 * int(most)))
    except UzushioError as error:
        fail(error)
