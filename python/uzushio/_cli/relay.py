"""`uzushio relay`: forwards a stream, and prints its progress, until a signal."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.config.quantities import show_size
from uzushio._base.error_text import memory_sentence, system_sentence
from uzushio._base.parallel import memory
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
    began, parent = time.monotonic(), os.getppid()
    memory.require(comm, options.memory, "the relay", _ADVICE)
    server = Relay(options, comm)
    job.say(f"Readers attach to {options.target}; Ctrl-C ends the relay.")
    name = "relay" if comm is None or comm.size == 1 else f"relay, rank {comm.rank}"

    def say(line: str) -> None:
        print(f"{name}: {line}", file=sys.stderr, flush=True)

    progress = None if every is None else RelayProgress(say, every)

    def go_on() -> bool:
        if comm is not None and os.getppid() != parent:
            os._exit(1)  # the launcher was killed, so nothing would end this rank
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
        "passed": sum(one.passed for one in ranks),
        "max_held": sum(one.max_held for one in ranks),
        "seconds": seconds,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(system_sentence(error)) from error
