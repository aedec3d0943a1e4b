"""`uzushio view`: serves a live view of a stream, until a signal."""

from __future__ import annotations

import getpass
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.parallel.sync import collective
from uzushio._job.job import Job
from uzushio.errors import UzushioError
from uzushio.viewer.sources import contact_of, find, searched_folders

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.staging.contact import Contact
    from uzushio.viewer.document import ViewDocument
    from uzushio.viewer.exchange import Exchange
    from uzushio.viewer.gateway import Gateway
    from uzushio.viewer.listening import Listening

#: Maximum number of a path's parts in the title of the page.
_TITLE_PARTS = 3


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


def view(
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
            source = contact_of(contact.contact)
            document = ViewDocument()  # mistakes are reported before a wait
            if pipeline is not None:
                document.load(pipeline)
                name, entry = next(iter(document.views.items()))
                first = DrawRequest(name, 0, document.sources, entry.settings)
            gateway = _gateway(listening, contact.contact, exchange, document)
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
    found = find(folders)
    here = Path.cwd()
    for title, kind in (("Running streams:", "running"), ("Stored steps:", "stored")):
        lines = []
        for one in found:
            path = one.path.relative_to(here) if one.path.is_relative_to(here) else one.path
            about = one.stream
            if one.kind == "stored":
                about += f", {one.steps} steps"
            elif not one.answers:
                about += ", its writer does not answer"
            if one.kind == kind:
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
    if not found:
        print(
            "There is no stream here. A run publishes its steps if its case has a section "
            "`publish`."
        )
    searched = ", ".join(str(folder) for folder in folders)
    print(f"Searched, four levels deep: {searched}.")
