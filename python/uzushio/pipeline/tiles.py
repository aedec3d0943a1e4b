"""Partition of a grid's points among the ranks of a pipeline.

In the solver's process a rank works on its own blocks. Each block is cut into a core, whose inputs
are all in the block's memory, and thin slabs around it, which need values of neighbours. In a
reader the grid is divided evenly, one box for each rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from uzushio.domain.box import Box, Index, Triple, intersection
from uzushio.pipeline.need import Need
from uzushio.pipeline.stream import Grid
from uzushio.staging.step import Block, Step


@dataclass(frozen=True)
class Tile:
    """Box of a grid's points that one rank processes at once.

    Attributes:
        points: owned points; tiles of all ranks are disjoint.
        block: block of the stream whose memory holds the points; None in a reader.
    """

    points: Box
    block: Block | None = None


def with_ghosts(box: Box, need: Need, grid: Grid) -> Box:
    """Return the stored points for a box of owned points: with far corners and ghost layers."""
    low, high = [], []
    whole = grid.wrapped_points if need.periodic_cells else grid.points
    for axis, (start, stop) in enumerate(zip(box.start, box.stop, strict=True)):
        whole_start, whole_stop = whole.start[axis], whole.stop[axis]
        first, last = start, min(stop - 1 + need.cells, whole_stop - 1)
        low.append(max(first - need.ghosts, whole_start))
        high.append(min(last + need.ghosts + 1, whole_stop))
    return Box.between(low, high)


def stored_box(need: Need, grid: Grid, points: Box) -> tuple[Box, Box, Box]:
    """Return the owned points, the owned cells, and the stored points of a tile for a need.

    Points have counts of 0 if tile and region do not overlap.
    """
    region = grid.points if need.region is None else need.region
    mine = intersection(points, region)
    cells = intersection(mine, _cells_of(grid.wrapped_points if need.periodic_cells else region))
    if mine.size == 0:
        return mine, cells, mine
    return mine, cells, with_ghosts(mine, need, grid)


def _cells_of(region: Box) -> Box:
    """Return the cells whose corners are all in a region."""
    z, y, x = (max(n - 1, 0) for n in region.count)
    return Box(region.start, (z, y, x))


def own_blocks(step: Step, grid: Grid, rank: int) -> list[tuple[Block, Box]]:
    """Return the blocks of a rank of the writer, each with its owned points of a grid.

    Blocks of elements share vertices with their neighbours: a vertex belongs to the block of the
    element above it, at the end of the grid to the last block.
    """
    blocks = [block for block in step.blocks if block.mesh == grid.mesh.name]
    if grid.of_elements:
        return [(block, block.elements) for block in blocks if block.rank == rank]
    mesh = grid.mesh
    of_elements = sum(block.elements.size for block in blocks) == mesh.elements.size
    own = []
    for block in blocks:
        if block.rank == rank:
            points = block.vertices
            if of_elements and len(blocks) > 1:
                points = _upto_last(block.elements, points, grid.points)
            own.append((block, points))
    return [(block, points) for block, points in own if points.size]


def _upto_last(elements: Box, vertices: Box, whole: Box) -> Box:
    """Return the vertices below the elements, and at the end of the grid also those above."""
    z, y, x = (
        v if e + n == stop - 1 or v == n else n
        for e, n, v, stop in zip(
            elements.start, elements.count, vertices.count, whole.stop, strict=True
        )
    )
    return Box(elements.start, (z, y, x))


def rank_share(grid: Grid, rank: int, ranks: int) -> Box:
    """Return the points of a grid that belong to a rank of a reader.

    Boxes have about equal size and little surface; cuts along z are preferred to cuts along x.
    """
    parts = best_cut(grid.points.count, ranks)
    place = np.unravel_index(rank, parts) if rank < int(np.prod(parts)) else None
    if place is None:
        return Box(grid.points.start, (0, 0, 0))
    ends = [
        (first + total * int(at) // n, first + total * (int(at) + 1) // n)
        for at, n, first, total in zip(place, parts, *grid.points.pair, strict=True)
    ]
    return Box.between(*zip(*ends, strict=True))


def best_cut(counts: Index, ranks: int) -> Triple:
    """Return the numbers of parts along z, y, x with the fewest points at cuts.

    Each part has at least two points along each axis, so there may be fewer parts than ranks.
    """
    max_parts = [max(1, n // 2) for n in counts]
    for parts in range(min(ranks, int(np.prod(max_parts))), 0, -1):
        cuts = [
            (z, y, parts // (z * y))
            for z in range(1, parts + 1)
            if parts % z == 0
            for y in range(1, parts // z + 1)
            if parts // z % y == 0
        ]
        fitting = [cut for cut in cuts if all(a <= b for a, b in zip(cut, max_parts, strict=True))]
        if fitting:
            nz, ny, nx = counts
            return min(
                fitting,
                key=lambda cut: (
                    (cut[0] - 1) * ny * nx + (cut[1] - 1) * nz * nx + (cut[2] - 1) * nz * ny,
                    cut[2],
                    cut[1],
                ),
            )
    return 1, 1, 1


def cut_tiles(
    block: Block, points: Box, missing_layers: Callable[[Box], tuple[Triple, Triple]]
) -> Sequence[Tile]:
    """Cut a block's points into a core and the slabs around it.

    Args:
        block: the block.
        points: owned points of the block.
        missing_layers: returns the numbers of layers below and above, along each axis, that the
            computation on a box reads and the block's memory does not contain.
    """
    low, high = list(points.start), list(points.stop)
    while all(a < b for a, b in zip(low, high, strict=True)):
        below, above = missing_layers(Box.between(low, high))
        if not any(below) and not any(above):
            break
        low = [a + n for a, n in zip(low, below, strict=True)]
        high = [b - n for b, n in zip(high, above, strict=True)]
    if any(a >= b for a, b in zip(low, high, strict=True)):
        return [Tile(points, block)]
    tiles = [Tile(Box.between(low, high), block)]
    start, stop = list(points.start), list(points.stop)
    for axis in range(3):
        for begin, end in ((start[axis], low[axis]), (high[axis], stop[axis])):
            if begin < end:
                first, last = start.copy(), stop.copy()
                first[axis], last[axis] = begin, end
                tiles.append(Tile(Box.between(first, last), block))
        start[axis], stop[axis] = low[axis], high[axis]
    return tiles
