"""Decomposition of the channel over ranks, and parameters of the compiled solver."""

from __future__ import annotations

import os
from typing import Any

import uzushio._core as _core
from uzushio._base.config.quantities import show_size
from uzushio._base.parallel.affinity import thread_count
from uzushio.errors import CaseError
from uzushio.solvers.channel.case import ChannelCase
from uzushio.solvers.channel.prediction import Prediction, predict, ranks_per_node

core: Any = _core.channel

DEALIASING = {
    "3/2": core.Dealiasing.three_halves,
    "2/3": core.Dealiasing.two_thirds,
    "none": core.Dealiasing.none,
}
TRANSPOSES = {
    "auto": core.Transposes.shared_memory,
    "messages": core.Transposes.messages,
    "overlapped": core.Transposes.overlapped,
}
PRECISIONS = {
    "auto": core.SentPrecision.double,
    "double": core.SentPrecision.double,
    "single": core.SentPrecision.single,
}
#: Schemes of the solves along z; of equal times the first one is chosen.
SCHEMES = ("pipelined", "partitioned", "transpose")


def core_parameters(case: ChannelCase, py: int, pz: int, scheme: str) -> Any:
    """Return the parameters of the compiled solver on a Py × Pz grid, with a scheme along z."""
    result = core.Parameters()
    result.nx, result.ny = case.grid.nx, case.grid.ny
    result.lx, result.ly = case.grid.lx, case.grid.ly
    result.faces = case.grid.wall_faces().tolist()
    result.viscosity = case.flow.viscosity
    rate = case.flow.reynolds_bulk is not None
    result.forcing = core.Forcing.flow_rate if rate else core.Forcing.pressure_gradient
    result.drive = case.flow.drive
    result.dealiasing = DEALIASING[case.numerics.dealiasing]
    result.scheme = scheme
    transposes = case.numerics.transposes
    if transposes == "auto" and "UZUSHIO_TRAFFIC" in os.environ:  # it counts messages
        transposes = "messages"
    result.transposes = TRANSPOSES[transposes]
    result.transpose_precision = PRECISIONS[case.numerics.transpose_precision]
    result.py, result.pz, result.threads = py, pz, thread_count()
    return result


def estimate_needs(case: ChannelCase, py: int, pz: int, scheme: str) -> Any:
    """Return memory and messages of the busiest rank of a Py × Pz grid, with a scheme along z."""
    parameters = core_parameters(case, py, pz, scheme)
    if case.numerics.transposes == "auto" and ranks_per_node(case, py * pz) % py != 0:
        parameters.transposes = core.Transposes.messages
    return core.estimate(parameters)


def arrays(case: ChannelCase, held: int, ranks: int) -> float:
    """Convert the bytes of a rank to a number of arrays of the size of its part of a field."""
    return held * ranks / (8.0 * case.grid.nx * case.grid.ny * case.grid.nz)


def kept_modes(case: ChannelCase) -> tuple[int, int]:
    """Return the numbers kx, ky of kept modes: 0 … kx - 1 along x, -(ky - 1) … ky - 1 along y."""
    third = case.numerics.dealiasing == "2/3"
    kx, ky = ((n - 1) // 3 + 1 if third else n // 2 for n in (case.grid.nx, case.grid.ny))
    return kx, ky


def decompose(case: ChannelCase, ranks: int) -> Prediction:
    """Choose process grid and scheme for a number of ranks, unless the case gives them.

    Raises:
        CaseError: if the process grid of the case, or every process grid, does not fit the grid.
    """
    return predictions(case, ranks)[0]


def predictions(case: ChannelCase, ranks: int) -> list[Prediction]:
    """Return the predictions of all possible process grids and schemes, the chosen one first.

    Those that need more memory than `decomposition.memory_per_rank` are left out.

    Raises:
        CaseError: as `decompose`.
    """
    given, node = case.numerics.scheme, ranks_per_node(case, ranks)
    schemes = SCHEMES if given == "auto" else (given,)
    candidates, reason = [], ""
    for py, pz in _fitting(case, ranks):
        for scheme in schemes if pz > 1 else schemes[:1]:  # all are the same on one rank in z
            try:
                need = estimate_needs(case, py, pz, scheme)
            except ValueError as error:  # a rank has more values than MPI can count
                reason = str(error)
                continue
            counts = need.traffic
            candidates.append(
                predict(case, (py, pz), scheme, need.bytes, counts, node, thread_count())
            )
    if not candidates:
        raise CaseError(f"grid: {reason}.")
    limit = case.decomposition.memory_per_rank or float("inf")
    least = min(candidate.memory for candidate in candidates)
    if least > limit:
        raise CaseError(
            f"decomposition.memory_per_rank: got {show_size(limit)}, but on {ranks} ranks at least "
            f"{show_size(least)} are needed; use more ranks."
        )
    return sorted(
        (candidate for candidate in candidates if candidate.memory <= limit),
        key=lambda candidate: candidate.seconds,
    )


def _fitting(case: ChannelCase, ranks: int) -> list[tuple[int, int]]:
    """Return the process grids that fit the grid: that of the case, or all of so many ranks."""
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
        return [(given.py, given.pz)]
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
    return fits
