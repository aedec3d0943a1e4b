"""Commands on streams: `plan`, `inspect`, `relay`."""

from __future__ import annotations

from os.path import expanduser
from pathlib import Path
from typing import Annotated

import typer

from uzushio._base.parallel import launch
from uzushio._base.parallel.console import standard_console
from uzushio._cli.arguments import NoVerify, Secret, path_argument, path_option, size_argument
from uzushio._cli.plan_report import print_report, to_json
from uzushio._cli.start import run_on_ranks, start_job
from uzushio.staging.plan import load_plan
from uzushio.staging.plan_rates import assess


def plan(
    file: Annotated[
        Path, typer.Argument(parser=path_argument, metavar="PLAN.yaml", help="The plan to read.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
) -> None:
    """Predict whether staged steps reach their readers in time, and name the bottleneck."""
    planned = load_plan(file)
    assessment = assess(planned)
    if as_json:
        print(to_json(assessment))
    else:
        print_report(planned, assessment, standard_console(highlight=False))


def inspect(
    contact: Annotated[
        str,
        typer.Argument(
            parser=expanduser,
            metavar="CONTACT",
            help="A contact file, host:port, or a folder of stored steps.",
        ),
    ],
    steps: Annotated[
        int, typer.Option(min=0, help="Number of steps to read; 0: until the stream ends.")
    ] = 1,
    limit: Annotated[
        float, typer.Option(min=0.0, help="Timeout in seconds, of the writer and of each step.")
    ] = 60.0,
    secret: Secret = "",
    no_verify: NoVerify = False,
) -> None:
    """Print the meshes, fields and blocks of a running or stored stream, and their ranges."""
    from uzushio._cli.inspect import inspect as look

    look(
        contact,
        standard_console(highlight=False),
        steps,
        limit,
        secret,
        False if no_verify else None,
    )


def relay(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            parser=expanduser,
            metavar="CONTACT",
            help="Contact file of the writer or of another relay; or host:port.",
        ),
    ],
    target: Annotated[
        Path,
        path_option(
            "--to", metavar="CONTACT", help="Contact file to write, for readers or relays."
        ),
    ],
    listen: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 or :: for all.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="Port of rank 0; further ranks use the next ones. 0: any free port.",
        ),
    ] = 0,
    advertise: Annotated[
        str, typer.Option(metavar="HOST", help="Host name that readers connect to.")
    ] = "",
    tls: Annotated[bool, typer.Option("--tls", help="Use TLS 1.3 towards readers.")] = False,
    secret: Annotated[
        str,
        typer.Option(envvar="UZUSHIO_SECRET", help="Secret in hexadecimal, for --from host:port."),
    ] = "",
    from_tls: Annotated[
        bool, typer.Option("--from-tls", help="With --from host:port: the writer uses TLS.")
    ] = False,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Maximum memory of a rank.")
    ] = "64 MiB",
    once: Annotated[
        bool,
        typer.Option("--once", help="End with the writer instead of waiting for the next one."),
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0.0, help="With --once: timeout in seconds of the writer.")
    ] = 60.0,
    ranks: Annotated[
        int | None,
        typer.Option(
            min=1, help="Start an MPI job of this many ranks, which share the writer's ranks."
        ),
    ] = None,
    verbose: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Interval of progress lines on stderr."),
    ] = None,
    summary: Annotated[
        Path | None,
        path_option(
            metavar="FILE",
            help="Write a summary in JSON at the end; uzushio report finds relay*.json.",
        ),
    ] = None,
) -> None:
    """Forward a stream from the network of a writer to that of its readers.

    Readers attach to the contact file that --to names. The relay stores no step. Writers and
    readers may start and end at any time; Ctrl-C or SIGTERM ends the relay.

    On a gateway between the two: uzushio relay --from flow.contact --to outside.contact
    --listen 0.0.0.0 --port 47000 --tls; then copy outside.contact to where the readers are.
    """
    from uzushio._cli import relay as relaying
    from uzushio.staging.relay import RelayOptions

    start_job(ranks, stopped=0)
    size = size_argument("--memory", memory)
    options = RelayOptions(
        source, target, secret, from_tls, listen, port, advertise, tls, size, once, wait
    )
    if launch.ranks_around() is None:
        raise SystemExit(relaying.relay(options, None, verbose, summary))
    raise SystemExit(
        run_on_ranks(lambda comm: relaying.relay(options, comm, verbose, summary), ranks)
    )
