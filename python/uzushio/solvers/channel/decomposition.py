"""Decomposition of the channel over ranks, and parameters of the compiled solver."""

from __future__ import annotations

import contextlib
from typing import Any

import uzushio._core as _core
from uzushio.errors import CaseError
from uzushio.solvers.channel.case import ChannelCase

core: Any = _core.channel

DEALIASING = {
    "3/2": core.Dealiasing.three_halves,
    "2/3": core.Dealiasing.two_thirds,
    "none": core.Dealiasing.none,
}
#: Memory limit of a rank that a decomposition should keep, in arrays of the size of its part of a
#: field.
MAX_ARRAYS = 14.0


def core_parameters(case: ChannelCase, py: int, pz: int) -> Any:
    """Return the parameters of the compiled solver for a case on a Py × Pz grid of ranks."""
    result = core.Parameters()
    result.nx, result.ny = case.grid.nx, case.grid.ny
    result.lx, result.ly = case.grid.lx, case.grid.ly
    result.faces = case.grid.wall_faces().tolist()
    result.viscosity = case.flow.viscosity
    rate = case.flow.reynolds_bulk is not None
    result.forcing = core.Forcing.flow_rate if rate else core.Forcing.pressure_gradient
    result.drive = case.flow.drive
    result.dealiasing = DEALIASING[case.numerics.dealiasing]
    result.scheme = case.numerics.scheme
    result.py, result.pz = py, pz
    return result


def arrays(case: ChannelCase, held: int, ranks: int) -> float:
    """Convert the bytes of a rank to a number of arrays of the size of its part of a field."""
    return held * ranks / (8.0 * case.grid.nx * case.grid.ny * case.grid.nz)


def kept_modes(case: ChannelCase) -> tuple[int, int]:
    """Return the numbers kx, ky of kept modes: 0 … kx - 1 along x, -(ky - 1) … ky - 1 along y."""
    third = case.numerics.dealiasing == "2/3"
    kx, ky = ((n - 1) // 3 + 1 if third else n // 2 for n in (case.grid.nx, case.grid.ny))
    return kx, ky


def decompose(case: ChannelCase, ranks: int) -> tuple[int, int]:
    """Choose Py × Pz for a number of ranks, unless the case gives it.

    Ranks that share a plane need all-to-alls, so Py is the minimum among the process grids whose
    busiest rank holds at most `MAX_ARRAYS` or, if all hold more, 1.2 times the minimum.

    Raises:
        CaseError: if the process grid of the case, or every process grid, does not fit the grid.
    """
    given = case.decomposition
    widest = min(kept_modes(case)[0], case.grid.ny)
    if given.py is not None and given.pz is not None:
        if given.py * given.pz != ranks:
            raise CaseError(
                f"decomposition.py x pz = {given.py} x {given.pz} = {given.py * given.pz} does not "
                f"have the {ranks} ranks of the job; start {given.py * given.pz} ranks, or leave "
                "it out."
            )
        if given.py > widest or given.pz > case.grid.nz:
            raise CaseError(
                f"decomposition {given.py} x {given.pz} is too fine for the grid: py can be at "
                f"most {widest} (modes in x) and pz at most {case.grid.nz} (cells in z)."
            )
        return given.py, given.pz
    fits = [
        (py, ranks // py)
        for py in range(1, min(ranks, widest) + 1)
        if ranks % py == 0 and ranks // py <= case.grid.nz
    ]
    if not fits:
        raise CaseError(
            f"{ranks} ranks do not fit the grid: they must be py x pz with py <= {widest} (modes "
            f"in x) and pz <= {case.grid.nz} (cells in z); choose another number of ranks."
        )

    if len(fits) == 1:
        return fits[0]
    needs = {}
    for fit in fits:
        with contextlib.suppress(ValueError):  # a rank has more values than MPI can count
            needs[fit] = core.estimate(core_parameters(case, *fit))
    if not needs:
        raise CaseError(f"the grid is too large for {ranks} ranks; use more of them.")
    held = {fit: arrays(case, need.bytes, ranks) for fit, need in needs.items()}
    most = max(MAX_ARRAYS, 1.2 * min(held.values()))
    return next(fit for fit in needs if held[fit] <= most)
