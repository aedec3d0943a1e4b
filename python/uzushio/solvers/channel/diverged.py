"""Error of a diverged flow: where its CFL number is largest, and the likely cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uzushio.solvers.channel.case import STABLE_CFL
from uzushio.solvers.contract import SolverDivergedError

if TYPE_CHECKING:
    from uzushio.solvers.channel.solver import ChannelSolver


def error(solver: ChannelSolver, last_cfl: float) -> SolverDivergedError:
    """Return the error of a flow whose last complete step is that of the solver (collective).

    Args:
        solver: the solver.
        last_cfl: CFL number of the last step in which it is finite.
    """
    grid, start = solver.case.grid, solver.physical_start
    faces = grid.wall_faces()
    u, v, w = (np.abs(solver.physical(name)) for name in "uvw")
    heights = np.diff(faces)[start[0] : start[0] + len(u), np.newaxis, np.newaxis]
    with np.errstate(all="ignore"):
        rate = u * grid.nx / grid.lx + v * grid.ny / grid.ly + w / (np.pi * heights)
    rate[~np.isfinite(rate)] = np.inf
    worst = np.unravel_index(np.argmax(rate), rate.shape)
    k, j, i = (int(n) for n in worst)
    largest = float(rate[worst]), k + start[0], j + start[1], i
    rate_there, k, j, i = max(solver.comm.allgather(largest))
    value = "not finite" if np.isinf(rate_there) else "growing without limit"
    place = f"x = {i * grid.lx / grid.nx:.4g}, y = {j * grid.ly / grid.ny:.4g}, z = "
    place += f"{0.5 * (faces[k] + faces[k + 1]):.4g} (cell {i}, {j}, {k})"
    if last_cfl > STABLE_CFL:
        cause = (
            f"the time step is too long: the CFL number was {last_cfl:.3g}, stable is up to "
            f"{STABLE_CFL:.2f}; lower time.dt or give time.cfl instead"
        )
    elif solver.step_index == 0:
        cause = "the initial field or the checkpoint is bad, or initial.amplitude is too large"
    else:
        cause = (
            f"not the time step (CFL number {last_cfl:.3g}): the grid is too coarse for the "
            "Reynolds number, or a value was corrupted"
        )
    return SolverDivergedError(
        f"The velocity is {value} in step {solver.step_index + 1}, at time {solver.time:.6g}, at "
        f"{place}. Likely cause: {cause}."
    )
