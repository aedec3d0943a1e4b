"""Step of a stream in a reader: meshes, fields, blocks, and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.config.names import unknown
from uzushio.domain.box import Box, Index, Triple
from uzushio.domain.fields import Attributes, Field, Mesh
from uzushio.errors import StagingError
from uzushio.staging.box import Selection, make_box, select

if TYPE_CHECKING:
    from mpi4py import MPI

#: Arrays of reads that failed: MPI may complete a transfer into them until the process ends.
_unfinished: list[object] = []


@contextmanager
def _retained_on_error(arrays: object) -> Iterator[None]:
    """Retain the memory of a read that ends with an error: its transfers may be in flight."""
    try:
        yield
    except BaseException:
        _unfinished.append(arrays)
        raise


@dataclass(frozen=True)
class Block:
    """Block of a mesh on one rank of the writer.

    Attributes:
        id: the writer's number of the block, unique in the step.
        rank: rank of the writer.
        mesh: name of its mesh.
        elements: owned elements, without ghosts.
        vertices: owned vertices.
        ghosts: for each field of the block, the widths of its stored ghost layers, below and above
            along z, y, x.
    """

    id: int
    rank: int
    mesh: str
    elements: Box
    vertices: Box
    ghosts: Mapping[str, tuple[Triple, Triple]]
    _place: int = field(repr=False)
    _step: Step = field(repr=False, compare=False)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields with values on the block, which may be fewer than the step's."""
        return tuple(self.ghosts)

    def box(self, name: str, ghosts: bool = False) -> Box:
        """Return the global indices of the field's values on this block.

        Raises:
            StagingError: the block has no such field.
        """
        described = self._step.field(name)
        if name not in self.ghosts:
            raise StagingError(
                f'Block {self.id} has no values of "{name}"; it has '
                f"{', '.join(self.ghosts) or 'none at all'}."
            )
        owned = self.vertices if described.association == "vertex" else self.elements
        if not ghosts:
            return owned
        lower, upper = self.ghosts[name]
        return Box.between(
            (s - low for s, low in zip(owned.start, lower, strict=True)),
            (s + high for s, high in zip(owned.stop, upper, strict=True)),
        )

    def values(self, name: str, ghosts: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """Copy the field's values on this block, (z, y, x), and components if several.

        Args:
            name: name of the field.
            ghosts: include the stored ghost layers.
            out: array for the result, of its shape and dtype, instead of a new one.

        Raises:
            StagingError: the block has no such field, the step was released, or there is no writer.
        """
        step, described = self._step, self._step.field(name)
        array = _array(self.box(name, ghosts).count, described, (), out)
        if array.size:
            with _retained_on_error(array):
                step._require_live().read_block(
                    name, self._place, ghosts, array, described.components > 1
                )
        return array

    def view(self, name: str) -> np.ndarray:
        """Return the field's values with their ghosts in the writer's memory, read-only, no copy.

        The writer reuses the memory after the step is released. While the array, or another view
        of its memory, exists, advancing to the next step raises `StagingError`. So use views in a
        function that returns before that.

        Raises:
            StagingError: as `values`; or the engine does not share memory, or the block is on
                another node: use `values` then.
        """
        described = self._step.field(name)
        self.box(name)
        values = self._step._require_live().view(name, self._place)
        if values is None:
            raise StagingError(
                f'The values of "{name}" on block {self.id} cannot be viewed in place (the engine '
                "transfers copies, or the writer is on another node); use values()."
            )
        return np.asarray(values[..., 0] if described.components == 1 else values)

    def verify(self, name: str) -> bool:
        """Whether the values match their checksum.

        Raises:
            StagingError: there is no checksum (set `checksums: true` in the writer's options).
        """
        self.box(name)
        return bool(self._step._require_live().verify(name, self._place))


class Step:
    """Current step of a reader, until the reader advances to the next one.

    Meshes, fields, blocks and attributes stay valid afterwards; values cannot be read then.
    """

    def __init__(self, core: Any, comm: MPI.Comm | None = None) -> None:
        self._core: Any = core
        self._info = core.step()
        self.comm = comm  #: communicator of the reader, or None for a single process
        self.index: int = self._info.index  #: the solver's number of the step
        self.time: float = self._info.time
        #: Number of the step among those that the writer's queue accepted, from 0.
        self.sequence: int = core.sequence

    def __repr__(self) -> str:
        return f"<Step {self.index} at time {self.time:g}: {', '.join(self.fields)}>"

    def _require_live(self) -> Any:
        if self._core is None:
            raise StagingError(
                f"Step {self.index} is released; read its values before the reader advances."
            )
        return self._core

    def _invalidate(self) -> None:
        self._core = None

    @cached_property
    def attributes(self) -> Attributes:
        """Attributes of the step: numbers and texts."""
        return dict(self._info.attributes)

    @cached_property
    def meshes(self) -> Mapping[str, Mesh]:
        """Meshes by name."""
        return {
            mesh["name"]: Mesh(**{**mesh, "elements": _box(mesh["elements"])})
            for mesh in self._info.meshes
        }

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """Fields by name."""
        meshes = list(self.meshes)
        return {
            name: Field(name, (meshes[mesh],), association, np.dtype(dtype), *more)
            for name, mesh, association, dtype, *more in self._info.fields
        }

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks, in the order of the writer's ranks."""
        meshes, fields = list(self.meshes), list(self.fields)
        return [
            Block(
                id=block_id,
                rank=rank,
                mesh=meshes[mesh],
                elements=_box(elements),
                vertices=_box(vertices),
                ghosts={fields[at]: (tuple(lower), tuple(upper)) for at, lower, upper, _ in arrays},
                _place=place,
                _step=self,
            )
            for place, (block_id, rank, mesh, elements, vertices, arrays) in enumerate(
                self._info.blocks
            )
        ]

    def field(self, name: str) -> Field:
        """Return a field by name; raises `StagingError` with the known names."""
        described = self.fields.get(name)
        if described is None:
            raise StagingError(f'field "{name}" {unknown(name, list(self.fields))}.')
        return described

    def read(
        self,
        name: str,
        box: Selection | None = None,
        *,
        fill: float | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Read any box of a field, from all blocks of the writer that overlap it.

        Not collective, except inside the solver's process (engine `inproc`), where all ranks must
        read together.

        Args:
            name: name of the field.
            box: global indices, `np.s_[4, :, 10:20]` or a `Box`; None for all. A single index
                drops its axis.
            fill: value where no block has one; None: missing values are an error.
            out: array for the result, of its shape and dtype, instead of a new one.

        Returns:
            The values (z, y, x), and components as the last axis if there are several.

        Raises:
            StagingError: unknown field, missing values, or the step was released.
            PeerGone, PeerSilent: the writer's process ended, or it does not answer.
        """
        described = self.field(name)
        whole = self.meshes[described.mesh].box(described.association)
        wanted, dropped = select(box, whole)
        array = _array(wanted.count, described, dropped, out)
        values = _four_axes(array, described, dropped)
        with _retained_on_error(array):
            missing = self._require_live().read(name, wanted.pair, values)
        holes = [make_box(hole, "hole") for hole in missing]
        if holes and fill is None:
            more = f" and {len(holes) - 1} more boxes" if len(holes) > 1 else ""
            raise StagingError(
                f'No block has values of "{name}" in {holes[0]}{more}; read another box, or give a '
                "value for missing ones with fill=."
            )
        for hole in holes:
            values[hole.slices(wanted.start)] = fill
        return array

    def values(
        self,
        name: str,
        blocks: Iterable[Block] | None = None,
        *,
        ghosts: bool = False,
        out: Mapping[int, np.ndarray] | None = None,
    ) -> dict[int, np.ndarray]:
        """Copy a field's values on many blocks; returns arrays by the block's id.

        As `Block.values` of each block, but faster, with one request for all. Collective only
        inside the solver's process, as `read`.

        Args:
            name: name of the field.
            blocks: blocks of this step; None for all with values of the field.
            ghosts: include the stored ghost layers.
            out: arrays for the results, by the block's id, one for each block.

        Raises:
            StagingError, PeerGone, PeerSilent: as `read`; a block has no such field, or is of
                another step; `out` has no array for it.
        """
        described = self.field(name)
        chosen = [b for b in self.blocks if name in b.ghosts] if blocks is None else list(blocks)
        of_vertices = described.association == "vertex"
        result, wanted = {}, {}
        for block in chosen:
            if block._step is not self:
                raise StagingError(f"Block {block.id} is of another step; use this step's blocks.")
            given = None if out is None else out.get(block.id)
            if given is None and out is not None:
                raise StagingError(f"There is no array for block {block.id} in out=.")
            if ghosts or name not in block.ghosts:
                box = block.box(name, ghosts)
            else:  # the same without a call for each block
                box = block.vertices if of_vertices else block.elements
            result[block.id] = array = _array(box.count, described, (), given)
            if array.size:
                wanted[block._place] = array
        with _retained_on_error(wanted):
            self._require_live().read_blocks(name, wanted, ghosts, described.components > 1)
        return result


def _box(pair: tuple[Sequence[int], Sequence[int]]) -> Box:
    """Convert a box of the core, without checks."""
    start, count = pair
    return Box(tuple(start), tuple(count))


def _array(
    count: Index, described: Field, dropped: tuple[int, ...], out: np.ndarray | None
) -> np.ndarray:
    """Return an array for values of a field: a new one, or `out` if it fits."""
    shape: tuple[int, ...] = count
    if dropped:
        shape = tuple(n for axis, n in enumerate(count) if axis not in dropped)
    if described.components > 1:
        shape += (described.components,)
    if out is None:
        return np.empty(shape, described.dtype)
    if not isinstance(out, np.ndarray):
        raise StagingError(
            f'"{described.name}" is read into a NumPy array, not a {type(out).__name__}.'
        )
    if out.shape != shape or out.dtype != described.dtype:
        raise StagingError(
            f'"{described.name}" needs an array of {shape} {described.dtype}, not of {out.shape} '
            f"{out.dtype}."
        )
    if not out.flags.writeable:
        raise StagingError(f'The array for "{described.name}" is read-only.')
    return out


def _four_axes(array: np.ndarray, described: Field, dropped: tuple[int, ...]) -> np.ndarray:
    """Return a view of the array as (z, y, x, component)."""
    if described.components == 1:
        array = array[..., np.newaxis]
    return np.expand_dims(array, dropped) if dropped else array
