"""Composite NumPy arrays and compare the pictures with NumPy's own compositing."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from uzushio.compositing import (
    DEPTH_PIXEL,
    Compositor,
    MachineRates,
    Tile,
    algorithms,
    visibility_order,
)

HEIGHT, WIDTH = 24, 35
comm = MPI.COMM_WORLD


def image(rank: int) -> np.ndarray:
    """A translucent image of floats, another one for each rank."""
    rng = np.random.default_rng(rank)
    opacity = rng.uniform(0, 0.6, (HEIGHT, WIDTH, 1))
    colour = rng.uniform(0, 1, (HEIGHT, WIDTH, 3)) * opacity
    return np.concatenate([colour, opacity], axis=2).astype(np.float32)


def over(order: list[int], height: int = HEIGHT) -> np.ndarray:
    """Composite the ranks' images in double precision."""
    result = np.zeros((height, WIDTH, 4))
    for rank in order:
        result += (1 - result[..., 3:]) * image(rank)[:height]
    return result


def bytes_of(values: np.ndarray) -> np.ndarray:
    return np.round(255 * values).astype(np.uint8)


order = visibility_order(comm, depth=-float(comm.rank))
assert order == list(range(comm.size))[::-1]
some = visibility_order(comm, depth=None if comm.rank == 0 else 1.0)
assert some == list(range(1, comm.size))

for algorithm in [*algorithms(), "hybrid(binary_swap)", "auto"]:
    compositor = Compositor(comm, WIDTH, HEIGHT, format="rgba_float", algorithm=algorithm, root=1)
    compositor.set_order(order)
    compositor.submit(image(comm.rank))
    compositor.set_order(some)
    canvas = compositor.canvas()
    canvas[:] = image(comm.rank)
    compositor.submit(bounds=(0, WIDTH, 0, 10))
    first, second = compositor.finish(), compositor.finish()
    if comm.rank == 1:
        np.testing.assert_allclose(first, over(order), atol=1e-5)
        np.testing.assert_allclose(second[:10], over(some, 10), atol=1e-5)
        assert not second[10:].any()
    else:
        assert first is None and second is None

    if algorithm == "sequential":  # no rank references an array: the memory is released
        del canvas, first, second
        compositor.close()
        try:
            compositor.submit()
        except RuntimeError as error:
            assert "is closed" in str(error)
        else:
            raise AssertionError("a closed compositor raised no error")
    elif algorithm == "hybrid(binary_swap)":  # arrays that are still referenced stay valid
        compositor.close()
        assert canvas.shape == (HEIGHT, WIDTH, 4)

# Bytes, left as tiles.
compositor = Compositor(
    comm, WIDTH, HEIGHT, algorithm="radix_k(2)", gather=False, interlace=16, frames=1
)
mine = bytes_of(image(comm.rank))
compositor.submit(mine)
tile = compositor.finish()
assert isinstance(tile, Tile)
exact = np.zeros((HEIGHT * WIDTH, 4))
for rank in range(comm.size):
    layer = bytes_of(image(rank)).reshape(-1, 4)
    exact += (1 - exact[:, 3:] / 255) * layer
assert np.abs(tile.pixels - exact[tile.indices]).max() < 0.6
assert sum(comm.allgather(len(tile.indices))) == HEIGHT * WIDTH

# The nearest pixel.
pixels = np.zeros((HEIGHT, WIDTH), DEPTH_PIXEL)
pixels["rgba"] = comm.rank + 1
pixels["depth"] = np.abs(np.arange(WIDTH) - comm.rank)
compositor = Compositor(comm, WIDTH, HEIGHT, format="rgba8_depth", algorithm="binary_tree")
compositor.submit(pixels)
picture = compositor.finish()
if picture is not None:
    nearest = np.minimum(np.arange(WIDTH), comm.size - 1)
    assert (picture["rgba"][..., 0] == nearest + 1).all()
    assert (picture["depth"] == np.abs(np.arange(WIDTH) - nearest)).all()

# Errors are one message on all ranks, also if only one rank has the error.
one_rank_alone = "rgb" if comm.rank == comm.size - 1 else "rgba8"
for call, sentence in [
    (lambda: visibility_order(comm, np.nan if comm.rank == 1 else 1.0), "rank 1's data"),
    (lambda: compositor.submit(mine), "the image has shape"),
    (lambda: compositor.submit(pixels[:, ::-1]), "the rows of the image must follow"),
    (lambda: compositor.finish(), "no picture is in flight"),
    (lambda: compositor.set_order([0, 0]), "names rank 0 twice"),
    (lambda: compositor.set_order([99]), "names rank 99 of"),
    (lambda: Compositor(comm, 0, 5), "at least one pixel"),
    (lambda: Compositor(comm, 5, 5, algorithm="binery"), "is none of sequential, direct_send"),
    (lambda: Compositor(comm, 5, 5, root=comm.size), "is not one of the"),
    (lambda: Compositor(comm, 5, 5, format=one_rank_alone), "format is 'rgb'"),
]:
    try:
        call()
    except (ValueError, RuntimeError) as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"no error: {sentence}")

machine = compositor.machine()
assert isinstance(machine, MachineRates) and min(machine) > 0
assert compositor.predict("binary_swap") > 0
if comm.rank == 0:
    print("all pictures are correct")
