"""`uzushio view`: serves a live view of a stream, until a signal."""

from __future__ import annotations

import getpass
import os
import platform
from dataclasses import replace
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uzushio._base.parallel.signals import exit_on_signal
from uzushio._base.parallel.sync import collective
from uzushio._cli.arguments import (
    Debug,
    Ranks,
    StreamArguments,
    flattened,
    path_option,
    size_argument,
)
from uzushio._cli.start import run_on_ranks, start_job
from uzushio._job.job import Job
from uzushio.errors import UzushioError
from uzushio.viewer.sources import awaited_contact, find, searched_folders

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.contact import Contact
    from uzushio.viewer.document import ViewDocument
    from uzushio.viewer.exchange import Exchange
    from uzushio.viewer.gateway import Gateway
    from uzushio.viewer.listening import Listening

#: Maximum number of a path's parts in the title of the page.
_TITLE_PARTS = 3


@flattened
def view(
    reader: StreamArguments,
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
    debug: Debug = False,
) -> None:
    """Show a running solver, or stored steps, in a browser.

    The command prints the address of the page, with a token for one use. The solver does not wait
    for it. Ctrl-C ends the live view, not the solver.

    A running solver: uzushio view runs/channel --ranks 2

    List of streams: uzushio view --list
    """
    if list_streams:
        list_sources()
        return
    if source is None:
        raise UzushioError(
            "name what to look at: a contact file, the folder of a run, or host:port; "
            "'uzushio view --list' shows what there is."
        )
    exit_on_signal("Stopped before the first picture.")
    start_job(ranks, stopped=0)

    def serve(comm: MPI.Comm) -> int:
        from uzushio.viewer.listening import Listening

        contact = reader.contact(source)
        kept = size_argument("--rewind", rewind)
        listening = Listening(host, port, unix_socket, tuple(origin or ()), prefix)
        return serve_pages(contact, listening, pipeline, kept, comm)

    raise SystemExit(run_on_ranks(serve, ranks, debug))


def token_folder() -> Path:
    """Return the folder of the token files of this user's live views."""
    given = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(given or Path.home() / ".cache") / "uzushio" / "views"


def title_of(source: str) -> str:
    """Return a title for the page: the path below the present folder, or the last parts of it."""
    path = Path(source).expanduser()
    if not path.exists():
        return source
    path = path.resolve()
    here = Path.cwd()
    parts = path.relative_to(here).parts if path.is_relative_to(here) else path.parts
    if not parts:
        return path.name
    return "/".join(parts if len(parts) <= _TITLE_PARTS else ("…", *parts[-_TITLE_PARTS:]))


def serve_pages(
    contact: Contact, listening: Listening, pipeline: Path | None, rewind: int, comm: MPI.Comm
) -> int:
    """Serve a live view on the ranks of `comm` until a signal; return the exit status (collective).

    Args:
        contact: the stream; a run folder stands for the one that the run publishes.
        listening: address of the page.
        pipeline: file with views to begin with.
        rewind: maximum memory of kept steps, bytes.
        comm: the ranks.

    Raises:
        UzushioError: the source, the pipeline or the address cannot be used.
    """
    from uzushio.viewer.budget import Budget
    from uzushio.viewer.document import ViewDocument
    from uzushio.viewer.exchange import DrawRequest, Exchange
    from uzushio.viewer.loop import ViewLoop
    from uzushio.viewer.scene import Scene
    from uzushio.viewer.steps import open_steps

    job, exchange = Job(comm), Exchange()
    source, gateway, first = "", None, None
    with collective(comm):
        if job.rank == 0:
            document = ViewDocument()  # mistakes are reported before a wait
            if pipeline is not None:
                document.load(pipeline)
                name, entry = next(iter(document.views.items()))
                first = DrawRequest(name, 0, document.sources, entry.settings)
            gateway = _gateway(listening, contact.contact, exchange, document)
            source = awaited_contact(contact.contact, contact.wait)
    source = comm.bcast(source)
    steps = open_steps(replace(contact, contact=source), job.comm)
    with job:
        with collective(comm):
            if gateway is not None:
                gateway.start()
        try:
            if gateway is not None:
                _say_address(job, gateway, listening, source)
            scene = Scene(job.comm, Path.cwd(), Budget(job.stop.asked))
            title = title_of(contact.contact)
            ViewLoop(job, steps, scene, exchange, rewind, title, first).run()
            steps.close()
        finally:
            if gateway is not None:
                gateway.stop()
    job.say("The live view has ended; the solver was not told, and continues.")
    return 0


def _gateway(
    listening: Listening, title: str, exchange: Exchange, document: ViewDocument
) -> Gateway:
    """Return the gateway, which does not listen yet."""
    from uzushio.viewer.gateway import Gateway
    from uzushio.viewer.token_file import own_path, remove_dead

    remove_dead(token_folder())
    file = own_path(token_folder())
    return Gateway(exchange, document, listening, file, title)


def _say_address(job: Job, gateway: Gateway, listening: Listening, source: str) -> None:
    """Print the page's address, and how to reach it from another machine (rank 0)."""
    job.say(f"Attached to {source}. Open this address once; Ctrl-C ends the live view:")
    job.say(f"\n    {gateway.address()}\n")
    job.say(f"Read only, without the right to steer: {gateway.address(read_only=True)}\n")
    user, node = getpass.getuser(), platform.node()
    target = str(listening.socket) if listening.socket else f"127.0.0.1:{gateway.port}"
    if listening.socket is not None or listening.host in ("127.0.0.1", "localhost", "::1"):
        forward = f"ssh -N -L {gateway.port}:{target} {user}@{node}"
        job.say(f"From another machine, first run there: {forward}")
    job.say("A further address, for example after the page was closed: uzushio view --list")


def list_sources() -> None:
    """Print the streams that can be attached to here, and the open live views of this user."""
    from uzushio.viewer.token_file import TokenFile, remove_dead

    folders = searched_folders()
    streams = find(folders)
    here = Path.cwd()
    for title, kind in (("Running streams:", "running"), ("Stored steps:", "stored")):
        lines = []
        for stream in streams:
            path = (
                stream.path.relative_to(here) if stream.path.is_relative_to(here) else stream.path
            )
            about = stream.stream
            if stream.kind == "stored":
                about += f", {stream.steps} steps"
            elif not stream.answers:
                about += ", its writer does not answer"
            if stream.kind == kind:
                lines.append(f"  {path}  ({about})")
        if lines:
            print("\n".join([title, *lines]))
    views = []
    remove_dead(token_folder())
    for file in sorted(token_folder().glob("*.json")):
        try:
            told = TokenFile.read(file)
            views.append(f"  {told.address(2.0)}  ({told.title})")
            views.append(f"  {told.address(2.0, read_only=True)}  (the same, read only)")
        except UzushioError:
            continue
    if views:
        print("\n".join(["Open live views, each with a new address:", *views]))
    if not streams:
        print(
            "There is no stream here. A run publishes its steps if its case has a section "
            "`publish`."
        )
    searched = ", ".join(str(folder) for folder in folders)
    print(f"Searched, four levels deep: {searched}.")
