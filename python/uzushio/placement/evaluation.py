"""Figures of a placement: hops, hop-bytes and loads of links, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uzushio.placement.machines.machine import Floats, Indices, Machine
from uzushio.placement.patterns import Pattern, Phase


@dataclass(frozen=True)
class NodeTraffic:
    """Bytes between pairs of different nodes in a phase.

    Attributes:
        source: nodes, (pairs,).
        target: nodes, (pairs,).
        sent: bytes, (pairs,).
    """

    source: Indices
    target: Indices
    sent: Floats


@dataclass(frozen=True)
class PhaseFigures:
    """Figures of a phase. Messages within a node count as 0 hops, and load no link.

    Attributes:
        name: name of the phase.
        sent: bytes of all messages.
        mean_hops: links that a byte crosses, mean over all bytes.
        max_hops: links that a message crosses, maximum.
        hop_bytes: sum over the messages of bytes times links.
        max_load: bytes over the busiest link, in its one direction.
    """

    name: str
    sent: float
    mean_hops: float
    max_hops: int
    hop_bytes: float
    max_load: float


def node_traffic(phase: Phase, node_of_rank: Indices, size: int) -> NodeTraffic:
    """Return the bytes between nodes.

    Args:
        phase: messages between ranks.
        node_of_rank: node of each rank, (ranks,).
        size: number of nodes of the machine.
    """
    source, target = node_of_rank[phase.source], node_of_rank[phase.target]
    other = source != target
    pairs, inverse = np.unique(source[other] * size + target[other], return_inverse=True)
    sent = np.bincount(inverse, phase.sent[other], minlength=len(pairs)).astype(float)
    return NodeTraffic(pairs // size, pairs % size, sent)


def link_loads(machine: Machine, pattern: Pattern, node_of_rank: Indices) -> list[Floats]:
    """Return the bytes over each link in each phase, (links,) each."""
    loads = []
    for phase in pattern.phases:
        traffic = node_traffic(phase, node_of_rank, machine.size)
        loads.append(machine.loads(traffic.source, traffic.target, traffic.sent))
    return loads


def evaluate(machine: Machine, pattern: Pattern, node_of_rank: Indices) -> list[PhaseFigures]:
    """Return the figures of each phase of a placement.

    Args:
        machine: nodes and network.
        pattern: messages of the job.
        node_of_rank: node of each rank, (ranks,).
    """
    return [_figures(machine, phase, node_of_rank) for phase in pattern.phases]


def _figures(machine: Machine, phase: Phase, node_of_rank: Indices) -> PhaseFigures:
    traffic = node_traffic(phase, node_of_rank, machine.size)
    hops = machine.hops(traffic.source, traffic.target)
    loads = machine.loads(traffic.source, traffic.target, traffic.sent)
    total, hop_bytes = float(phase.sent.sum()), float(traffic.sent @ hops)
    return PhaseFigures(
        phase.name,
        total,
        hop_bytes / total if total else 0.0,
        int(hops.max(initial=0)),
        hop_bytes,
        float(loads.max(initial=0.0)),
    )


def cost(figures: list[PhaseFigures], links: int) -> float:
    """Return the cost that methods are compared by.

    It is the sum over the phases of the load of the busiest link, which bounds their time, and of
    the mean load of all links, which decides between placements of the same maximum.
    """
    return sum(phase.max_load + phase.hop_bytes / links for phase in figures)
