"""Composite hundreds of pictures in changing orders, and in orders that differ between ranks.

python compositing_orders_job.py [PICTURES]

The job is split into halves of all sizes: nine ranks cover all numbers of ranks from 1 to 9.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any

import numpy as np
from mpi4py import MPI

from uzushio.compositing import DEPTH_PIXEL, Compositor, algorithms

HEIGHT, WIDTH = 40, 64
PICTURES = int(sys.argv[1]) if len(sys.argv) > 1 else 64
world = comm = MPI.COMM_WORLD
COLUMNS = np.arange(WIDTH)


def order_of(k: int) -> list[int]:
    """Return the order of picture k: with and without rank 0, without a rank for long, empty."""
    ranks = list(range(comm.size))
    match k // 8 % 4:
        case 0:
            return ranks[1:]
        case 1:
            return ranks if k % 3 == 0 else ranks[:-1]
        case 2:
            return [] if k % 7 == 0 else [k % comm.size]
        case _:
            rng = np.random.default_rng(k)
            return [int(r) for r in rng.permutation(comm.size)[: rng.integers(comm.size + 1)]]


def row(k: int, rank: int, format: str) -> np.ndarray:
    """Return a row of a rank's image of equal rows: each pixel is opaque or background."""
    opaque = (5 * COLUMNS + 3 * rank + k) % 8 < 3
    colour = np.array([1 + k % 255, 1 + k // 255, 1 + rank, 255]) * opaque[:, None]
    if format == "rgba8_depth":
        pixels = np.zeros(WIDTH, DEPTH_PIXEL)
        pixels["rgba"] = colour
        pixels["depth"] = np.where(opaque, (5 * rank + k) % 3, np.inf)
        return pixels
    if format == "rgba8":
        return colour.astype(np.uint8)
    colour[:, 3] //= 255
    return colour.astype(np.float32)


def expected(k: int, format: str) -> np.ndarray:
    """Return a row of picture k, whose rows are equal."""
    depths = format == "rgba8_depth"
    row_of_all = row(k, -1, format)
    row_of_all["rgba" if depths else slice(None)] = 0
    if depths:
        row_of_all["depth"] = np.inf
    for rank in reversed(order_of(k)):
        mine = row(k, rank, format)
        if depths:  # the front layer at equal depth
            front = (mine["rgba"][:, 3] > 0) & (mine["depth"] <= row_of_all["depth"])
        else:
            front = mine[:, 3] > 0
        row_of_all[front] = mine[front]
    return row_of_all


def sequence(algorithm: str, format: Any, root: int, frames: int) -> None:
    """Compare each picture as late as its memory is valid."""
    with Compositor(
        comm, WIDTH, HEIGHT, format=format, algorithm=algorithm, root=root, frames=frames, limit=60
    ) as compositor:
        kept: deque[tuple[int, Any]] = deque()

        def compare_oldest() -> None:
            k, picture = kept.popleft()
            if comm.rank == root:
                assert (picture == expected(k, format)).all(), (algorithm, format, frames, k)
            else:
                assert picture is None

        for k in range(PICTURES):
            if len(kept) == frames:
                compare_oldest()
            compositor.set_order(order_of(k))
            mine = row(k, comm.rank, format)
            if k % 2:
                compositor.submit(np.repeat(mine[None], HEIGHT, axis=0))
            else:
                compositor.canvas()[:] = mine
                compositor.submit()
            if (11 * k + 5 * comm.rank) % 37 == 0:
                time.sleep(2e-4)
            kept.append((k, compositor.finish()))
        while kept:
            compare_oldest()
        kept.clear()


def differing(algorithm: str) -> None:
    """Composite with an order of the last rank that lacks itself, unlike that of the others."""
    compositor = Compositor(comm, WIDTH, HEIGHT, algorithm=algorithm, limit=60)
    image = np.full((HEIGHT, WIDTH, 4), 255, np.uint8)
    start = time.monotonic()
    try:
        for k in range(30):
            last = comm.rank == comm.size - 1
            compositor.set_order(range(comm.size - 1 if last and k >= 10 else comm.size))
            compositor.submit(image)
            compositor.finish()
        compositor.close()
    except ValueError as error:
        assert "are not the same on all ranks" in str(error), error
    else:
        raise AssertionError(f"no error: {algorithm}")
    assert time.monotonic() - start < 20, algorithm
    compositor.close()  # a failed compositor waits for no rank
    comm.Barrier()


covered: set[int] = set()
for cut in range(world.size // 2 + 1):
    comm = world.Split(world.rank >= cut, world.rank)
    covered |= set(world.allgather(comm.size))
    # C++ tests cover all algorithms on all these numbers of ranks.
    chosen = [*algorithms(), "hybrid(binary_swap)", "auto"] if cut == 0 else ["binary_swap", "auto"]
    for algorithm in chosen:
        for number, format in enumerate(["rgba8", "rgba_float", "rgba8_depth"]):
            root = comm.size - 1 if number == 1 else 0
            sequence(algorithm, format, root, frames=1 + number)
        if comm.size > 1:
            differing(algorithm)
    comm.Free()
if world.rank == 0:
    print("all pictures are correct on", *sorted(covered), "ranks")
