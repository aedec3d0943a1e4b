"""Estimates of the length and the computing time of a step of a channel flow."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio.solvers.channel import fft_plans, initial
from uzushio.solvers.channel.case import STABLE_CFL, ChannelCase, InitialField
from uzushio.solvers.channel.decomposition import core, core_parameters, decompose

#: Points of the measured box along x, y and z: a field has 1 MiB, so that all exceed the L2 cache.
_TRIAL = {"nx": 64, "ny": 64, "nz": 32}
_STEPS = 4
#: Share of the mean flow along x in the maximum rate of a turbulent flow; the rest is
#: fluctuations. Measured in runs of the shipped case.
_MEAN_SHARE = 0.75


def step_length(case: ChannelCase) -> float:
    """Return the length of a step; with `time.cfl` that of the initial flow."""
    if case.time.dt is not None:
        return case.time.dt
    faces = case.grid.wall_faces()
    if case.initial.field is InitialField.turbulent:
        fastest = float(initial.reichardt(case, 0.5 * (faces[1:] + faces[:-1])).max()) / _MEAN_SHARE
    else:
        fastest = float(initial.laminar(case).max())
    stable = (case.time.cfl or STABLE_CFL) * case.grid.lx / (case.grid.nx * fastest)
    return min(stable, case.time.step_limit)


def seconds_per_step(case: ChannelCase, ranks: int) -> float:
    """Return the computing time of a step on the busiest rank, scaled from a measured small box.

    The time per point is proportional to the logarithm of the points of a plane, as for
    transforms.
    """
    grid = case.grid
    small = {name: min(points, getattr(grid, name)) for name, points in _TRIAL.items()}
    trial = case.model_copy(update={"grid": grid.model_copy(update=small | {"faces": None})})
    chosen = decompose(case, ranks)
    part = grid.nx * -(-grid.ny // chosen.py) * -(-grid.nz // chosen.pz)
    scale = part * np.log2(grid.nx * grid.ny)
    return float(_measure(trial) * scale / (_points(small) * np.log2(small["nx"] * small["ny"])))


def _points(grid: dict[str, int]) -> int:
    return grid["nx"] * grid["ny"] * grid["nz"]


def _measure(case: ChannelCase) -> float:
    """Return the minimum time of some steps on this process."""
    from mpi4py import MPI

    known = fft_plans.load()
    if known:
        core.import_wisdom(known)
    solver: Any = core.Solver(
        core_parameters(case, 1, 1, "pipelined"), MPI.COMM_SELF.handle, SectionMonitor().core
    )
    for mode in initial.modes(case):
        solver.add_mode(mode.kx, mode.ky, mode.u, mode.v, mode.w)
    solver.project()
    took = []
    for _ in range(_STEPS):
        began = time.perf_counter()
        solver.step(STABLE_CFL, step_length(case))
        took.append(time.perf_counter() - began)
    return min(took)
