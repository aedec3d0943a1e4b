"""Trace of the sections of all ranks, one file that ui.perfetto.dev and Chrome open.

The format is the JSON array of Chrome's trace events; a process of the display is a rank.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.files import atomic_file
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import collective

if TYPE_CHECKING:
    from mpi4py import MPI

#: Maximum number of events of a rank; 24 bytes each in memory, about 100 in the file.
MAX_EVENTS = 100_000


def start_trace(sections: SectionMonitor, comm: MPI.Comm, max_events: int = MAX_EVENTS) -> None:
    """Record events of the sections from now on; the clocks of the ranks start here (collective).

    Args:
        sections: monitor of this rank.
        comm: all ranks of the trace.
        max_events: maximum number of events of a rank. The first half of them may be the parts of
            loops in kernels; after that only sections that begin and end are recorded.
    """
    comm.Barrier()
    sections.core.start_trace(max_events)


def write_trace(path: Path, sections: SectionMonitor, comm: MPI.Comm) -> tuple[int, int]:
    """Write the events of all ranks to one file (collective).

    Args:
        path: file to write.
        sections: monitor of this rank, without open sections.
        comm: all ranks of the trace.

    Returns:
        Number of events in the file, and number of events that were dropped.

    Raises:
        OutputError: on all ranks, if the file cannot be written.
    """
    events = sections.core.events()
    dropped = sections.core.dropped_events
    text = ",\n".join(_lines(comm.rank, events, dropped, sections))
    with collective(comm):
        if comm.rank > 0:
            comm.send(text, 0)
        else:
            texts = (text if rank == 0 else comm.recv(source=rank) for rank in range(comm.size))
            try:
                with atomic_file(path) as fresh, open(fresh, "w", encoding="utf-8") as file:
                    for rank, part in enumerate(texts):
                        file.write(f"{',' if rank else '['}\n{part}")
                    file.write("\n]\n")
            finally:
                for _ in texts:  # the other ranks wait until their text is received
                    pass
    return comm.allreduce(len(events)), comm.allreduce(dropped)


def _lines(
    rank: int, events: list[tuple[int, int, int]], dropped: int, sections: SectionMonitor
) -> Iterator[str]:
    """Yield one JSON object for each event, after those that describe the rank."""
    name = f"rank {rank} on {platform.node()}"
    for kind, arguments in (
        ("process_name", {"name": name}),
        ("process_sort_index", {"sort_index": rank}),
        ("process_labels", {"labels": f"{dropped} events dropped"}),
    ):
        yield json.dumps({"name": kind, "ph": "M", "pid": rank, "tid": 0, "args": arguments})
    heads = [
        f'{{"name":{json.dumps(name)},"ph":"X","pid":{rank},"tid":0,'
        for name, *_ in sections.core.sections()
    ]
    for section, start, duration in events:
        yield f'{heads[section]}"ts":{start / 1e3:.3f},"dur":{duration / 1e3:.3f}}}'
