"""Measurement of the machine for cost models: messages, memory, caches, cores."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.config import user_cache
from uzushio._base.config.quantities import parse_size
from uzushio.tuning.subject import Machine

if TYPE_CHECKING:
    from mpi4py import MPI

_CPU = Path("/sys/devices/system/cpu/cpu0/cache")
_LONG = 4 << 20  # bytes of a long message, and an eighth of the copied array
_SECONDS = 0.05  # for each measurement


def measure(comm: MPI.Intracomm, rates: Mapping[str, float]) -> Machine:
    """Measure on all ranks at the same time (collective); takes a quarter of a second.

    Args:
        comm: the ranks.
        rates: rates measured by the subject.
    """
    latency, bandwidth = _messages(comm)
    return Machine(
        processor=user_cache.processor_name(),
        cores=os.cpu_count() or 1,
        caches=caches(),
        latency=latency,
        bandwidth=bandwidth,
        memory=_memory(comm),
        rates=dict(rates),
    )


def caches(folder: Path = _CPU) -> tuple[int, int, int]:
    """Return the bytes of the data caches of level 1, 2, 3 (Linux); 0 if not known."""
    sizes = [0, 0, 0]
    for entry in sorted(folder.glob("index*")):
        try:
            level = int((entry / "level").read_text())
            kind = (entry / "type").read_text().strip()
            size = parse_size((entry / "size").read_text().strip().replace("K", " KiB"))
        except (OSError, ValueError):
            continue
        if kind != "Instruction" and 1 <= level <= 3 and isinstance(size, (int, float)):
            sizes[level - 1] = int(size)
    return sizes[0], sizes[1], sizes[2]


def _messages(comm: MPI.Intracomm) -> tuple[float, float]:
    """Measure latency and bandwidth between ranks 2 n and 2 n + 1, all pairs at the same time."""
    if comm.size == 1:
        return 0.0, float("inf")
    partner = comm.rank ^ 1
    if partner >= comm.size:
        partner = comm.rank  # the last of an odd number of ranks sends to itself

    def exchange(buffers: tuple[np.ndarray, np.ndarray]) -> Callable[[], None]:
        return lambda: comm.Sendrecv(buffers[0], partner, recvbuf=buffers[1], source=partner)

    short, long = (
        _fastest(comm, exchange((np.zeros(size, np.uint8), np.zeros(size, np.uint8))))
        for size in (8, _LONG)
    )
    return short, _LONG / max(long - short, 1e-9)


def _memory(comm: MPI.Intracomm) -> float:
    """Measure the bytes per second of a copy in memory, on all ranks at the same time."""
    # Unwritten pages are all mapped to one zero page, which stays in the cache.
    source, target = (np.ones(8 * _LONG // 8) for _ in range(2))
    return 2 * source.nbytes / _fastest(comm, lambda: np.copyto(target, source))


def _fastest(comm: MPI.Intracomm, work: Callable[[], None]) -> float:
    """Return the seconds of the fastest repetition, maximum over the ranks."""
    from mpi4py import MPI

    work()
    best = np.inf
    deadline = time.monotonic() + _SECONDS
    going = True
    while going:
        comm.Barrier()
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
        going = comm.allreduce(time.monotonic() < deadline, MPI.LAND)
    return float(comm.allreduce(best, MPI.MAX))
