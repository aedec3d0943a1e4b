"""Patterns of communication: which rank sends how many bytes to which, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from uzushio.errors import PlacementError
from uzushio.placement.machines.machine import Floats, Indices


@dataclass(frozen=True)
class Phase:
    """Messages that are sent at the same time.

    Attributes:
        name: name of the phase.
        source: rank that sends each message, (messages,).
        target: rank that receives it, (messages,).
        sent: bytes of each message, (messages,).
    """

    name: str
    source: Indices
    target: Indices
    sent: Floats


@dataclass(frozen=True)
class Pattern:
    """Communication of a job.

    Attributes:
        ranks: number of ranks.
        phases: phases, one after the other.
        group: ranks of a group of an all-to-all, which are consecutive; neighbouring groups
            exchange messages. None: the pattern has no groups.
    """

    ranks: int
    phases: tuple[Phase, ...]
    group: int | None = None


def pencils(py: int, pz: int, in_groups: float = 1.0, along_z: float = 1.0) -> Pattern:
    """Return the pattern of a Py × Pz decomposition: all-to-alls, and shifts along z.

    Rank iz Py + iy has position iy in its group of Py consecutive ranks, the xy-group iz. Each rank
    sends to all others of its group, and to the rank of the same position in the next group.

    Args:
        py: ranks of an xy-group.
        pz: number of groups.
        in_groups: bytes of a message of the all-to-all.
        along_z: bytes of a message along z.

    Raises:
        PlacementError: py or pz below 1.
    """
    if min(py, pz) < 1:
        raise PlacementError(f"a decomposition has at least 1 x 1 ranks, not {py} x {pz}.")
    rank = np.arange(py * pz)
    source = np.repeat(rank, py - 1)
    step = np.tile(np.arange(1, py), len(rank))
    target = source // py * py + (source % py + step) % py
    chain = rank[:-py] if pz > 1 else rank[:0]
    return Pattern(
        py * pz,
        (
            Phase("all-to-all in groups", source, target, np.full(len(source), float(in_groups))),
            Phase("shift along z", chain, chain + py, np.full(len(chain), float(along_z))),
        ),
        py,
    )


def halo(
    starts: Indices,
    stops: Indices,
    layers: int = 1,
    periodic: Sequence[bool] | None = None,
    bytes_per_cell: float = 8.0,
) -> Pattern:
    """Return the pattern of the halo exchange of a decomposition into boxes.

    Args:
        starts: first cell of each rank's box, (ranks, axes).
        stops: cell after the last one, (ranks, axes).
        layers: layers of cells that a box needs around it, edges and corners included.
        periodic: whether each axis is periodic; None: none is.
        bytes_per_cell: bytes of the values of a cell.

    Raises:
        PlacementError: arrays of different shapes.
    """
    starts, stops = np.atleast_2d(starts), np.atleast_2d(stops)
    if starts.shape != stops.shape:
        raise PlacementError(
            f"boxes have as many starts as stops, not {starts.shape} and {stops.shape}."
        )
    size = stops.max(axis=0) - starts.min(axis=0)
    around = (False,) * starts.shape[1] if periodic is None else tuple(periodic)
    sources, targets, cells = [], [], []
    for shift in product(*((-1, 0, 1) if periodic_axis else (0,) for periodic_axis in around)):
        moved = np.array(shift) * size
        low, high = starts + moved - layers, stops + moved + layers
        near = (high > starts.min(axis=0)).all(axis=1) & (low < stops.max(axis=0)).all(axis=1)
        for rank in np.flatnonzero(near):
            overlap = np.minimum(stops, high[rank]) - np.maximum(starts, low[rank])
            count = np.prod(np.maximum(overlap, 0), axis=1)
            if not any(shift):
                count[rank] = 0
            sender = np.flatnonzero(count)
            sources.append(sender)
            targets.append(np.full(len(sender), rank))
            cells.append(count[sender])
    source, target = np.concatenate(sources), np.concatenate(targets)
    sent = bytes_per_cell * np.concatenate(cells)
    other = source != target
    phase = Phase("halo exchange", source[other], target[other], sent[other])
    return Pattern(len(starts), (phase,))


def boxes(cells: Sequence[int], grid: Sequence[int]) -> tuple[Indices, Indices]:
    """Return start and stop of each rank's box, (ranks, axes), of even shares; last axis fastest.

    Args:
        cells: cells along each axis.
        grid: ranks along each axis.

    Raises:
        PlacementError: more ranks than cells along an axis, or other numbers of axes.
    """
    if len(cells) != len(grid) or any(n < p or p < 1 for n, p in zip(cells, grid, strict=False)):
        raise PlacementError(
            f"{' × '.join(map(str, cells))} cells do not divide among "
            f"{' × '.join(map(str, grid))} ranks; each rank needs a cell along each axis."
        )
    place = np.indices(tuple(grid)).reshape(len(grid), -1).T
    shape, count = np.array(cells), np.array(grid)
    return place * shape // count, (place + 1) * shape // count


def process_grid(ranks: int, cells: Sequence[int]) -> tuple[int, ...]:
    """Return the process grid with the smallest surface between boxes of even shares.

    Raises:
        PlacementError: no grid of so many ranks has a cell for each.
    """

    def grids(count: int, axes: int) -> list[tuple[int, ...]]:
        if axes == 1:
            return [(count,)]
        divisors = (d for d in range(1, count + 1) if count % d == 0)
        return [(d, *rest) for d in divisors for rest in grids(count // d, axes - 1)]

    fitting = [
        grid
        for grid in grids(ranks, len(cells))
        if all(p <= n for p, n in zip(grid, cells, strict=True))
    ]
    if not fitting:
        raise PlacementError(
            f"{' × '.join(map(str, cells))} cells do not divide among {ranks} ranks."
        )
    return min(
        fitting,
        key=lambda grid: sum((p - 1) * prod(cells) / n for p, n in zip(grid, cells, strict=True)),
    )


def binary_swap(ranks: int, picture: float = 1.0) -> Pattern:
    """Return the pattern of binary-swap compositing, a phase for each round, and the gather.

    In round k, ranks whose numbers differ in bit k exchange halves of their parts. Ranks above the
    largest power of two first send their pictures to those below.

    Args:
        ranks: number of ranks.
        picture: bytes of a rank's picture.

    Raises:
        PlacementError: fewer than one rank.
    """
    if ranks < 1:
        raise PlacementError(f"a job has at least one rank, not {ranks}.")
    rounds = ranks.bit_length() - 1
    power = 1 << rounds
    rank = np.arange(power)
    phases = []
    if ranks > power:
        extra = np.arange(power, ranks)
        phases.append(Phase("fold", extra, extra - power, np.full(len(extra), float(picture))))
    for number in range(rounds):
        sent = np.full(power, picture / 2 ** (number + 1))
        phases.append(Phase(f"swap {number + 1}", rank, rank ^ (1 << number), sent))
    gathered = np.full(power - 1, picture / power)
    phases.append(Phase("gather", rank[1:], np.zeros(power - 1, np.int64), gathered))
    return Pattern(ranks, tuple(phases))
