"""`uzushio report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uzushio._cli.arguments import path_argument, path_option, size_argument


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
