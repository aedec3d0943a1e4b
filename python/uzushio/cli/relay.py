"""What `uzushio relay` does: serve, and say what goes through, until a signal."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio.config.quantities import parse_size, show_size
from uzushio.errors import LaunchError, MemoryShortageError, OutputError, StagingError
from uzushio.parallel import launch, memory
from uzushio.parallel.collective import guarded, memory_sentence, system_sentence
from uzushio.parallel.signals import Stop
from uzushio.staging.relay import Relay, RelayOptions, RelayProgress, RelayStatus

if TYPE_CHECKING:
    from mpi4py import MPI

#: What a user can do about too little memory for a relay.
_ADVICE = (
    "Give the relay less with --memory, use more nodes or fewer ranks a node, or raise the limit."
)


def size_of(text: str) -> int:
    """Bytes of a size with a unit.

    Raises:
        StagingError: it is none.
    """
    try:
        size = parse_size(text)
    except ValueError as error:
        raise StagingError(f"--memory {text}: {error}.") from None
    assert isinstance(size, float)
    return int(size)


def relay(
    options: RelayOptions, ranks: int | None, every: float | None, summary: Path | None = None
) -> int:
    """Serve on this process, or on the ranks of the MPI job that it is in.

    Args:
        options: between whom, and how.
        ranks: that the user asked for.
        every: seconds between lines on stderr; None: none.
        summary: file for what was passed on, as JSON; None: none.

    Returns:
        The status to exit with.

    Raises:
        LaunchError: the MPI job has another number of ranks.
        StagingError: the relay cannot listen, or cannot write its contact.
    """
    if launch.ranks_around() is None:
        return _serve(options, None, every, summary)
    launch.prepare_environment()
    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    def work() -> int:
        launch.check_size(comm.size, MPI.Get_library_version())
        if ranks not in (None, comm.size):
            raise LaunchError(
                f"--ranks {ranks} was given, but the MPI job has {comm.size}; leave --ranks out."
            )
        return _serve(options, comm, every, summary)

    return guarded(comm, work, debug=False)


def _serve(
    options: RelayOptions, comm: MPI.Comm | None, every: float | None, summary: Path | None
) -> int:
    """Serve on this rank; raises `MemoryShortageError` where an allocation fails."""
    try:
        return _serve_until_stopped(options, comm, every, summary)
    except MemoryError as error:
        raise MemoryShortageError(memory_sentence(error, _ADVICE)) from error


def _serve_until_stopped(
    options: RelayOptions, comm: MPI.Comm | None, every: float | None, summary: Path | None
) -> int:
    stop, began, parent = Stop(), time.monotonic(), os.getppid()
    with stop.listening():
        memory.require(comm, options.memory, "the relay", _ADVICE)
        server = Relay(options, comm)
        first = comm is None or comm.rank == 0
        if first:
            print(f"Readers attach to {options.target}; Ctrl-C ends the relay.", flush=True)
        who = "relay" if comm is None or comm.size == 1 else f"relay, rank {comm.rank}"

        def say(line: str) -> None:
            print(f"{who}: {line}", file=sys.stderr, flush=True)

        progress = None if every is None else RelayProgress(say, every)

        def go_on() -> bool:
            if comm is not None and os.getppid() != parent:
                os._exit(1)  # the launcher was killed: nobody would end or hear this rank
            if progress is not None:
                progress.update(server.status())
            return not stop.received

        server.run(go_on)
        if first:
            print(f"The relay has passed on {show_size(server.status().passed)}.", flush=True)
        if summary is not None:
            _write_summary(summary, server.status(), comm, time.monotonic() - began)
    return 0


def _write_summary(path: Path, status: RelayStatus, comm: MPI.Comm | None, seconds: float) -> None:
    """Write what all ranks did (collective)."""
    ranks = [status] if comm is None else comm.gather(status)
    if ranks is None:
        return
    told = {
        "stream": ranks[0].stream,
        "ranks": len(ranks),
        "passed": sum(one.passed for one in ranks),
        "most_held": sum(one.most_held for one in ranks),
        "seconds": seconds,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(system_sentence(error)) from error
