"""One-sided transfers without staging between pairs of ranks of one MPI job, to compare with."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

TILE = 1 << 20  # bytes of a Put, as of mode push
TILES = 16  # of the landing window
GET = 16 << 20  # bytes of a Get, as of mode pull


def slowest(comm: MPI.Comm, work: Callable[[], None]) -> float:
    """Seconds until the last rank is done, all having started together."""
    comm.Barrier()
    start = time.perf_counter()
    work()
    return float(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))


def tiles(size: int, most: int) -> list[tuple[int, int]]:
    """(first byte, number of bytes) of tiles of at most `most` bytes."""
    return [(at, min(most, size - at)) for at in range(0, size, most)]


def put_and_copy(world: MPI.Comm, partner: int, values: np.ndarray, reads: bool) -> float:
    """Seconds of Puts into landing windows and, at the same time, of the copies out of them.

    Neither side waits for the other: no protocol between them can be faster.
    """
    window = MPI.Win.Allocate(TILE * TILES if reads else 0, 1, comm=world)
    window.Lock_all(MPI.MODE_NOCHECK)
    mine = values.reshape(-1).view(np.uint8)
    landed = np.frombuffer(window.tomemory(), np.uint8)

    def work() -> None:
        for n, (at, size) in enumerate(tiles(mine.nbytes, TILE)):
            place = n % TILES * TILE
            part = mine[at : at + size]
            if reads:
                part[...] = landed[place : place + size]
            else:
                window.Put([part, size, MPI.BYTE], partner, (place, size, MPI.BYTE))
                window.Flush(partner)

    seconds = min(slowest(world, work) for _ in range(10))
    window.Unlock_all()
    window.Free()
    return seconds


def get(world: MPI.Comm, partner: int, values: np.ndarray, reads: bool, pause: float) -> float:
    """Seconds of Gets out of attached memory, whose owner calls MPI every `pause` seconds."""
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

    seconds = min(slowest(world, work) for _ in range(10 if pause == 0 else 3))
    window.Unlock_all()
    world.Barrier()
    if not reads:
        window.Detach(mine)
    window.Free()
    return seconds
