"""Files that tell a launcher, or the run itself, where each rank belongs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from uzushio._base.files import atomic_write
from uzushio.errors import PlacementError
from uzushio.placement.machines.description import read_text
from uzushio.placement.machines.machine import Indices
from uzushio.placement.machines.tofu import TofuD
from uzushio.placement.machines.torus import Torus
from uzushio.placement.placing import Placement

#: First line of a file for `parallel.placement` of a case.
_PERMUTATION = "# uzushio: rank in the run of each rank of the launcher"


def node_shape(placement: Placement) -> tuple[int, ...] | None:
    """Return the shape of the nodes that a launcher fills, first axis first; None: no torus."""
    if isinstance(placement.machine, TofuD):
        return tuple(int(n) for n in placement.machine.logical.max(axis=0) + 1)
    return placement.machine.shape if isinstance(placement.machine, Torus) else None


def fujitsu_coordinates(
    placement: Placement, nodes: Indices, shape: Sequence[int] | None = None
) -> str:
    """Return the content of a file for Fujitsu's `mpiexec --vcoordfile`.

    Line r has the logical coordinates of the node of rank r.

    Args:
        placement: the placement.
        nodes: nodes of the job in the launcher's order, (nodes,): the first axis fastest.
        shape: node shape of the job, of one to three axes; None: that of the machine.

    Raises:
        PlacementError: another number of nodes than the shape has.
    """
    sizes = node_shape(placement) if shape is None else tuple(shape)
    if sizes is None or len(sizes) > 3 or int(np.prod(sizes)) != len(nodes):
        raise PlacementError(
            f"--vcoordfile needs the node shape of the job, one to three sizes for its "
            f"{len(nodes)} nodes; give --shape, as in --shape 16x24x16."
        )
    number = _numbers(placement, nodes)
    columns = [number // int(np.prod(sizes[:axis])) % sizes[axis] for axis in range(len(sizes))]
    rows = np.stack(columns, axis=1).tolist()
    return "".join(f"({','.join(map(str, row))})\n" for row in rows)


def open_mpi_ranks(
    placement: Placement, nodes: Indices, names: Sequence[str] | None, threads: int = 1
) -> str:
    """Return the content of a rankfile of Open MPI (`mpirun --map-by rankfile:file=FILE`).

    Args:
        placement: the placement.
        nodes: nodes of the job in the launcher's order, (nodes,).
        names: their names; None: relative names, `+n0` for the first node of the allocation.
        threads: cores of a rank.
    """
    number, slot = _numbers(placement, nodes), _slots(placement.node)
    hosts = [f"+n{number}" for number in range(len(nodes))] if names is None else names
    lines = []
    for rank, (host, place) in enumerate(zip(number, slot, strict=True)):
        first = int(place) * threads
        cores = str(first) if threads == 1 else f"{first}-{first + threads - 1}"
        lines.append(f"rank {rank}={hosts[host]} slot={cores}\n")
    return "".join(lines)


def host_lines(placement: Placement, nodes: Indices, names: Sequence[str]) -> str:
    """Return the name of each rank's node, a line for each rank.

    It is a host file of Slurm (`SLURM_HOSTFILE=FILE srun --distribution=arbitrary`) and a machine
    file of MPICH (`mpiexec -f FILE`).
    """
    return "".join(f"{names[number]}\n" for number in _numbers(placement, nodes))


def cray_order(placement: Placement) -> str:
    """Return the content of MPICH_RANK_ORDER, for Cray MPICH with MPICH_RANK_REORDER_METHOD=3.

    Raises:
        PlacementError: the placement uses other nodes than the launcher fills.
    """
    return ",".join(map(str, placement.permutation.tolist())) + "\n"


def write_permutation(path: Path, permutation: Indices) -> None:
    """Write the file that `parallel.placement` of a case names."""
    atomic_write(path, "\n".join([_PERMUTATION, *map(str, permutation.tolist())]) + "\n")


def read_permutation(path: Path) -> Indices:
    """Return the rank in the run of each rank of the launcher, (ranks,).

    Raises:
        PlacementError: the file is unreadable, or does not name each rank once.
    """
    lines = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
    words = [line for line in lines if line]
    wrong = next((word for word in words if not word.isdigit() or len(word) > 9), None)
    if wrong is not None:
        raise PlacementError(f"{path}: {wrong!r} is no rank; each line has one rank.")
    ranks = np.array([int(word) for word in words], dtype=np.int64)
    if not len(ranks) or not np.array_equal(np.sort(ranks), np.arange(len(ranks))):
        raise PlacementError(
            f"{path} has {len(ranks)} lines, but does not name each of the ranks 0 to "
            f"{len(ranks) - 1} once; write it with uzushio place."
        )
    return ranks


def _numbers(placement: Placement, nodes: Indices) -> Indices:
    """Return the number of each rank's node in the launcher's order, (ranks,)."""
    number = np.full(placement.machine.size, -1)
    number[nodes] = np.arange(len(nodes))
    return number[placement.node]


def _slots(node: Indices) -> Indices:
    """Return the number of each rank among those of its node, (ranks,)."""
    order = np.argsort(node, kind="stable")
    _, first, count = np.unique(node[order], return_index=True, return_counts=True)
    slots = np.empty(len(node), np.int64)
    slots[order] = np.arange(len(node)) - np.repeat(first, count)
    return slots
