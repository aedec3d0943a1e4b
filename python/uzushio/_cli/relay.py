"""`uzushio relay`: forwards a stream, and prints its progress, until a signal."""

from __future__ import annotations

import json
import sys
import time
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.config.quantities import show_size
from uzushio._base.error_text import memory_sentence, system_sentence
from uzushio._base.parallel import launch
from uzushio._base.parallel import memory as node_memory
from uzushio._cli.arguments import path_option, size_argument
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.job import Job
from uzushio.errors import MemoryShortageError, OutputError
from uzushio.staging.relay import Relay, RelayOptions, RelayProgress, RelayStatus

if TYPE_CHECKING:
    from mpi4py import MPI

#: Advice in the message about too little memory for a relay.
_ADVICE = (
    "Give the relay less with --memory, use more nodes or fewer ranks a node, or raise the limit."
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
    start_job(ranks, stopped=0)
    size = size_argument("--memory", memory)
    options = RelayOptions(
        source, target, secret, from_tls, listen, port, advertise, tls, size, once, wait
    )
    if launch.ranks_around() is None:
        raise SystemExit(forward(options, None, verbose, summary))
    raise SystemExit(run_on_ranks(lambda comm: forward(options, comm, verbose, summary), ranks))


def forward(
    options: RelayOptions, comm: MPI.Comm | None, every: float | None, summary: Path | None = None
) -> int:
    """Forward a stream until a signal, and return the exit status (collective).

    Args:
        options: addresses and limits.
        comm: ranks of the relay; None: this process alone, without MPI.
        every: seconds between lines on stderr; None: none.
        summary: file for the totals, as JSON; None: none.

    Raises:
        MemoryShortageError: the limit of its memory does not fit the node, or an allocation failed.
        StagingError: the relay cannot listen, or cannot write its contact file.
    """
    try:
        with Job(comm) as job:
            _serve(options, comm, job, every, summary)
    except MemoryError as error:
        raise MemoryShortageError(memory_sentence(error, _ADVICE)) from error
    return 0


def _serve(
    options: RelayOptions, comm: MPI.Comm | None, job: Job, every: float | None, path: Path | None
) -> None:
    began = time.monotonic()
    node_memory.require(comm, options.memory, "the relay", _ADVICE)
    server = Relay(options, comm)
    job.say(f"Readers attach to {options.target}; Ctrl-C ends the relay.")
    name = "relay" if comm is None or comm.size == 1 else f"relay, rank {comm.rank}"

    def say(line: str) -> None:
        print(f"{name}: {line}", file=sys.stderr, flush=True)

    progress = None if every is None else RelayProgress(say, every)

    def go_on() -> bool:
        if progress is not None:
            progress.update(server.status())
        return not job.stop.received

    server.run(go_on)
    job.say(f"The relay has passed on {show_size(server.status().passed)}.")
    if path is not None:
        _write_summary(path, server.status(), comm, time.monotonic() - began)


def _write_summary(path: Path, status: RelayStatus, comm: MPI.Comm | None, seconds: float) -> None:
    """Write the totals of all ranks (collective)."""
    ranks = [status] if comm is None else comm.gather(status)
    if ranks is None:
        return
    content = {
        "stream": ranks[0].stream,
        "ranks": len(ranks),
        "passed": sum(rank_status.passed for rank_status in ranks),
        "max_held": sum(rank_status.max_held for rank_status in ranks),
        "seconds": seconds,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(system_sentence(error)) from error
