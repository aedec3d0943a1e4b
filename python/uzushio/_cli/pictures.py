"""Commands that show results: `render`, `view` and `report`."""

from __future__ import annotations

from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.parallel.signals import exit_on_signal
from uzushio._cli.arguments import (
    Debug,
    NoVerify,
    Ranks,
    Secret,
    path_argument,
    path_option,
    size_argument,
)
from uzushio._cli.start import run_on_ranks, start_job
from uzushio.errors import UzushioError

if TYPE_CHECKING:
    from mpi4py import MPI


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
            metavar="CONTACT|RUN|STORE",
            help="Contact file of the writer or of a relay; host:port; the folder of a run; or a "
            "folder of stored steps, during or after the run.",
        ),
    ],
    ranks: Ranks = None,
    out: Annotated[
        Path, path_option(metavar="DIR", help="Folder of the results, of this job only.")
    ] = Path("rendered"),
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Remove the results of an earlier job in that folder."),
    ] = False,
    checkpoint: Annotated[
        bool,
        typer.Option(
            "--checkpoint",
            help="Use the checkpoints of the run --from instead of a stream, or one checkpoint; "
            "needs the memory of the run.",
        ),
    ] = False,
    stream: Annotated[
        str, typer.Option(help="Expected name of the stream; another one is an error.")
    ] = "",
    wait: Annotated[float, typer.Option(min=0.0, help="Timeout in seconds of the writer.")] = 60.0,
    limit: Annotated[
        float, typer.Option(min=0.0, help="Timeout in seconds of each step.")
    ] = 3600.0,
    secret: Secret = "",
    tls: Annotated[bool, typer.Option("--tls", help="For host:port: the writer uses TLS.")] = False,
    no_verify: NoVerify = False,
    progress: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Between lines of progress.")
    ] = 5.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")] = False,
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
        from uzushio._cli import render as rendering
        from uzushio.staging.contact import Contact

        contact = Contact(source, stream, wait, secret, tls, False if no_verify else None)
        options = rendering.RenderOptions(pipeline, contact, out, overwrite, limit, progress, quiet)
        if checkpoint:
            from uzushio._cli.render_checkpoints import render_checkpoints

            return render_checkpoints(options, comm)
        return rendering.render(options, comm)

    raise SystemExit(run_on_ranks(draw, ranks, debug))


def view(
    source: Annotated[
        str | None,
        typer.Argument(
            parser=expanduser,
            metavar="CONTACT|RUN|HOST:PORT",
            help="Contact file of a writer or a relay; folder of a run; folder of stored steps; "
            "or host:port.",
        ),
    ] = None,
    ranks: Ranks = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page. 0: any free port.")
    ] = 0,
    pipeline: Annotated[
        Path | None,
        path_option(metavar="FILE", help="Begin with the views and sources of a pipeline file."),
    ] = None,
    list_streams: Annotated[
        bool,
        typer.Option("--list", help="Print what can be attached to on this machine, and end."),
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others can reach any but the default.")
    ] = "127.0.0.1",
    unix_socket: Annotated[
        Path | None,
        path_option(
            "--socket",
            metavar="PATH",
            help="Listen on a Unix socket instead; --port is then the browser's port.",
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy before the page, as https://hub.org. Repeatable."),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Path of the page behind a proxy, as /user/ann/proxy/8080.")
    ] = "",
    rewind: Annotated[
        str, typer.Option(metavar="SIZE", help="Maximum memory of kept steps, of all ranks.")
    ] = "1 GiB",
    stream: Annotated[
        str, typer.Option(help="Expected name of the stream; another one is an error.")
    ] = "",
    wait: Annotated[float, typer.Option(min=0.0, help="Timeout in seconds of the writer.")] = 60.0,
    secret: Secret = "",
    tls: Annotated[bool, typer.Option("--tls", help="For host:port: the writer uses TLS.")] = False,
    no_verify: NoVerify = False,
    debug: Debug = False,
) -> None:
    """Show a running solver, or stored steps, in a browser.

    The command prints the address of the page, with a token for one use. The solver does not wait
    for it. Ctrl-C ends the live view, not the solver.

    A running solver: uzushio view runs/channel --ranks 2

    List of streams: uzushio view --list
    """
    from uzushio._cli import view as viewing

    if list_streams:
        viewing.list_sources()
        return
    if source is None:
        raise UzushioError(
            "name what to look at: a contact file, the folder of a run, or host:port; "
            "'uzushio view --list' shows what there is."
        )
    exit_on_signal("Stopped before the first picture.")
    start_job(ranks, stopped=0)

    def serve(comm: MPI.Comm) -> int:
        from uzushio.staging.contact import Contact
        from uzushio.viewer.listening import Listening

        contact = Contact(source, stream, wait, secret, tls, False if no_verify else None)
        kept = size_argument("--rewind", rewind)
        listening = Listening(host, port, unix_socket, tuple(origin or ()), prefix)
        return viewing.view(contact, listening, pipeline, kept, comm)

    raise SystemExit(run_on_ranks(serve, ranks, debug))


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
        path_option(metavar="FILE", help="File of the page. Default: FOLDER/report.html."),
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
    from uzushio.report import write_report

    limit = size_argument("--embed", embed)
    print(write_report(folders, out, title, limit, 4 * limit))
