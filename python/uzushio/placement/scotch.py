"""Static mapping by Scotch, where its library is installed.

F. Pellegrini, "Static mapping by dual recursive bipartitioning of process and architecture
graphs", SHPCC 1994. The library is called by ctypes; no Python package binds its mapping functions
and is maintained.
"""

from __future__ import annotations

import ctypes
import os
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from uzushio.errors import PlacementError
from uzushio.placement.evaluation import node_traffic
from uzushio.placement.machines.machine import Indices, Machine
from uzushio.placement.patterns import Pattern

#: Environment variable with the path of the library.
LIBRARY = "UZUSHIO_SCOTCH"
#: Names of the libraries for errors, which Scotch needs, and of Scotch itself.
_NAMES = (("scotcherr-7.0", "scotch-7.0"), ("scotcherr", "scotch"))
#: Maximum number of nodes; the distances of all pairs take 0.7 GB of memory for 6144.
MAX_NODES = 8192
#: Minimum bytes for a structure of Scotch.
_ROOM = 4096
#: Bits of the largest weight of a message.
_WEIGHT_BITS = 16
#: Strategy: favour quality; and imbalance that is allowed.
_QUALITY, _IMBALANCE = 0x1, 0.001


def available() -> bool:
    """Return whether the library of Scotch is found."""
    return _load() is not None


def scotch_mapping(
    machine: Machine, nodes: Indices, pattern: Pattern, node_of_rank: Indices
) -> Indices:
    """Return the placement by Scotch, node of each rank (ranks,).

    Ranks that share a node stay together: Scotch maps the nodes' blocks of ranks.

    Args:
        machine: nodes and network.
        nodes: nodes of the job.
        pattern: messages of the job.
        node_of_rank: placement that states which ranks share a node, (ranks,).

    Raises:
        PlacementError: the library is not installed, fails, or there are too many nodes.
    """
    library = _load()
    if library is None:
        raise PlacementError(
            "the method scotch needs the library of Scotch 7; install it (Debian: apt-get install "
            "libscotch-dev; else pip install pyscotch, whose wheel contains it), or set "
            f"{LIBRARY} to the path of libscotch.so."
        )
    if len(nodes) > MAX_NODES:
        raise PlacementError(
            f"the method scotch maps to at most {MAX_NODES} nodes, not {len(nodes)}; choose packed."
        )
    _, block = np.unique(node_of_rank, return_inverse=True)
    with _Mapper(library) as mapper:
        return _one_each(machine, nodes, mapper.map(machine, nodes, pattern, block))[block]


class _Mapper:
    """Structures of a call of Scotch, released at the end."""

    def __init__(self, library: Any) -> None:
        self._library = library
        #: The wheel of pyscotch adds the width of its numbers to the names.
        self._suffix = "" if hasattr(library, "SCOTCH_numSizeof") else "_32"
        self._number = np.dtype(f"i{self._function('numSizeof')()}")
        self._held: list[Any] = []
        self._exits: list[tuple[str, Any]] = []

    def __enter__(self) -> _Mapper:
        return self

    def __exit__(self, *_: object) -> None:
        for kind, structure in reversed(self._exits):
            self._function(f"{kind}Exit")(structure)

    def map(self, machine: Machine, nodes: Indices, pattern: Pattern, block: Indices) -> Indices:
        """Return the node of each block; several blocks may have the same."""
        blocks = int(block.max()) + 1
        traffic = [node_traffic(phase, block, blocks) for phase in pattern.phases]
        source = np.concatenate([messages.source for messages in traffic])
        target = np.concatenate([messages.target for messages in traffic])
        pairs, inverse = np.unique(
            np.minimum(source, target) * blocks + np.maximum(source, target), return_inverse=True
        )
        sent = np.bincount(inverse, np.concatenate([messages.sent for messages in traffic]))
        largest = float(sent.max(initial=0.0)) or 1.0
        weights = np.maximum(1, np.round(sent / largest * (1 << _WEIGHT_BITS))).astype(np.int64)
        if len(weights) and weights.min() == weights.max():
            weights[:] = 1
        processes = self._graph(blocks, np.stack([pairs // blocks, pairs % blocks], 1), weights)
        count, links = machine.graph()
        network = self._graph(count, links, np.ones(len(links), np.int64))
        architecture, bisection = self._new("arch"), self._new("strat")
        self._call("archBuild0", architecture, network, len(nodes), self._array(nodes), bisection)
        strategy, parts = self._new("strat"), self._array(np.zeros(blocks))
        self._call(
            "stratGraphMapBuild", strategy, _QUALITY, len(nodes), ctypes.c_double(_IMBALANCE)
        )
        self._function("randomReset")()
        self._call("graphMap", processes, architecture, strategy, parts)
        mapped: Indices = self._held[-1].astype(np.int64)
        return mapped

    def _graph(self, count: int, pairs: Indices, weights: Indices) -> Any:
        ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
        order = np.argsort(ends, kind="stable")
        others = np.concatenate([pairs[:, 1], pairs[:, 0]])[order]
        first = np.searchsorted(ends[order], np.arange(count + 1))
        graph = self._new("graph")
        starts = self._array(first)
        stops = ctypes.c_void_p(starts.value + self._number.itemsize)
        self._call(
            "graphBuild",
            graph,
            0,
            count,
            starts,
            stops,
            None,
            None,
            len(others),
            self._array(others),
            self._array(np.concatenate([weights, weights])[order]),
        )
        return graph

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"SCOTCH_{name}{self._suffix}")

    def _new(self, kind: str) -> Any:
        size = max(_ROOM, self._function(f"{kind}Sizeof")())
        structure = ctypes.create_string_buffer(size)
        self._held.insert(0, structure)
        self._call(f"{kind}Init", structure)
        self._exits.append((kind, structure))
        return structure

    def _array(self, values: Any) -> Any:
        held = np.ascontiguousarray(values, dtype=self._number)
        self._held.append(held)
        return ctypes.c_void_p(held.ctypes.data)

    def _call(self, name: str, *arguments: Any) -> None:
        number = ctypes.c_int64 if self._number.itemsize == 8 else ctypes.c_int32
        passed = [
            number(argument) if isinstance(argument, int) else argument for argument in arguments
        ]
        if self._function(name)(*passed) != 0:
            raise PlacementError(f"Scotch failed in SCOTCH_{name}; choose another method.")


def _one_each(machine: Machine, nodes: Indices, mapped: Indices) -> Indices:
    """Return a node for each block, where Scotch has put several on one to the nearest free one."""
    _, first = np.unique(mapped, return_index=True)
    result = np.full(len(mapped), -1)
    result[first] = mapped[first]
    free = np.setdiff1d(nodes, result[first])
    for block in np.flatnonzero(result < 0):
        nearest = int(np.argmin(machine.hops(mapped[block], free)))
        result[block] = free[nearest]
        free = np.delete(free, nearest)
    return result


def _load() -> Any:
    """Return the library, or None."""
    choices: list[tuple[str | None, str]] = []
    if path := os.environ.get(LIBRARY):
        beside = Path(path).parent
        errors = sorted(beside.glob("libscotcherr.so*")) + sorted(beside.glob("libscotcherr-7*.so"))
        choices.append((str(errors[0]) if errors else None, path))
    for error_name, name in _NAMES:
        if library := find_library(name):
            choices.append((find_library(error_name), library))
    spec = find_spec("pyscotch")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        libraries = Path(folder) / "_libs/lib32"
        choices.append((str(libraries / "libscotcherr.so"), str(libraries / "libscotch.so")))
    for errors_path, library_path in choices:
        try:
            if errors_path:
                ctypes.CDLL(errors_path, mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(library_path)
        except OSError:
            continue
    return None
