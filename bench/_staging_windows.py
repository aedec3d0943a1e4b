"""One-sided transfers without staging between pairs of ranks of one MPI job, for comparison."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

TILE = 1 << 20  # bytes of a Put, as in mode push
TILES = 16  # number of tiles of the receive window
GET = 16 << 20  # bytes of a Get, as in mode pull


def timed(comm: MPI.Comm, work: Callable[[], Any]) -> float:
    """Return the seconds from a common start to the end of the last rank."""
    comm.Barrier()
    start = time.perf_counter()
    work()
    return float(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))


def tiles(size: int, max_bytes: int) -> list[tuple[int, int]]:
    """Divide `size` bytes into tiles: (first byte, number of bytes) of each."""
    return [(at, min(max_bytes, size - at)) for at in range(0, size, max_bytes)]


def put_and_copy(world: MPI.Intracomm, partner: int, values: np.ndarray, reads: bool) -> float:
    """Time Puts into receive windows and, concurrently, the copies out of them.

    Neither side waits for the other, so this is the limit of any protocol.
    """
    window = MPI.Win.Allocate(TILE * TILES if reads else 0, 1, comm=world)
    window.Lock_all(MPI.MODE_NOCHECK)
    mine = values.reshape(-1).view(np.uint8)
    received = np.asarray(window.tomemory())

    def work() -> None:
        for n, (at, size) in enumerate(tiles(mine.nbytes, TILE)):
            place = n % TILES * TILE
            part = mine[at : at + size]
            if reads:
                part[...] = received[place : place + size]
            else:
                window.Put([part, size, MPI.BYTE], partner, (place, size, MPI.BYTE))
                window.Flush(partner)

    seconds = min(timed(world, work) for _ in range(10))
    window.Unlock_all()
    window.Free()
    return seconds


def get(world: MPI.Intracomm, partner: int, values: np.ndarray, reads: bool, pause: float) -> float:
    """Time Gets from attached memory, whose owner calls MPI every `pause` seconds."""
    window = MPI.Win.Create_dynamic(comm=world)
    mine = values.reshape(-1).view(np.uint8)
    if not reads:
        window.Attach(mine)
    there = world.sendrecv(MPI.Get_address(mine), partner, source=partner)
    window.Lock_all(MPI.MODE_NOCHECK)

    def work() -> None:
        if reads:
            for at, size in tiles(mine.nbytes, GET):
                part = [mine[at : at + size], size, MPI.BYTE]
                window.Rget(part, partner, (there + at, size, MPI.BYTE)).Wait()
            world.send(None, partner, tag=8)
            return
        while not world.Iprobe(partner, tag=8):
            if pause:
                time.sleep(pause)
        world.recv(source=partner, tag=8)

    seconds = min(timed(world, work) for _ in range(10 if pause == 0 else 3))
    window.Unlock_all()
    world.Barrier()
    if not reads:
        window.Detach(mine)
    window.Free()
    return seconds
