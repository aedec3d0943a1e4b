"""Roofline of the machine: rates that bound every kernel, measured once and stored.

The bandwidth is that of STREAM's triad, the flop rate that of multiplications and additions in
registers, one thread a rank, all ranks of a node at the same time. They are in the user's cache
folder, in one file per processor model; delete it to measure again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from uzushio import _core
from uzushio._base.config import user_cache
from uzushio._base.parallel import memory

if TYPE_CHECKING:
    from mpi4py import MPI

#: Values of each of the triad's three arrays on a node, more than its caches hold.
_NODE_DOUBLES = 2**23
#: Minimum of a rank.
_MIN_DOUBLES = 2**16
_REPEATS = 3


@dataclass(frozen=True)
class Roofline:
    """Rates of all ranks together.

    Attributes:
        bytes_per_second: bandwidth of STREAM's triad.
        flops_per_second: floating-point operations in registers.
    """

    bytes_per_second: float
    flops_per_second: float

    def seconds(self, flops: float, bytes: float) -> float:
        """Return the minimum time of work on all ranks."""
        return max(flops / self.flops_per_second, bytes / self.bytes_per_second)


def roofline(comm: MPI.Comm) -> Roofline | None:
    """Return the rates of these ranks, measured where they are not known yet (collective).

    None if a node has not the memory for the measurement, 0.2 GB.
    """
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    try:
        known = _known(node)
        doubles = max(_MIN_DOUBLES, _NODE_DOUBLES // node.size)
        needs = 0 if known else 3 * 8 * doubles * node.size
        if not comm.allreduce(memory.node_memory().bytes >= 2 * needs, MPI.LAND):
            return None
        rates = known or _measured(node, doubles)
        mine = rates if node.rank == 0 else Roofline(0.0, 0.0)
        return Roofline(*(comm.allreduce(rate) for rate in asdict(mine).values()))
    finally:
        node.Free()


def triad_rate(comm: MPI.Comm) -> float:
    """Measure STREAM's triad on all ranks at the same time, in bytes a second (collective)."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    doubles = max(_MIN_DOUBLES, _NODE_DOUBLES // node.size)
    node.Free()
    return float(_core.parallel.triad_rate(comm.handle, doubles, _REPEATS))


def _name() -> str:
    return f"roofline-{user_cache.processor_key()}.json"


def _stored() -> dict[str, dict[str, float]]:
    """Return the stored rates of a node by the number of its ranks."""
    try:
        stored = json.loads(user_cache.load(_name()) or "{}")
    except ValueError:
        return {}
    return stored if isinstance(stored, dict) else {}


def _known(node: MPI.Comm) -> Roofline | None:
    """Return the stored rates of a node (collective)."""
    usable: Roofline | None = None
    if node.rank == 0:
        try:
            rates = Roofline(**_stored()[str(node.size)])
            usable = rates if rates.seconds(1.0, 1.0) > 0.0 else None
        except (KeyError, TypeError, ZeroDivisionError):
            usable = None
    result: Roofline | None = node.bcast(usable)
    return result


def _measured(node: MPI.Comm, doubles: int) -> Roofline:
    """Measure the rates of a node, and store them (collective)."""
    core = _core.parallel
    rates = Roofline(
        core.triad_rate(node.handle, doubles, _REPEATS), core.flop_rate(node.handle, _REPEATS)
    )
    if node.rank == 0:
        user_cache.store(_name(), json.dumps({**_stored(), str(node.size): asdict(rates)}))
    return rates
