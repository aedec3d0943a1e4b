"""Comparison of the memory that the ranks of a job will allocate with the free memory of a node.

Linux overcommits memory and kills processes when they use it. So each command compares the sizes
before it allocates.
"""

from __future__ import annotations

import platform
import re
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uzushio._base.config.quantities import show_size
from uzushio._base.error_text import MEMORY_ADVICE
from uzushio.errors import MemoryShortageError

if TYPE_CHECKING:
    from mpi4py import MPI

_ROOT = Path("/")


@dataclass(frozen=True)
class FreeMemory:
    """Bytes that can still be allocated, and the limit that applies."""

    bytes: float
    limit: str


def node_memory(root: Path = _ROOT) -> FreeMemory:
    """Return the free memory of this node, or of the control group of this process if that is less.

    Args:
        root: folder that holds `proc` and `sys`.
    """
    from uzushio import _core

    available, limit = _core.parallel.available_memory(root)
    return FreeMemory(float(available), limit)


def process_memory(root: Path = _ROOT) -> FreeMemory | None:
    """Return the memory below the limit of `ulimit -v`; None without such a limit."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    used = 1024.0 * _table(root / "proc/self/status")["VmSize"]
    return FreeMemory(max(0.0, limit - used), "ulimit -v")


def require(
    comm: MPI.Comm | None, needed: float, purpose: str, advice: str = MEMORY_ADVICE
) -> None:
    """Compare the bytes that each rank will allocate with those that are free (collective).

    Args:
        comm: all ranks that allocate; None: this process alone, without MPI.
        needed: bytes that this rank will allocate.
        purpose: subject of the message, as "the run".
        advice: sentence that ends the message.

    Raises:
        MemoryShortageError: on all ranks, with the two sizes, if a node has less.
    """
    if comm is None:
        failures = [_shortage(purpose, needed, needed, node_memory(), 1, 0, platform.node())]
    else:
        from mpi4py import MPI

        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        on_node = node.allreduce(float(needed))
        free = min(node.allgather(node_memory()), key=lambda each: each.bytes)
        ranks, name = node.size, MPI.Get_processor_name()
        node.Free()
        failures = comm.allgather(_shortage(purpose, needed, on_node, free, ranks, comm.rank, name))
    shortages = [failure for failure in failures if failure is not None]
    if shortages:
        raise MemoryShortageError(f"{shortages[0]}. {advice}")


def _shortage(
    purpose: str,
    needed: float,
    on_node: float,
    free: FreeMemory,
    ranks: int,
    rank: int,
    node: str,
) -> str | None:
    """Return the sentence for the limit of a node or of a process that is exceeded, if any."""
    if on_node > free.bytes:
        return (
            f"{purpose} needs {show_size(on_node)} of memory on {node} ({_ranks(ranks)}), and "
            f"{show_size(free.bytes)} are free there ({free.limit})"
        )
    own = process_memory()
    if own is not None and needed > own.bytes:
        return (
            f"{purpose} needs {show_size(needed)} of memory on rank {rank} of {node}, and "
            f"{show_size(own.bytes)} are free for it ({own.limit})"
        )
    return None


def _ranks(count: int) -> str:
    return f"{count} ranks" if count > 1 else "1 rank"


def _table(file: Path) -> dict[str, float]:
    """Read lines of a key, a number and perhaps a unit."""
    matches = re.finditer(r"^(\w+):?\s+(\d+)\b", file.read_text("ascii", "replace"), re.MULTILINE)
    return {line[1]: float(line[2]) for line in matches}
