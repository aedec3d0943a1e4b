"""Plan of the values of a step: tiles of this rank, inputs of each, and memory for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uzushio._base.parallel import memory
from uzushio.domain.box import Box, Triple, contains, intersection, union
from uzushio.domain.fields import Field
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.need import Need
from uzushio.pipeline.nodes import Component
from uzushio.pipeline.stream import Grid
from uzushio.pipeline.tiles import Tile, cut_tiles, own_blocks, rank_share, stored_box
from uzushio.staging.step import Block, Step

if TYPE_CHECKING:
    from mpi4py import MPI


#: Maximum number of cached plans; few different sets of actions run together.
_MAX_PLANS = 64
#: Advice for a pipeline that needs more memory than available.
_ADVICE = (
    "Use more nodes or fewer ranks a node, smaller pictures (size, samples) or regions in the "
    "pipeline, or raise the limit."
)


@dataclass
class StepPlan:
    """Tiles and inputs of this rank for a set of needs; valid for steps with the same blocks.

    Attributes:
        tiles: tiles, each with the boxes of all fields that it needs.
        reads: in a reader: the box of each field for all tiles together.
        rounds: number of collective reads inside the solver, by set of fields.
    """

    tiles: list[tuple[Grid, Tile, dict[str, Box]]]
    reads: dict[str, Box] = field(default_factory=dict)
    rounds: dict[frozenset[str], int] = field(default_factory=dict)

    def bytes_needed(self, graph: Graph, step: Step, rank: int, inside: bool) -> int:
        """Return the bytes that a rank allocates for boxes that are read and for derived fields.

        Inside the solver a field is read if no block of this rank contains the box.
        """
        reads = {} if inside else dict(self.reads)
        total = sum(_bytes(step.fields[name], box) for name, box in reads.items())
        for _, _, boxes in self.tiles:
            for name, box in boxes.items():
                node = graph.nodes.get(name)
                if node is not None:
                    total += 0 if isinstance(node, Component) else _bytes(node.quantity, box)
                elif inside and not any(contains(x, box) for _, x in own_boxes(step, name, rank)):
                    total += _bytes(step.fields[name], box)
        return total


def _bytes(values: Field, box: Box) -> int:
    return box.size * values.components * values.dtype.itemsize


def plan_step(
    graph: Graph, needs: Iterable[Need], step: Step, comm: MPI.Comm, inside: bool
) -> StepPlan:
    """Make the plan of this rank for a set of needs.

    Args:
        graph: the fields.
        needs: values that the actions may read.
        step: the step; its blocks matter only inside the solver.
        comm: the ranks.
        inside: whether they are the solver's ranks.
    """
    by_grid: dict[str, list[tuple[Need, list[str]]]] = {}
    for need in needs:
        grid = need.grid(graph.stream)
        names = [graph.on_grid(name, grid, need.vertices) for name in need.fields]
        by_grid.setdefault(grid.name, []).append((need, names))
    step_plan = StepPlan([])
    for name, wanted in by_grid.items():
        grid = graph.stream.grids[name]

        def boxes(points: Box, grid: Grid = grid, wanted: Any = wanted) -> dict[str, Box]:
            needed: list[tuple[str, Box]] = []
            for need, names in wanted:
                stored = stored_box(need, grid, points)[2]
                if stored.size:
                    needed += [(field, stored) for field in names]
                    corners = need.corner_field(grid)
                    needed += [(corners, grid.corners(stored))] if corners is not None else []
            return graph.boxes(needed)

        if inside:
            own = own_blocks(step, grid, comm.rank)
            tiles = [
                tile for pair in own for tile in cut_tiles(*pair, _MissingLayers(step, comm, boxes))
            ]
        else:
            tiles = [Tile(rank_share(grid, comm.rank, comm.size))]
        step_plan.tiles += [(grid, tile, boxes(tile.points)) for tile in tiles if tile.points.size]
    for _, _, tile_boxes in step_plan.tiles:
        for name, box in tile_boxes.items():
            if name not in graph.nodes:
                step_plan.reads[name] = union(step_plan.reads.get(name, box), box)
    return step_plan


@dataclass
class _MissingLayers:
    """Number of layers that the inputs of a box extend beyond this rank's memory."""

    step: Step
    comm: MPI.Comm
    boxes: Any

    def __call__(self, points: Box) -> tuple[Triple, Triple]:
        below, above = [0, 0, 0], [0, 0, 0]
        for name, box in self.boxes(points).items():
            if name not in self.step.fields:
                continue
            own = _best_own_box(self.step, name, box, self.comm.rank)
            for axis in range(3):
                first, last = (own.start[axis], own.stop[axis]) if own else (1 << 62, -(1 << 62))
                below[axis] = max(below[axis], min(first - box.start[axis], points.count[axis]))
                above[axis] = max(above[axis], min(box.stop[axis] - last, points.count[axis]))
        return (below[0], below[1], below[2]), (above[0], above[1], above[2])


def own_boxes(step: Step, name: str, rank: int) -> list[tuple[Block, Box]]:
    """Return this rank's blocks that have a field, each with its owned box."""
    mesh = step.fields[name].mesh
    return [
        (block, block.box(name))
        for block in step.blocks
        if block.rank == rank and block.mesh == mesh and name in block.ghosts
    ]


class PlanCache:
    """Plans by needs and blocks; a new plan is made only if its memory is free.

    Args:
        comm: the ranks.
        inside: whether they are the solver's ranks.
    """

    def __init__(self, comm: MPI.Comm, inside: bool) -> None:
        self._comm, self._inside = comm, inside
        self._plans: dict[object, StepPlan] = {}

    def clear(self) -> None:
        """Discard all plans: the stream has changed."""
        self._plans.clear()

    def plan(
        self, graph: Graph, needs: Sequence[Need], step: Step, allocated: Callable[[int], int]
    ) -> StepPlan:
        """Return the plan of these needs, cached while the blocks do not change (collective).

        Args:
            graph: the fields.
            needs: values that the due actions may read.
            step: the step.
            allocated: returns the bytes to allocate from those of a new plan's values.

        Raises:
            MemoryShortageError: on all ranks, if they are not free.
        """
        blocks: object = None
        if self._inside:
            blocks = tuple((b.id, b.rank, b.mesh, b.vertices.pair) for b in step.blocks)
        key = (tuple(needs), blocks)
        if key not in self._plans:
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            new = plan_step(graph, needs, step, self._comm, self._inside)
            needed = allocated(new.bytes_needed(graph, step, self._comm.rank, self._inside))
            memory.require(self._comm, needed, "a step of this pipeline", _ADVICE)
            self._plans[key] = new
        return self._plans[key]


def _best_own_box(step: Step, name: str, box: Box, rank: int) -> Box | None:
    """Return this rank's box of a field with the largest overlap with a box."""
    candidates = [own for _, own in own_boxes(step, name, rank)]
    return max(candidates, key=lambda own: intersection(own, box).size, default=None)
