"""Values of one step for a pipeline: viewed in place, read or computed, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio._base.parallel.sync import collective
from uzushio.domain.box import Box, contains
from uzushio.errors import PipelineError
from uzushio.pipeline.graph import Graph
from uzushio.pipeline.need import Need, Part
from uzushio.pipeline.nodes import BoxValues
from uzushio.pipeline.periodic_wrap import PeriodicWrap
from uzushio.pipeline.step_plan import StepPlan, own_boxes
from uzushio.pipeline.tiles import stored_box
from uzushio.pipeline.vertex_values import VertexValues, join
from uzushio.staging.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI


class BufferPool:
    """Buffers that are reused from step to step; allocating memory costs more than filling it."""

    def __init__(self) -> None:
        self._kept: dict[object, np.ndarray] = {}

    def take(self, key: object, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """Return an uninitialised array; the next array of the same key reuses its memory."""
        size = int(np.prod(shape)) * dtype.itemsize
        kept = self._kept.get(key)
        if kept is None or kept.size < size:
            kept = self._kept[key] = np.empty(size, np.uint8)
        return kept[:size].view(dtype).reshape(shape)

    @property
    def bytes(self) -> int:
        """Allocated bytes."""
        return sum(kept.nbytes for kept in self._kept.values())


class StepValues:
    """Values of one step; `load` is collective, `parts` is not."""

    def __init__(
        self,
        graph: Graph,
        step_plan: StepPlan,
        step: Step,
        comm: MPI.Comm,
        inside: bool,
        pool: BufferPool,
        sections: SectionMonitor,
        held: dict[str, BoxValues] | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Prepare for a step; no values are read.

        Args:
            graph: the fields.
            step_plan: plan of `plan_step` for this graph and for steps with the same blocks.
            step: the step, which must stay valid until `release`.
            comm: the ranks.
            inside: whether they are the solver's ranks.
            pool: memory for results.
            sections: receives the sections "read" and "derive".
            held: in a reader: values of the step in memory, by field. A box that one of them
                contains is not read; the others are added.
            check: called before each source is computed; an exception that it raises is the reason
                why the source cannot be computed.
        """
        self._graph, self._plan, self._step, self._comm = graph, step_plan, step, comm
        self._inside, self._pool, self._sections = inside, pool, sections
        self._tile_values: list[dict[str, BoxValues]] = [{} for _ in step_plan.tiles]
        self._loaded: set[str] = set()
        self._failures: dict[str, str] = {}
        self._held = {} if held is None else held
        self._check = check or (lambda: None)
        self.bytes_read = 0

    def release(self) -> None:
        """Drop all references to the step."""
        self._tile_values.clear()

    def load(self, needs: Sequence[Need], last: bool = False) -> None:
        """Read and compute the values of these needs that are not loaded yet (collective).

        Args:
            needs: the needs.
            last: whether nothing else is loaded; results in between are then released when their
                last use is computed.

        Raises:
            StagingError: on all ranks, values cannot be read.
        """
        names = self._graph.inputs(needs) - self._loaded
        self._loaded |= names
        self._read_fields(names)
        with self._sections.section("derive"):
            kept = self._graph.wanted(needs) if last else None
            self._derive([name for name in self._graph.nodes if name in names], kept)

    def read(self, needs: Iterable[Need]) -> None:
        """Read the stream's own fields for these needs, and compute nothing (collective).

        Raises:
            StagingError: on all ranks, values cannot be read.
        """
        self._read_fields(self._graph.inputs(needs))

    def _read_fields(self, names: set[str]) -> None:
        """Read those of the fields that the stream has (collective)."""
        given = frozenset(names - self._graph.nodes.keys())
        with self._sections.section("read"), collective(self._comm):
            (self._read_inside if self._inside else self._read)(given)

    def _read(self, names: frozenset[str]) -> None:
        """Read the box of each field, in a reader."""
        for name, box in self._plan.reads.items():
            if name not in names:
                continue
            if name not in self._held or not contains(self._held[name][0], box):
                values, pieces = self._memory(name, box, name)
                for piece, places in pieces.pieces:
                    self._fetch(name, piece, values[places])
                pieces.fill(values)
                self._held[name] = box, values
            for (_, _, boxes), tile_values in zip(self._plan.tiles, self._tile_values, strict=True):
                if name in boxes:
                    tile_values[name] = self._held[name]

    def _read_inside(self, names: frozenset[str]) -> None:
        """View values in this rank's memory, and read slabs from other ranks, in the solver."""
        reads: list[tuple[str, Box, np.ndarray]] = []
        fills: list[tuple[PeriodicWrap, np.ndarray]] = []
        views: dict[tuple[int, str], np.ndarray] = {}
        for number, (_, _, boxes) in enumerate(self._plan.tiles):
            for name in sorted(names & boxes.keys()):
                own = self._own(name, boxes[name], views)
                if own is None:
                    values, wrap = self._memory(name, boxes[name], (number, name))
                    own = boxes[name], values
                    fills.append((wrap, values))
                    reads += self._copy_local_pieces(name, wrap, values, views)
                self._tile_values[number][name] = own
        rounds = self._plan.rounds.get(names)
        if rounds is None:
            rounds = max(self._comm.allgather(len(reads)))
            self._plan.rounds[names] = rounds
        for name, box, out in reads:
            self._fetch(name, box, out)
        for wrap, values in fills:
            wrap.fill(values)
        for _ in range(rounds - len(reads)):  # reads are collective: all ranks read equally often
            block = next(block for block in self._step.blocks if block.ghosts)
            name = next(iter(block.ghosts))
            self._step.read(name, Box(block.box(name).start, (1, 1, 1)), fill=0)

    def _own(
        self, name: str, box: Box, views: dict[tuple[int, str], np.ndarray]
    ) -> BoxValues | None:
        """Return a view of a field if one block of this rank contains the box."""
        for block, own in own_boxes(self._step, name, self._comm.rank):
            if contains(own, box):
                key = (block.id, name)
                if key not in views:
                    stored = block.box(name, ghosts=True)
                    views[key] = block.view(name)[own.slices(stored.start)]
                return own, views[key]
        return None

    def _copy_local_pieces(
        self,
        name: str,
        wrap: PeriodicWrap,
        values: np.ndarray,
        views: dict[tuple[int, str], np.ndarray],
    ) -> list[tuple[str, Box, np.ndarray]]:
        """Copy the pieces of a slab that are in this rank's memory; return the others.

        A slab of one piece is read as a whole, as it crosses no end of a periodic axis.
        """
        others = []
        for piece, places in wrap.pieces:
            own = self._own(name, piece, views) if len(wrap.pieces) > 1 or wrap.fills else None
            if own is None:
                others.append((name, piece, values[places]))
            else:
                values[places] = own[1][piece.slices(own[0].start)]
        return others

    def _memory(self, name: str, box: Box, key: object) -> tuple[np.ndarray, PeriodicWrap]:
        """Return memory for a box of a field, and the pieces to fill it with."""
        described = self._step.field(name)
        shape = box.count + ((described.components,) if described.components > 1 else ())
        out = self._pool.take(("read", key), shape, described.dtype)
        return out, PeriodicWrap.of(self._graph.stream.grid_of(name), box)

    def _fetch(self, name: str, box: Box, out: np.ndarray) -> None:
        """Read a box of the grid; NaN (0 for integers) where no block has a value."""
        hole = np.nan if out.dtype.kind == "f" else 0
        self.bytes_read += out.nbytes
        self._step.read(name, box, fill=hole, out=out)

    def _derive(self, names: list[str], kept: set[str] | None) -> None:
        """Compute sources on all tiles; a failure on one rank counts on all.

        Args:
            names: names of the sources, each after its inputs.
            kept: fields whose values stay after their last use here; None: all.
        """
        failed: dict[str, str] = {}
        last_use = {other: name for name in names for other in self._graph.nodes[name].of}
        for name in names:
            node = self._graph.nodes[name]
            broken = [other for other in node.of if other in self._failures or other in failed]
            if broken:
                failed[name] = failed.get(broken[0]) or self._failures[broken[0]]
                continue
            try:
                self._check()
                for number, (_, _, boxes) in enumerate(self._plan.tiles):
                    if name in boxes:
                        tile_values, box = self._tile_values[number], boxes[name]

                        def take(
                            shape: tuple[int, ...],
                            dtype: np.dtype[Any],
                            key: object = (number, name),
                        ) -> np.ndarray:
                            return self._pool.take(key, shape, dtype)

                        tile_values[name] = (box, node.compute(box, tile_values, take))
            except Exception as error:
                failed[name] = f"the source '{name}' cannot be computed: {error}"
            for other in node.of:
                if kept is not None and last_use[other] == name and other not in kept:
                    for tile_values in self._tile_values:
                        tile_values.pop(other, None)
        if not self._comm.allreduce(len(failed)):
            self._join(names)
        else:
            for rank_failures in self._comm.allgather(failed):
                self._failures |= rank_failures

    def _join(self, names: Sequence[str]) -> None:
        """Give vertices that several meshes share the same value in each (collective)."""
        stream, nodes = self._graph.stream, self._graph.nodes
        fields: dict[str, list[str]] = {}
        for name in names:
            if isinstance(nodes[name], VertexValues):
                fields.setdefault(stream.short_name(nodes[name].of[0]), []).append(name)
        meshes = sorted({grid.mesh.name for grid in stream.grids.values()})
        for of_field in fields.values():
            places = [
                node.place(meshes.index(node.grid.mesh.name), tile.points, tile_values, name)
                for (_, tile, boxes), tile_values in zip(
                    self._plan.tiles, self._tile_values, strict=True
                )
                for name in of_field
                if name in boxes and isinstance(node := nodes[name], VertexValues)
            ]
            join(self._comm, places)

    def parts(self, need: Need) -> list[Part]:
        """Return this rank's parts of a loaded need; raises `PipelineError` on all ranks."""
        graph = self._graph
        grid = need.grid(graph.stream)
        names = {name: graph.on_grid(name, grid, need.vertices) for name in need.fields}
        for name in names.values():
            if name in self._failures:
                raise PipelineError(f"{self._failures[name]}.")
        parts = []
        for (on, tile, _), tile_values in zip(self._plan.tiles, self._tile_values, strict=True):
            if on.name != grid.name:
                continue
            points, cells, stored = stored_box(need, grid, tile.points)
            if points.size == 0:
                continue
            fields = {name: _slice(tile_values[key], stored) for name, key in names.items()}
            corners = need.corner_field(grid)
            parts.append(
                Part(
                    grid,
                    points,
                    cells,
                    stored,
                    fields,
                    None if corners is None else _slice(tile_values[corners], grid.corners(stored)),
                )
            )
        return parts


def _slice(stored: BoxValues, box: Box) -> np.ndarray:
    """Return a read-only view of stored values on a box inside theirs."""
    view = stored[1][box.slices(stored[0].start)].view()
    view.flags.writeable = False
    return view
