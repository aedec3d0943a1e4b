"""Affinity: the cores to which the ranks and threads of each node are bound.

Ranks are placed on the processors that the launcher allowed any rank of their node. Memory follows:
a page lies in the NUMA domain of the thread that writes it first, so ranks are bound before they
allocate fields.
"""

from __future__ import annotations

import io
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from uzushio._base.parallel.sync import collective
from uzushio.errors import LaunchError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Maximum number of ranks in a printed table.
MAX_ROWS = 64
#: Variables with which OpenMP binds threads itself.
_OPENMP = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY")
_UNBOUND = "start the job with mpiexec --bind-to none or srun --cpu-bind=none"

#: Processors (hardware threads) of each thread of a rank, by their numbers in the system.
Place = list[list[int]]


class Policy(StrEnum):
    """Placement of the ranks and threads of a node; `none` leaves the launcher's binding."""

    NONE = "none"
    COMPACT = "compact"
    SCATTER = "scatter"
    NUMA_BLOCK = "numa_block"
    NUMA_CYCLIC = "numa_cyclic"

    @classmethod
    def of(cls, name: str) -> Policy:
        """Return the policy of a name; raise `LaunchError` if there is none."""
        try:
            return cls(name)
        except ValueError:
            raise LaunchError(
                f"there is no affinity {name!r}; there are: {', '.join(cls)}."
            ) from None


@dataclass(frozen=True)
class RankBinding:
    """Binding of one rank.

    Attributes:
        rank: the rank.
        node: name of its node.
        domains: NUMA domains of its processors.
        threads: processors of each thread.
    """

    rank: int
    node: str
    domains: list[int]
    threads: Place


@dataclass(frozen=True)
class Affinity:
    """Binding of all ranks, or their plan.

    Attributes:
        policy: policy of the placement.
        ranks: binding of each rank.
        conflicts: sentences on conflicts with the launcher and between ranks.
    """

    policy: Policy
    ranks: list[RankBinding] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)

    def text(self, width: int = 120) -> str:
        """Return the printed table."""
        from rich.console import Console
        from rich.table import Table

        table = Table(box=None, padding=(0, 2, 0, 0))
        for head in ("rank", "node", "NUMA domain", "processors of each thread"):
            table.add_column(head, justify="right" if head == "rank" else "left")
        for binding in self.ranks[:MAX_ROWS]:
            threads = " | ".join(map(ranges, binding.threads))
            table.add_row(str(binding.rank), binding.node, ranges(binding.domains), threads)
        out = io.StringIO()
        Console(file=out, width=width, color_system=None, highlight=False).print(table)
        lines = [f"Affinity {self.policy}:", *map(str.rstrip, out.getvalue().splitlines())]
        if len(self.ranks) > MAX_ROWS:
            lines.append(f"… and {len(self.ranks) - MAX_ROWS:,} more ranks")
        return "\n".join(lines)

    def check_text(self) -> str:
        """Return the table of a plan, and its conflicts."""
        notes = [f"note: {conflict}" for conflict in self.conflicts]
        return "\n".join([self.text(), "if all ranks are on this node", *notes])


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text: "0-3,8"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def bind(comm: MPI.Comm, policy: Policy, threads: int | None = None) -> Affinity | None:
    """Bind the ranks and their OpenMP threads (collective).

    Args:
        comm: all ranks of the job.
        policy: placement; `none` does nothing.
        threads: OpenMP threads of a rank; None: `OMP_NUM_THREADS`.

    Returns:
        The binding of all ranks as read back from the system, on rank 0; None on others and for
        the policy `none`.

    Raises:
        LaunchError: the system does not permit it.
    """
    from mpi4py import MPI

    if policy is Policy.NONE:
        return None
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    try:
        launched = node.allgather(_processors())
        count = node.allreduce(threads or thread_count(), MPI.MAX)
        name = MPI.Get_processor_name()
        with collective(comm):
            places, domains = _places(policy, sorted(set().union(*launched)), node.size, count)
            mine = _bound(places[node.rank], policy)
        ranks = node.gather(comm.rank)
        own_conflicts = []
        if ranks is not None:
            own_conflicts = list(_conflicts(policy, name, ranks, launched, places, domains))
    finally:
        node.Free()
    binding = RankBinding(comm.rank, name, _domains_of(mine, domains), mine)
    gathered = comm.gather((binding, own_conflicts))
    if gathered is None:
        return None
    conflicts = [sentence for _, sentences in gathered for sentence in sentences]
    return Affinity(
        policy, [rank_binding for rank_binding, _ in gathered], [*_by_openmp(), *conflicts]
    )


def plan(policy: Policy, ranks: int, threads: int | None = None) -> Affinity:
    """Return where `bind` would place all ranks of a job on this node; arguments as of `bind`."""
    available = _processors()
    places, domains = _places(policy, sorted(available), ranks, threads or thread_count())
    name = platform.node()
    bindings = [
        RankBinding(rank, name, _domains_of(place, domains), place)
        for rank, place in enumerate(places)
    ]
    allowed = [available] * ranks
    conflicts = _conflicts(policy, name, list(range(ranks)), allowed, places, domains)
    return Affinity(policy, bindings, list(conflicts))


def _processors() -> set[int]:
    if not hasattr(os, "sched_getaffinity"):
        raise LaunchError("this system binds no threads; leave --affinity out.")
    return os.sched_getaffinity(0)


def thread_count() -> int:
    """Return the threads of the outermost level of OpenMP."""
    outermost = os.environ.get("OMP_NUM_THREADS", "1").split(",")[0].strip()
    return max(1, int(outermost)) if outermost.isdigit() else 1


def _places(
    policy: Policy, available: list[int], ranks: int, threads: int
) -> tuple[list[Place], dict[int, int]]:
    """Return the place of each rank of this node, and the NUMA domain of each processor."""
    from uzushio import _core

    topology = _core.parallel.NodeTopology.of_this_node()
    domains = {p: domain for processors, domain in topology.cores() for p in processors}
    try:
        places = _core.parallel.place_ranks(topology, policy.value, available, ranks, threads)
    except ValueError as error:
        raise LaunchError(f"--affinity {policy}: {error}.") from error
    return places, domains


def _bound(place: Place, policy: Policy) -> Place:
    from uzushio import _core

    try:
        bound: Place = _core.parallel.bind_rank(_core.parallel.NodeTopology.of_this_node(), place)
    except RuntimeError as error:
        raise LaunchError(
            f"--affinity {policy}: {error}; leave it out, or bind the ranks by the launcher."
        ) from error
    return bound


def _domains_of(place: Place, domains: dict[int, int]) -> list[int]:
    return sorted({domains[processor] for thread in place for processor in thread})


def _by_openmp() -> Iterator[str]:
    for name in _OPENMP:
        if name in os.environ:
            yield f"{name} binds threads too; unset it, or leave --affinity out."


def _conflicts(
    policy: Policy,
    node: str,
    ranks: list[int],
    launched: list[set[int]],
    places: list[Place],
    domains: dict[int, int],
) -> Iterator[str]:
    """Return sentences on conflicts of a node's places with each other and with the launcher.

    Args:
        policy: policy of the placement.
        node: name of the node.
        ranks: ranks of the node.
        launched: processors that the launcher allowed each of them.
        places: place of each of them.
        domains: NUMA domain of each processor.
    """
    available = set[int]().union(*launched)
    threads = sum(map(len, places))
    if threads > len(available):
        yield (
            f"{node}: {threads} threads of {len(ranks)} ranks share {len(available)} processors "
            f"({ranges(sorted(available))}); start fewer ranks or threads on a node, or, if it has "
            f"more processors, {_UNBOUND}."
        )
        return
    for rank, allowed, place in zip(ranks, launched, places, strict=True):
        own = set[int]().union(*place)
        if not own <= allowed:
            yield (
                f"{node}: the launcher bound rank {rank} to the processors "
                f"{ranges(sorted(allowed))}, and {policy} binds it to {ranges(sorted(own))}; to "
                f"let the policy place all ranks, {_UNBOUND}."
            )
            return
    for rank, place in zip(ranks, places, strict=True):
        spread = _domains_of(place, domains)
        if len(spread) > 1:
            yield (
                f"{node}: the threads of rank {rank} are on the NUMA domains {ranges(spread)}, and "
                "its fields in the memory of one; start at least one rank for each domain."
            )
            return
