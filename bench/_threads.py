"""Steps of one rank with one and several threads, and of several ranks, alternating in a job."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from time import perf_counter, sleep
from typing import Any

from mpi4py import MPI

from uzushio import _core


def fastest_steps(
    make: Callable[[str, MPI.Intracomm], Any], threads: Mapping[str, tuple[bool, int]], repeats: int
) -> dict[str, float]:
    """Return the minimum seconds of a step of each solver (collective).

    Args:
        make: returns the solver of a name on the ranks of a communicator.
        threads: by name, whether the solver has all ranks, or the first one alone, and the number
            of threads of a rank.
        repeats: number of measured steps.
    """
    comm = MPI.COMM_WORLD

    def meet() -> None:
        """Wait for the other ranks without taking a core from the threads of one."""
        arrived = comm.Ibarrier()
        while not arrived.Test():
            sleep(5e-3)

    def use(count: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(count)
        _core.parallel.set_threads(count)

    solvers: dict[str, Any] = {}
    for name, (on_all, count) in threads.items():
        use(count)
        if on_all or comm.rank == 0:
            solvers[name] = make(name, comm if on_all else MPI.COMM_SELF)
    best = dict.fromkeys(threads, float("inf"))
    for repeat in range(repeats + 1):
        for name, (_, count) in threads.items():
            meet()
            if name not in solvers:
                continue
            use(count)
            solver = solvers[name]
            solver.comm.Barrier()
            start = perf_counter()
            solver.step()
            solver.comm.Barrier()
            if repeat:  # the first step touches the memory
                best[name] = min(best[name], perf_counter() - start)
    return best
