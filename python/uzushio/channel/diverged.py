"""Description of a diverged flow: where its CFL number is largest, and the likely cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.channel.case import STABLE_CFL, ChannelCase

if TYPE_CHECKING:
    from mpi4py import MPI


def describe(
    case: ChannelCase,
    comm: MPI.Comm,
    velocity: Sequence[np.ndarray],
    start: tuple[int, int],
    step: int,
    time: float,
    last_cfl: float,
) -> str:
    """Describe where the CFL number is largest, and the likely cause (collective).

    Args:
        case: the case.
        comm: the ranks.
        velocity: u, v and w of this rank's cells, (z, y, x).
        start: first plane and first row of this rank.
        step: number of the last complete step.
        time: its time.
        last_cfl: CFL number of the last step in which it is finite.
    """
    grid, faces = case.grid, case.grid.wall_faces()
    u, v, w = (np.abs(component) for component in velocity)
    heights = np.diff(faces)[start[0] : start[0] + len(u), np.newaxis, np.newaxis]
    with np.errstate(all="ignore"):
        rate = u * grid.nx / grid.lx + v * grid.ny / grid.ly + w / (np.pi * heights)
    rate[~np.isfinite(rate)] = np.inf
    worst = np.unravel_index(np.argmax(rate), rate.shape)
    k, j, i = (int(n) for n in worst)
    found = float(rate[worst]), k + start[0], j + start[1], i
    rate_there, k, j, i = max(comm.allgather(found))
    value = "not finite" if np.isinf(rate_there) else "growing without limit"
    place = f"x = {i * grid.lx / grid.nx:.4g}, y = {j * grid.ly / grid.ny:.4g}, z = "
    place += f"{0.5 * (faces[k] + faces[k + 1]):.4g} (cell {i}, {j}, {k})"
    if last_cfl > STABLE_CFL:
        cause = (
            f"the time step is too long: the CFL number was {last_cfl:.3g}, stable is up to "
            f"{STABLE_CFL:.2f}; lower time.dt or give time.cfl instead"
        )
    elif step == 0:
        cause = "the initial field or the checkpoint is bad, or initial.amplitude is too large"
    else:
        cause = (
            f"not the time step (CFL number {last_cfl:.3g}): the grid is too coarse for the "
            "Reynolds number, or a value was corrupted"
        )
    return (
        f"The velocity is {value} in step {step + 1}, at time {time:.6g}, at {place}. "
        f"Likely cause: {cause}."
    )
