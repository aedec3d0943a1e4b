"""`uzushio record`."""

from __future__ import annotations

from enum import StrEnum
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.parallel.signals import exit_on_signal
from uzushio._cli.arguments import Debug, Ranks, StreamArguments, path_option
from uzushio._cli.start import run_on_ranks, start_job

if TYPE_CHECKING:
    from mpi4py import MPI


class Form(StrEnum):
    """Form of the stored steps."""

    zarr = "zarr"
    vtkhdf = "vtkhdf"


def record(
    source: Annotated[
        str,
        typer.Argument(
            parser=expanduser,
            metavar="CONTACT",
            help="Contact file of the writer or of a relay; host:port; a folder of stored steps.",
        ),
    ],
    reader: StreamArguments,
    out: Annotated[
        Path, path_option(metavar="DIR", help="Folder of the stored fields, of this job only.")
    ] = Path("recorded"),
    form: Annotated[Form, typer.Option("--to", help="Form of the files.")] = Form.zarr,
    fields: Annotated[
        list[str] | None, typer.Option("--field", help="Field to store; default: all.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Number of steps between stored ones.")] = 1,
    limit: Annotated[
        float, typer.Option(min=0.0, help="Timeout in seconds of each step.")
    ] = 3600.0,
    ranks: Ranks = None,
    debug: Debug = False,
) -> None:
    """Store the steps of a running solver: a file for the fields of each mesh.

    The solver's own options stay as they are: views may use the same stream. Under the policy
    latest_only, steps that come while others are stored are skipped. Ctrl-C and SIGTERM complete
    the files.

    uzushio record run/channel.contact --out kept --to vtkhdf
    """
    exit_on_signal()
    start_job(ranks)

    def store(comm: MPI.Comm) -> int:
        from uzushio._cli.recording import record_stream

        contact = reader.contact(source)
        return record_stream(contact, out, form.value, fields or [], every, limit, comm)

    raise SystemExit(run_on_ranks(store, ranks, debug))
