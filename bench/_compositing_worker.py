"""Measurements of bench/compositing.py on the ranks of a job."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import _icet
import numpy as np
from mpi4py import MPI

from uzushio import _core
from uzushio.compositing import Compositor

#: Consecutive pictures that are timed, without barriers between them (ranks leave a barrier at
#: different times), after one that is not timed.
BATCH = 10
SHARED = "hybrid(radix_k(8))"
#: Algorithms by their names in the tables.
MESSAGES = {
    "sequential": "sequential",
    "direct-send": "direct_send",
    "pipeline": "parallel_pipeline",
    "binary-tree": "binary_tree",
    "binary-swap": "binary_swap",
    "radix-4": "radix_k(4)",
    "multi-step(4)": "multi_step(4, binary_swap, binary_tree)",
}
#: Shares of active pixels, and treatments of the others.
SHARES = (0.125, 0.5, 1.0)
TREATMENTS = {
    "plain": (0, False),
    "interlaced": (256, False),
    "bounds": (0, True),
    "both": (256, True),
}
FRAMES = (1, 2, 3)

comm = MPI.COMM_WORLD
Images = Any
Picture = Callable[[], Any]


def image(rank: int, side: int, bounds: tuple[int, int, int, int]) -> Images:
    """Return a translucent image, (side, side, 4), with active pixels inside the bounds."""
    rng = np.random.default_rng(rank)
    opacity = rng.uniform(0.02, 0.3, (side, side, 1))
    colour = rng.uniform(0, 1, (side, side, 3)) * opacity
    full = np.round(255 * np.concatenate([colour, opacity], axis=2)).astype(np.uint8)
    part = np.zeros_like(full)
    x0, x1, y0, y1 = bounds
    part[y0:y1, x0:x1] = full[y0:y1, x0:x1]
    return part


def bounds_of(rank: int, side: int, share: float) -> tuple[int, int, int, int]:
    """Return a square with a share of the pixels; those of all ranks are on a ring."""
    edge = round(side * share**0.5)
    angle = 2 * np.pi * rank / comm.size
    x, y = (round((side - edge) / 2 * (1 + 0.8 * f(angle))) for f in (np.cos, np.sin))
    return x, x + edge, y, y + edge


def exact(side: int, share: float) -> Images:
    """Composite all ranks' images in double precision, in units of 1/255."""
    result = np.zeros((side, side, 4))
    for rank in range(comm.size):
        result += (1 - result[..., 3:] / 255) * image(rank, side, bounds_of(rank, side, share))
    return result


class Trial:
    """Time pictures by several methods in turn; return the minimum time of each."""

    def __init__(self, expected: Images) -> None:
        self.methods: dict[str, Picture] = {}
        self.times: dict[str, float] = {}
        self.errors: dict[str, float] = {}
        self._expected = expected

    def run(self, repeats: int) -> None:
        for repeat in range(repeats):
            for name, picture in self.methods.items():
                comm.Barrier()
                result = picture()
                start = time.perf_counter()
                for _ in range(BATCH):
                    result = picture()
                taken = (time.perf_counter() - start) / BATCH
                self.times[name] = min(self.times.get(name, taken), taken)
                if repeat == 0 and result is not None:
                    self.errors[name] = float(np.abs(result - self._expected).max())
                del result


def through(compositor: Compositor, mine: Images | None, bounds: Any = None) -> Picture:
    def picture() -> Any:
        compositor.submit(mine, bounds)
        return compositor.finish()

    return picture


def rates() -> tuple[float, float]:
    """Return bytes per second of STREAM's triad, and of blending two images, by two ranks.

    More ranks on the same processors do not move more. The others sleep.
    """
    pair = comm.Split(0 if comm.rank < 2 else 1)
    best = None
    if comm.rank < 2:
        triad, blending = _core.parallel.triad_rate, _core.compositing.memory_blending_rate
        turns = [(triad(pair.handle, 2**23, 5), blending(pair.handle)) for _ in range(3)]
        best = tuple(map(max, *turns))
    pair.Free()
    done = comm.Ibarrier()
    while not done.Test():
        time.sleep(0.01)
    known: tuple[float, float] = comm.bcast(best)
    return known


def full(side: int, repeats: int) -> dict[str, Any]:
    """Measure every algorithm with all pixels active."""
    whole = (0, side, 0, side)
    mine = image(comm.rank, side, whole)
    trial = Trial(exact(side, 1.0) if comm.rank == 0 else None)

    def make(algorithm: str) -> Compositor:
        return Compositor(comm, side, side, algorithm=algorithm, frames=1)

    compositors = {"shared": make(SHARED), "shared, copied": make(SHARED)}
    compositors |= {name: make(algorithm) for name, algorithm in MESSAGES.items()}
    compositors["auto"] = make("auto")
    for name, compositor in compositors.items():
        drawn = name in ("shared", "auto")
        if drawn:
            compositor.canvas()[:] = mine
        trial.methods[name] = through(compositor, None if drawn else mine)
    if _icet.library():
        for way in _icet.STRATEGIES:
            trial.methods[way] = partial(_icet.IceT(comm, side, way).composite, mine)
    rates_before = rates()
    trial.run(repeats)
    chooser = compositors["auto"]
    predicted = {name: chooser.predict(algorithm) for name, algorithm in MESSAGES.items()}
    predicted["shared"] = chooser.predict(SHARED)
    # The memory rate changes with the load of the host: take the better of before and after.
    triad, blending = map(max, zip(rates_before, rates(), strict=True))
    result = {
        "times": trial.times,
        "errors": trial.errors,
        "predicted": predicted,
        "chosen": chooser.algorithm,
        "machine": chooser.machine()._asdict(),
        "triad": triad,
        "blending": blending,
    }
    for compositor in compositors.values():
        compositor.close()
    return result


def active(side: int, repeats: int) -> dict[str, Any]:
    """Measure shares of active pixels with several treatments."""
    result: dict[str, Any] = {}
    for share in SHARES:
        bounds = bounds_of(comm.rank, side, share)
        mine = image(comm.rank, side, bounds)
        trial = Trial(exact(side, share) if comm.rank == 0 else None)
        compositors = []
        for algorithm in ("direct_send", "radix_k(4)", SHARED):
            for treatment, (interlace, bounded) in TREATMENTS.items():
                drawn = algorithm == SHARED
                if drawn and interlace:
                    continue  # interlacing does not apply to shared memory
                compositor = Compositor(
                    comm, side, side, algorithm=algorithm, interlace=interlace, frames=1
                )
                if drawn:
                    compositor.canvas()[:] = mine
                compositors.append(compositor)
                way = through(compositor, None if drawn else mine, bounds if bounded else None)
                trial.methods[f"{'shared' if drawn else algorithm}, {treatment}"] = way
        if _icet.library():
            for name in ("IceT radix-k", "IceT all to root"):
                for treatment, (interlace, bounded) in TREATMENTS.items():
                    peer = _icet.IceT(comm, side, name, interlace=bool(interlace))
                    part = bounds if bounded else None
                    trial.methods[f"{name}, {treatment}"] = partial(peer.composite, mine, part)
        trial.run(repeats)
        result[str(share)] = {"times": trial.times, "errors": trial.errors}
        for compositor in compositors:
            compositor.close()
    return result


def frames(side: int, repeats: int) -> dict[str, Any]:
    """Measure the time of a picture with several in flight."""
    mine = image(comm.rank, side, (0, side, 0, side))
    count = 12
    times: dict[str, float] = {}
    compositors = {
        f"{name}, {n}": Compositor(comm, side, side, algorithm=algorithm, frames=n)
        for name, algorithm in [*MESSAGES.items(), ("shared, copied", SHARED)]
        for n in FRAMES
        if name not in ("sequential", "pipeline")
    }
    for _ in range(repeats):
        for name, compositor in compositors.items():
            n = int(name.rsplit(", ", 1)[1])
            comm.Barrier()
            start = time.perf_counter()
            for k in range(count):
                if k >= n:
                    compositor.finish()
                compositor.submit(mine)
            for _ in range(n):
                compositor.finish()
            taken = (time.perf_counter() - start) / count
            times[name] = min(times.get(name, taken), taken)
    for compositor in compositors.values():
        compositor.close()
    return {"times": times}


PARTS = {"full": full, "active": active, "frames": frames}
