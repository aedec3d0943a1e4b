"""Placement of the ranks of a job: methods, their choice, and the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uzushio.errors import PlacementError
from uzushio.placement.evaluation import PhaseFigures, cost, evaluate
from uzushio.placement.local_search import LocalSearch
from uzushio.placement.machines.machine import Indices, Machine
from uzushio.placement.packing import packings
from uzushio.placement.patterns import Pattern
from uzushio.placement.scotch import MAX_NODES, scotch_mapping
from uzushio.placement.scotch import available as has_scotch

METHODS = ("auto", "default", "packed", "scotch")


@dataclass(frozen=True)
class Placement:
    """Nodes of the ranks of a job, by default and placed.

    Attributes:
        machine: nodes and network.
        pattern: messages of the job.
        per_node: ranks of a node.
        default: node of each rank as the launcher fills them, (ranks,).
        node: node of each rank as placed, (ranks,).
        method: methods that led to `node`.
        before: figures of each phase by default.
        after: figures of each phase as placed.
    """

    machine: Machine
    pattern: Pattern
    per_node: int
    default: Indices
    node: Indices
    method: str
    before: list[PhaseFigures]
    after: list[PhaseFigures]

    @property
    def uses_default_nodes(self) -> bool:
        """Whether each node has as many ranks as the launcher gives it by default."""
        return np.array_equal(np.sort(self.default), np.sort(self.node))

    @property
    def permutation(self) -> Indices:
        """Rank in the run of each rank of the launcher, (ranks,).

        The launcher's rank p is on the node `default[p]`; of the ranks of a node, the lowest one
        becomes the lowest one of those that are placed there.

        Raises:
            PlacementError: the placement uses other nodes than the launcher fills.
        """
        if not self.uses_default_nodes:
            raise PlacementError(
                "the placement uses other nodes than the launcher fills, so its ranks cannot be "
                "exchanged inside the run; place with --in-run, or use a file for the launcher."
            )
        result = np.empty(len(self.node), np.int64)
        placed = np.argsort(self.node, kind="stable")
        result[np.argsort(self.default, kind="stable")] = placed
        return result


def place(
    machine: Machine,
    pattern: Pattern,
    *,
    nodes: Indices | None = None,
    per_node: int = 1,
    method: str = "auto",
    rounds: int = 60,
    exchange: bool = False,
) -> Placement:
    """Return the placement of a job's ranks on the nodes of a machine.

    Args:
        machine: nodes and network.
        pattern: messages of the job.
        nodes: nodes of the job in the launcher's order, (nodes,); None: all.
        per_node: ranks of a node. By default the launcher fills one node after the other.
        method: `packed`, `scotch`, `default` (no change), or `auto`: the best of those that suit.
        rounds: maximum number of rounds of the local search that follows; 0: none.
        exchange: use only the nodes that the launcher fills, so that `Placement.permutation`
            exists.

    Raises:
        PlacementError: more ranks than places, an unknown method, or Scotch is not installed.
    """
    given = machine.default_order() if nodes is None else np.asarray(nodes)
    _check(machine, pattern, given, per_node, method)
    if exchange:
        given = given[: -(-pattern.ranks // per_node)]
    default = np.repeat(given, per_node)[: pattern.ranks]
    before = evaluate(machine, pattern, default)
    best, name, figures = default, "default", before
    for candidate_name, candidate in _candidates(machine, pattern, given, per_node, method):
        candidate = _refilled(candidate, default) if exchange else candidate
        after = evaluate(machine, pattern, candidate)
        if name == "default" or cost(after, machine.links) < cost(figures, machine.links):
            best, name, figures = candidate, candidate_name, after
    if rounds and method != "default" and _can_gain(figures):
        searched = LocalSearch(machine, pattern, given).improve(best, rounds)
        searched = _refilled(searched, default) if exchange else searched
        after = evaluate(machine, pattern, searched)
        if cost(after, machine.links) < cost(figures, machine.links):
            best, name, figures = searched, f"{name}, local search", after
    if method == "auto" and cost(before, machine.links) <= cost(figures, machine.links):
        best, name, figures = default, "default", before
    return Placement(machine, pattern, per_node, default, best, name, before, figures)


def _candidates(
    machine: Machine, pattern: Pattern, nodes: Indices, per_node: int, method: str
) -> Iterator[tuple[str, Indices]]:
    """Yield the placements of a method, or of those that suit."""
    if method in ("auto", "packed"):
        for candidate in packings(machine, nodes, pattern, per_node):
            yield "packed", candidate
    suits = method == "auto" and pattern.group is None and len(nodes) <= MAX_NODES
    if method == "scotch" or (suits and has_scotch()):
        default = np.repeat(nodes, per_node)[: pattern.ranks]
        yield "Scotch", scotch_mapping(machine, nodes, pattern, default)


def _refilled(node: Indices, default: Indices) -> Indices:
    """Return the placement with as many ranks on each node as by default.

    They differ where the launcher fills its last node in part.
    """
    size = int(max(node.max(), default.max())) + 1
    missing = np.bincount(default, minlength=size) - np.bincount(node, minlength=size)
    result = node.copy()
    for full in np.flatnonzero(missing < 0):
        moved = np.flatnonzero(node == full)[missing[full] :]
        result[moved] = -1
    result[result < 0] = np.repeat(np.arange(size), np.maximum(missing, 0))
    return result


def _can_gain(figures: list[PhaseFigures]) -> bool:
    """Return whether some message crosses more links than one, or shares one."""
    return any(phase.max_hops > 0 for phase in figures)


def _check(machine: Machine, pattern: Pattern, nodes: Indices, per_node: int, method: str) -> None:
    if method not in METHODS:
        raise PlacementError(f"the method {method!r} is not known; choose {', '.join(METHODS)}.")
    if per_node < 1:
        raise PlacementError(f"a node has at least one rank, not {per_node}.")
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= machine.size):
        raise PlacementError(f"{machine} has the nodes 0 to {machine.size - 1} only.")
    if len(np.unique(nodes)) != len(nodes):
        raise PlacementError("a node of the job is listed twice.")
    if pattern.ranks > per_node * len(nodes):
        raise PlacementError(
            f"{pattern.ranks} ranks do not fit {len(nodes)} nodes with {per_node} "
            f"rank{'s' if per_node > 1 else ''} each; use more nodes, or more ranks a node."
        )
