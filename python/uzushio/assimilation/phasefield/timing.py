"""Estimated time of an iteration of an assimilation with the phase field."""

from __future__ import annotations

import time

from uzushio.assimilation.phasefield.case import PhaseFieldCase
from uzushio.assimilation.phasefield.cost_model import Window
from uzushio.assimilation.phasefield.tunables import PhaseFieldSubject

#: Maximum side of the measured grid: one field is 2 MiB and leaves the L2 cache.
_MAX_SIDE = 512
_REPETITIONS = 3


def seconds_per_iteration(case: PhaseFieldCase, ranks: int) -> float:
    """Return the computing time of an iteration over the whole window on each of `ranks` ranks.

    The sweeps of an iteration are measured on a small grid in this process, with the threads of the
    case, and scaled with points and steps, without communication and redundant points.
    """
    from mpi4py import MPI

    grid, observed = case.grid, case.observations
    shape = (min(grid.ny, _MAX_SIDE), min(grid.nx, _MAX_SIDE))
    every = observed.every if observed.store is None else 1
    window = Window(shape, case.time.steps, every, grid.boundary == "periodic")
    # Each group tries its share of the candidates one after the other.
    candidates = -(-(case.optimiser.candidates or 1) // case.blocking.oblt)
    subject = PhaseFieldSubject(window, case.known, 1, candidates=candidates)
    whole_grid = {"oblt": 1, "x_tile": 1, "y_tile": 1}
    blocking = case.blocking.model_dump() | whole_grid
    iterate = subject.workload(MPI.COMM_SELF).ready(
        {f"blocking.{name}": value for name, value in blocking.items()}
    )
    seconds = []
    for _ in range(_REPETITIONS):
        began = time.perf_counter()
        iterate()
        seconds.append(time.perf_counter() - began)
    points = grid.nx * grid.ny / (shape[0] * shape[1] * ranks)
    return min(seconds) * points * case.time.steps / subject.steps
