"""Measurements of `checkpoints.py`, in an MPI job."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _memory import reset_peak, resident

PIECE = 8 << 20  # bytes of a call that reads or writes a plain file


def solver_of(name: str, n: int, comm: Any) -> Any:
    """Return a solver after two steps from a disturbed flow."""
    solver: Any
    if name == "channel":
        from channel import case_of as channel_case

        from uzushio.solvers.channel.solver import ChannelSolver

        solver = ChannelSolver(channel_case(comm.size, 1, n, {}), comm).begin()
    else:
        from thermal_memory import FLOWS, case_of

        from uzushio.solvers.thermal import ThermalCase, ThermalSolver

        case = case_of(FLOWS[1], n * 3 // 4)
        solver = ThermalSolver(ThermalCase.model_validate(case), comm).begin()
    for _ in range(2):
        solver.step()
    return solver


def measure(name: str, n: int, repeats: int, where: str, compression: str | None) -> Any:
    """Return the least seconds of each operation, the bytes and the growth of memory."""
    from mpi4py import MPI

    from uzushio._base.store import checkpoint
    from uzushio._base.store.array import DistributedArray

    comm = MPI.COMM_WORLD
    solver = solver_of(name, n, comm)
    state = solver.state()
    nbytes = sum(array.nbytes for array in state.arrays.values())
    folder, own = Path(where), nbytes // comm.size
    plain = folder / f"plain-{comm.rank}"
    content = np.random.default_rng(comm.rank).integers(0, 255, PIECE, np.uint8)
    seconds: dict[str, list[float]] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        comm.Barrier()
        began = time.perf_counter()
        result = work()
        comm.Barrier()
        seconds.setdefault(what, []).append(time.perf_counter() - began)
        return result

    def write_plain() -> None:
        file = os.open(plain, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for first in range(0, own, PIECE):
            os.write(file, content[: min(PIECE, own - first)].data)
        os.fsync(file)
        os.close(file)

    def read_plain() -> None:
        with plain.open("rb", buffering=0) as file:
            while file.readinto(content.data):
                pass

    targets = {
        array: DistributedArray(
            of.shape,
            of.dtype,
            [(start, np.zeros(values.shape, of.dtype)) for start, values in of.parts],
        )
        for array, of in state.arrays.items()
    }

    def read() -> None:
        def use(opened: checkpoint.Checkpoint) -> None:
            stored = opened.state()
            for array, target in targets.items():
                stored.fill(array, target)

        checkpoint.open_checkpoint(folder, comm, use=use)

    growth = 0
    for turn in range(repeats):
        timed("plain write", write_plain)
        snapshot = checkpoint.Snapshot(name, "", turn, 0.0, state)
        before = resident()
        reset_peak()
        path = timed(
            "write",
            partial(checkpoint.write, folder, snapshot, 9, comm, compression=compression),
        )
        growth = max(growth, resident(peak=True) - before) if turn else growth
        forget([plain, *(path.rglob("*") if comm.rank == 0 else [])])
        timed("cold plain read", read_plain)
        timed("cold read", read)
        timed("warm plain read", read_plain)
        timed("warm read", read)
        if comm.rank == 0:
            stored = sum(file.stat().st_size for file in path.rglob("c.*"))
            shutil.rmtree(folder / "checkpoints")
        plain.unlink()
    for array, of in state.arrays.items():
        for wanted, target in zip(of.values, targets[array].values, strict=True):
            assert np.array_equal(wanted, target)
    return {
        "bytes": nbytes,
        "stored": stored if comm.rank == 0 else 0,
        "growth": comm.reduce(growth, op=MPI.MAX),
        **{what: min(times) for what, times in seconds.items()},
    }


def forget(files: list[Path]) -> None:
    """Drop the pages of files from the system's cache; they must be on the disk."""
    for path in files:
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
