"""Predicted time of a step on a process grid, from the counts of its messages.

The model has a few constants of a machine and no measurement, so that all ranks and all runs choose
alike. docs/theory/channel.md#predicted-time has its formulas.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uzushio._base.config.quantities import show_time
from uzushio.solvers.channel.case import ChannelCase

#: Seconds of a step for a point of the grid, over the binary logarithm of the points of a plane
#: (bench/channel.py), and shares in it: of the transforms of the ghost plane with one plane a
#: rank, of all work in the sweeps along z, and of the elimination alone.
_POINT, _GHOSTS, _SWEEPS, _ELIMINATION = 7.2e-9, 0.2, 0.2, 0.1
#: Latency of a message within a node, seconds, and bytes that a rank copies per second.
_NEAR_LATENCY, _NEAR_RATE = 0.5e-6, 5e9
#: Bytes per second that a rank reads in the memory of another one, and that all ranks of a node do.
_SHARED_RATE, _NODE_RATE = 30e9, 240e9
#: Bytes per second that a rank loses to the buffers of `overlapped`, which leave the cache.
_OVERLAPPED_RATE = 13e9
#: Exchanges of fields in shared memory that one counter announces: ten of a batch have two.
_EXCHANGES_A_COUNTER = 5
#: Substeps of a step, and sweeps along z in each.
_SUBSTEPS, _SWEEPS_UP_AND_DOWN = 3, 4

#: Messages and bytes that the busiest rank sends in a step, by kind.
Counts = Mapping[str, tuple[int, int, int]]


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds of a step on the busiest rank.

    Attributes:
        py, pz: process grid.
        scheme: scheme of the solves along z.
        computing: without communication.
        planes: all-to-alls among ranks that share planes.
        column: messages along z, with waits for neighbours.
        memory: bytes of the solver's arrays, maximum over the ranks.
    """

    py: int
    pz: int
    scheme: str
    computing: float
    planes: float
    column: float
    memory: int

    @property
    def seconds(self) -> float:
        """Seconds of a step."""
        return self.computing + self.planes + self.column


def ranks_per_node(case: ChannelCase, ranks: int) -> int:
    """Return the ranks of a node: of the case or the launcher, or the cores of this machine."""
    given = case.decomposition.network.ranks_per_node
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE"):
        if given is None and os.environ.get(name, "").isdigit():
            given = int(os.environ[name])
    return max(1, min(ranks, given or os.cpu_count() or 1))


def predict(
    case: ChannelCase,
    grid: tuple[int, int],
    scheme: str,
    memory: int,
    counts: Counts,
    node: int,
    threads: int = 1,
) -> Prediction:
    """Predict the time of a step.

    Args:
        case: the case, for its grid and network.
        grid: py, pz.
        scheme: scheme of the solves along z.
        memory: bytes of the solver's arrays, maximum over the ranks.
        counts: exchanges, messages and bytes of the busiest rank in a step, by kind.
        node: ranks of a node; those of a plane are consecutive.
        threads: threads of a rank, each on a core of its own.
    """
    py, pz = grid
    points = case.grid
    planes = -(-points.nz // pz)
    part = points.nx * -(-points.ny // py) * planes
    ghosts = _GHOSTS / max(1.0, planes / threads)
    computing = _POINT * math.log2(points.nx * points.ny) * part * (1 + ghosts) / threads
    beside = max(1, node // py)  # ranks of a column on a node
    off_plane = _off_node(py, min(py, node))
    off_column = _off_node(pz, beside)
    off_next = min(1.0, 1 / beside) if pz > 1 else 0.0  # of neighbours in a column
    sending = min(py, node)  # ranks that send to a neighbour's node at a time

    def cost(kind: str, off: float, sharing: float) -> float:
        _, messages, sent = counts.get(kind, (0, 0, 0))
        return messages * _latency(case, off) + sent * _per_byte(case, off, sharing)

    column = cost("halo", off_next, sending)
    if scheme == "partitioned":
        column += cost("interfaces z", off_column, node * _contention(case, pz / beside))
        column += _ELIMINATION * computing
    elif scheme == "transpose":
        column += cost("transpose z", off_column, node * _contention(case, pz / beside))
    else:
        column += cost("pipeline z", off_next, sending)
        column += _filling(case, counts, pz, computing, off_next, sending)
    exchanges, messages, sent = counts.get("transpose xy", (0, 0, 0))
    if messages:
        in_planes = cost("transpose xy", off_plane, node * _contention(case, py / node))
        if case.numerics.transposes == "overlapped":  # a rank's own part is in its buffers too
            in_planes += sent * py / (py - 1) / _OVERLAPPED_RATE
    else:  # in shared memory ranks read a counter of each other for five exchanges
        counters = exchanges / _EXCHANGES_A_COUNTER * (py - 1)
        in_planes = counters * _NEAR_LATENCY + sent / min(_SHARED_RATE, _NODE_RATE / node)
    return Prediction(py, pz, scheme, computing, in_planes, column, memory)


def _filling(
    case: ChannelCase, counts: Counts, pz: int, computing: float, off: float, sharing: int
) -> float:
    """Return the time until the pipeline along z is full, and empty again."""
    exchanges, messages, sent = counts.get("pipeline z", (0, 0, 0))
    if not messages:
        return 0.0
    chunks = max(1.0, exchanges / (_SUBSTEPS * _SWEEPS_UP_AND_DOWN))
    chunk = _SWEEPS * computing / (_SUBSTEPS * _SWEEPS_UP_AND_DOWN * chunks)
    hop = chunk + _latency(case, off) + sent / messages * _per_byte(case, off, sharing)
    return _SUBSTEPS * _SWEEPS_UP_AND_DOWN * (pz - 1) * hop


def _off_node(group: int, near: int) -> float:
    """Return the share of a rank's partners in a group that are on other nodes."""
    return 1 - (min(near, group) - 1) / (group - 1) if group > 1 else 0.0


def _latency(case: ChannelCase, off: float) -> float:
    return off * case.decomposition.network.latency + (1 - off) * _NEAR_LATENCY


def _per_byte(case: ChannelCase, off: float, sharing: float) -> float:
    """Return the seconds for a byte of a rank, of which `sharing` send from a node at a time."""
    return off * sharing / case.decomposition.network.rate + (1 - off) / _NEAR_RATE


def _contention(case: ChannelCase, nodes: float) -> float:
    """Return how many times longer an all-to-all among so many nodes takes than at full rate."""
    full = case.decomposition.network.nodes_at_full_rate
    return 1.0 if full is None else max(1.0, nodes / full) ** (1 / 3)


def ranking(case: ChannelCase, ranked: Sequence[Prediction], ranks: int) -> str:
    """Return a sentence with the predicted times of the chosen process grid and the next ones."""
    best = ranked[0]
    others = ", ".join(
        f"{candidate.py} x {candidate.pz} {candidate.scheme} {show_time(candidate.seconds)}"
        for candidate in ranked[1:4]
    )
    return (
        f"predicted time of a step with {ranks_per_node(case, ranks)} ranks a node: "
        f"{show_time(best.seconds)} on {best.py} x {best.pz} ranks, {best.scheme} "
        f"(computing {show_time(best.computing)}, all-to-alls of planes {show_time(best.planes)}, "
        f"along z {show_time(best.column)})" + (f"; next: {others}" if others else "")
    )
