"""The values of one step that a pipeline looks at: found, read, or computed; each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.errors import PipelineError
from uzushio.parallel.collective import collective
from uzushio.parallel.timings import Timings
from uzushio.pipeline.graph import Graph, union
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.nodes import Component, Patch
from uzushio.pipeline.seams import Seams
from uzushio.pipeline.stream import Grid, Quantity
from uzushio.pipeline.tiles import Tile, around, contains, own_blocks, share, stored_box
from uzushio.staging.box import Box, Triple
from uzushio.staging.step import Block, Field, Step

if TYPE_CHECKING:
    from mpi4py import MPI


class Pool:
    """Memory that is kept from step to step: fresh memory costs more than what is put into it."""

    def __init__(self) -> None:
        self._kept: dict[object, np.ndarray] = {}

    def take(self, key: object, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """An array whose content is not defined; the next one of this key has the same memory."""
        size = int(np.prod(shape)) * dtype.itemsize
        kept = self._kept.get(key)
        if kept is None or kept.size < size:
            kept = self._kept[key] = np.empty(size, np.uint8)
        return kept[:size].view(dtype).reshape(shape)

    @property
    def bytes(self) -> int:
        """That are kept."""
        return sum(kept.nbytes for kept in self._kept.values())


@dataclass
class Layout:
    """What a set of needs takes, on which tiles of this rank; the same for steps that are alike.

    Attributes:
        tiles: with the boxes of all fields that each has to know.
        reads: of a reader, the box of each field, for all tiles together.
        rounds: how often all ranks read together inside the solver, by set of fields.
    """

    tiles: list[tuple[Grid, Tile, dict[str, Box]]]
    reads: dict[str, Box] = field(default_factory=dict)
    rounds: dict[frozenset[str], int] = field(default_factory=dict)

    def bytes_needed(self, graph: Graph, step: Step, rank: int, inside: bool) -> int:
        """Return the bytes that a rank allocates for boxes that are read and for derived fields.

        Inside the solver a field is read where this rank does not have all of a box.
        """
        reads = {} if inside else dict(self.reads)
        total = sum(_bytes(step.fields[name], box) for name, box in reads.items())
        for _, _, boxes in self.tiles:
            for name, box in boxes.items():
                node = graph.nodes.get(name)
                if node is not None:
                    total += 0 if isinstance(node, Component) else _bytes(node.quantity, box)
                elif inside and not any(contains(x, box) for _, x in _holders(step, name, rank)):
                    total += _bytes(step.fields[name], box)
        return total


def _bytes(values: Field | Quantity, box: Box) -> int:
    return box.size * values.components * values.dtype.itemsize


def plan(graph: Graph, needs: Iterable[Need], step: Step, comm: MPI.Comm, inside: bool) -> Layout:
    """Say what this rank works on, and what that takes.

    Args:
        graph: of the fields.
        needs: all that may be looked at in a step.
        step: the step; its blocks matter inside the solver alone.
        comm: the ranks.
        inside: whether they are the solver's.
    """
    by_grid: dict[str, list[tuple[Need, list[str]]]] = {}
    for need in needs:
        grid = graph.stream.grid_of(need.fields[0])
        names = [graph.on_grid(name, grid) for name in need.fields]
        if grid.coordinate_field is not None:
            names.append(grid.coordinate_field)
        by_grid.setdefault(grid.name, []).append((need, names))
    layout = Layout([])
    for name, wanted in by_grid.items():
        grid = graph.stream.grids[name]

        def boxes(points: Box, grid: Grid = grid, wanted: Any = wanted) -> dict[str, Box]:
            stored = [(stored_box(need, grid, points)[2], names) for need, names in wanted]
            return graph.boxes((field, box) for box, names in stored if box.size for field in names)

        if inside:
            own = own_blocks(step, grid, comm.rank)
            tiles = [tile for pair in own for tile in around(*pair, _Lacks(step, comm, boxes))]
        else:
            tiles = [Tile(share(grid, comm.rank, comm.size))]
        layout.tiles += [(grid, tile, boxes(tile.points)) for tile in tiles if tile.points.size]
    for _, _, found in layout.tiles:
        for name, box in found.items():
            if name not in graph.nodes:
                layout.reads[name] = union(layout.reads.get(name, box), box)
    return layout


@dataclass
class _Lacks:
    """How far what a box of points takes reaches out of this rank's memory."""

    step: Step
    comm: MPI.Comm
    boxes: Any

    def __call__(self, points: Box) -> tuple[Triple, Triple]:
        below, above = [0, 0, 0], [0, 0, 0]
        for name, box in self.boxes(points).items():
            if name not in self.step.fields:
                continue
            own = _most(self.step, name, box, self.comm.rank)
            for axis in range(3):
                first, last = (own.start[axis], own.stop[axis]) if own else (1 << 62, -(1 << 62))
                below[axis] = max(below[axis], min(first - box.start[axis], points.count[axis]))
                above[axis] = max(above[axis], min(box.stop[axis] - last, points.count[axis]))
        return (below[0], below[1], below[2]), (above[0], above[1], above[2])


def _holders(step: Step, name: str, rank: int) -> list[tuple[Block, Box]]:
    """This rank's blocks that have a field, and where."""
    mesh = step.fields[name].mesh
    return [
        (block, block.box(name))
        for block in step.blocks
        if block.rank == rank and block.mesh == mesh and name in block.ghosts
    ]


def _most(step: Step, name: str, box: Box, rank: int) -> Box | None:
    """The own box of a field that has the most of a box."""
    from uzushio.pipeline.tiles import intersection

    found = [own for _, own in _holders(step, name, rank)]
    return max(found, key=lambda own: intersection(own, box).size, default=None)


class StepValues:
    """The values of one step; `load` is collective, `parts` is not."""

    def __init__(
        self,
        graph: Graph,
        layout: Layout,
        step: Step,
        comm: MPI.Comm,
        inside: bool,
        pool: Pool,
        timings: Timings,
    ) -> None:
        """Begin with a step.

        Args:
            graph: of the fields.
            layout: what `plan` made for these fields and steps like this one.
            step: the step, which must stay until `drop`.
            comm: the ranks.
            inside: whether they are the solver's.
            pool: memory for results.
            timings: count the stages "read" and "derive".
        """
        self._graph, self._layout, self._step, self._comm = graph, layout, step, comm
        self._inside, self._pool, self._timings = inside, pool, timings
        self._patches: list[dict[str, Patch]] = [{} for _ in layout.tiles]
        self._loaded: set[str] = set()
        self._failures: dict[str, str] = {}
        self.bytes_read = 0

    def drop(self) -> None:
        """Look at the step no more."""
        self._patches.clear()

    def load(self, needs: Iterable[Need]) -> None:
        """Read and compute all that these take and that is not there yet (collective).

        Raises:
            StagingError: on all ranks, values cannot be read.
        """
        graph, names = self._graph, set[str]()
        for need in needs:
            grid = graph.stream.grid_of(need.fields[0])
            names |= {graph.on_grid(name, grid) for name in need.fields}
            if grid.coordinate_field is not None:
                names.add(grid.coordinate_field)
        for name in reversed(graph.nodes):
            if name in names:
                names |= set(graph.nodes[name].of)
        names -= self._loaded
        self._loaded |= names
        given = frozenset(name for name in names if name not in graph.nodes)
        with self._timings.stage("read"), collective(self._comm):
            (self._read_inside if self._inside else self._read)(given)
        with self._timings.stage("derive"):
            self._derive([name for name in graph.nodes if name in names])

    def _read(self, names: frozenset[str]) -> None:
        """Read the box of each field, in a reader."""
        for name, box in self._layout.reads.items():
            if name in names:
                values, pieces = self._memory(name, box, name)
                for piece, places in pieces.pieces:
                    self._fetch(name, piece, values[places])
                pieces.fill(values)
                for (_, _, boxes), patches in zip(self._layout.tiles, self._patches, strict=True):
                    if name in boxes:
                        patches[name] = (box, values)

    def _read_inside(self, names: frozenset[str]) -> None:
        """Look at what is in this rank's memory, and read slabs around it of other ranks."""
        reads: list[tuple[str, Box, np.ndarray]] = []
        fills: list[tuple[Seams, np.ndarray]] = []
        views: dict[tuple[int, str], np.ndarray] = {}
        for number, (_, _, boxes) in enumerate(self._layout.tiles):
            for name in sorted(names & boxes.keys()):
                patch = self._own(name, boxes[name], views)
                if patch is None:
                    values, seams = self._memory(name, boxes[name], (number, name))
                    patch = boxes[name], values
                    fills.append((seams, values))
                    reads += self._elsewhere(name, seams, values, views)
                self._patches[number][name] = patch
        rounds = self._layout.rounds.get(names)
        if rounds is None:
            rounds = max(self._comm.allgather(len(reads)))
            self._layout.rounds[names] = rounds
        for name, box, out in reads:
            self._fetch(name, box, out)
        for seams, values in fills:
            seams.fill(values)
        for _ in range(rounds - len(reads)):  # all ranks take part in every read of one
            block = next(block for block in self._step.blocks if block.ghosts)
            name = next(iter(block.ghosts))
            self._step.read(name, Box(block.box(name).start, (1, 1, 1)), fill=0)

    def _own(self, name: str, box: Box, views: dict[tuple[int, str], np.ndarray]) -> Patch | None:
        """A view of a field where this rank has all of a box."""
        for block, own in _holders(self._step, name, self._comm.rank):
            if contains(own, box):
                key = (block.id, name)
                if key not in views:
                    stored = block.box(name, ghosts=True)
                    views[key] = block.view(name)[own.slices(stored.start)]
                return own, views[key]
        return None

    def _elsewhere(
        self, name: str, seams: Seams, values: np.ndarray, views: dict[tuple[int, str], np.ndarray]
    ) -> list[tuple[str, Box, np.ndarray]]:
        """Copy the pieces of a slab that are all in this rank's memory; return the others.

        A slab that is one piece is read whole: none of it is beyond an end.
        """
        others = []
        for piece, places in seams.pieces:
            own = self._own(name, piece, views) if len(seams.pieces) > 1 or seams.fills else None
            if own is None:
                others.append((name, piece, values[places]))
            else:
                values[places] = own[1][piece.slices(own[0].start)]
        return others

    def _memory(self, name: str, box: Box, key: object) -> tuple[np.ndarray, Seams]:
        """Memory for a box of a field, and how to fill it."""
        described = self._step.field(name)
        shape = box.count + ((described.components,) if described.components > 1 else ())
        out = self._pool.take(("read", key), shape, described.dtype)
        return out, Seams.of(self._graph.stream.grid_of(name), box)

    def _fetch(self, name: str, box: Box, out: np.ndarray) -> None:
        """Read a box of the grid; where no block has a value there is NaN."""
        hole = np.nan if out.dtype.kind == "f" else 0
        self.bytes_read += out.nbytes
        self._step.read(name, box, fill=hole, out=out)

    def _derive(self, names: list[str]) -> None:
        """Compute sources on all tiles; what fails on one rank counts as failed on all."""
        failed: dict[str, str] = {}
        for name in names:
            node = self._graph.nodes[name]
            broken = [other for other in node.of if other in self._failures or other in failed]
            if broken:
                failed[name] = failed.get(broken[0]) or self._failures[broken[0]]
                continue
            try:
                for number, (_, _, boxes) in enumerate(self._layout.tiles):
                    if name in boxes:
                        patches, box = self._patches[number], boxes[name]

                        def take(
                            shape: tuple[int, ...],
                            dtype: np.dtype[Any],
                            key: object = (number, name),
                        ) -> np.ndarray:
                            return self._pool.take(key, shape, dtype)

                        patches[name] = (box, node.compute(box, patches, take))
            except Exception as error:
                failed[name] = f"the source '{name}' cannot be computed: {error}"
        if self._comm.allreduce(len(failed)):
            for found in self._comm.allgather(failed):
                self._failures |= found

    def parts(self, need: Need) -> list[Part]:
        """This rank's parts of a need that was loaded; raises `PipelineError` on all ranks."""
        graph = self._graph
        grid = graph.stream.grid_of(need.fields[0])
        names = {name: graph.on_grid(name, grid) for name in need.fields}
        for name in names.values():
            if name in self._failures:
                raise PipelineError(f"{self._failures[name]}.")
        found = []
        for (on, tile, _), patches in zip(self._layout.tiles, self._patches, strict=True):
            if on.name != grid.name:
                continue
            points, cells, stored = stored_box(need, grid, tile.points)
            if points.size == 0:
                continue
            fields = {name: _slice(patches[key], stored) for name, key in names.items()}
            corners = grid.coordinate_field
            found.append(
                Part(
                    grid,
                    points,
                    cells,
                    stored,
                    fields,
                    None if corners is None else _slice(patches[corners], stored),
                )
            )
        return found


def _slice(patch: Patch, box: Box) -> np.ndarray:
    """A read-only view of a patch's values on a box."""
    view = patch[1][box.slices(patch[0].start)].view()
    view.flags.writeable = False
    return view
