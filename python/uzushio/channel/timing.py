"""Estimates of how long and how many the steps of a channel flow are, before it runs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from uzushio.channel import fft_plans, initial
from uzushio.channel.case import STABLE_CFL, ChannelCase, InitialField
from uzushio.channel.decomposition import core, core_parameters, decompose

#: Points of the measured box along x, y and z: one field is 1 MiB, all of them leave the L2 cache.
_TRIAL = {"nx": 64, "ny": 64, "nz": 32}
_STEPS = 4
#: Share of the rate of change of a turbulent flow that is the mean flow's along x; the rest comes
#: from fluctuations. From runs of the shipped case.
_MEAN_SHARE = 0.75


def step_length(case: ChannelCase) -> float:
    """Return the length of a step, for `time.cfl` that which the initial flow gives."""
    if case.time.dt is not None:
        return case.time.dt
    faces = case.grid.wall_faces()
    if case.initial.field is InitialField.turbulent:
        fastest = float(initial.reichardt(case, 0.5 * (faces[1:] + faces[:-1])).max()) / _MEAN_SHARE
    else:
        fastest = float(initial.laminar(case).max())
    return (case.time.cfl or STABLE_CFL) * case.grid.lx / (case.grid.nx * fastest)


def seconds_per_step(case: ChannelCase, ranks: int) -> float:
    """Return the computing time of a step on the busiest rank, scaled from a measured small box.

    The time of a point grows with the logarithm of the points of a plane, as a transform's.
    """
    grid = case.grid
    small = {name: min(points, getattr(grid, name)) for name, points in _TRIAL.items()}
    trial = case.model_copy(update={"grid": grid.model_copy(update=small | {"faces": None})})
    py, pz = decompose(case, ranks)
    part = grid.nx * -(-grid.ny // py) * -(-grid.nz // pz)
    scale = part * np.log2(grid.nx * grid.ny)
    return float(_measure(trial) * scale / (_points(small) * np.log2(small["nx"] * small["ny"])))


def _points(grid: dict[str, int]) -> int:
    return grid["nx"] * grid["ny"] * grid["nz"]


def _measure(case: ChannelCase) -> float:
    """Return the least time of some steps on this process."""
    from mpi4py import MPI

    known = fft_plans.recall()
    if known:
        core.import_wisdom(known)
    solver: Any = core.Solver(core_parameters(case, 1, 1), MPI.COMM_SELF.handle)
    for mode in initial.modes(case):
        solver.add_mode(mode.kx, mode.ky, mode.u, mode.v, mode.w)
    solver.settle()
    took = []
    for _ in range(_STEPS):
        began = time.perf_counter()
        solver.step(STABLE_CFL, step_length(case))
        took.append(time.perf_counter() - began)
    return min(took)
