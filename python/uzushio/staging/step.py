"""A step as a reader has it: what there is, and its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uzushio.config.names import unknown
from uzushio.errors import StagingError
from uzushio.staging.box import Box, Selection, Triple, make_box, select

if TYPE_CHECKING:
    from mpi4py import MPI

Association = Literal["vertex", "element"]
Attributes = Mapping[str, int | float | str]


@dataclass(frozen=True)
class Mesh:
    """A structured mesh, whole (one zone of a multiblock grid).

    Attributes:
        name: of the mesh.
        kind: "uniform", "rectilinear" or "curvilinear".
        dimension: axes in use, counted from x.
        elements: all elements.
        vertices: all vertices, one more along each axis in use.
        origin: of a uniform mesh: (z, y, x) of the vertex with the indices 0.
        spacing: of a uniform mesh, along z, y, x.
        coordinates: along z, y and x of all vertices, three 1-D arrays; None if curvilinear.
        coordinate_field: of a curvilinear mesh: the vertex field with components x, y, z.
    """

    name: str
    kind: Literal["uniform", "rectilinear", "curvilinear"]
    dimension: int
    elements: Box
    vertices: Box
    origin: tuple[float, float, float] | None = None
    spacing: tuple[float, float, float] | None = None
    coordinates: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    coordinate_field: str | None = None

    @staticmethod
    def _from_core(found: dict[str, Any]) -> Mesh:
        vertices = make_box(found["vertices"], "vertices")
        origin, spacing = found.get("origin"), found.get("spacing")
        coordinates = found.get("coordinates")
        if origin is not None and spacing is not None:
            coordinates = tuple(
                o + d * np.arange(s, s + n)
                for o, d, s, n in zip(origin, spacing, *vertices.pair, strict=True)
            )
        return Mesh(
            name=found["name"],
            kind=found["kind"],
            dimension=found["dimension"],
            elements=make_box(found["elements"], "elements"),
            vertices=vertices,
            origin=None if origin is None else tuple(origin),
            spacing=None if spacing is None else tuple(spacing),
            coordinates=coordinates,
            coordinate_field=found.get("field"),
        )


@dataclass(frozen=True)
class Field:
    """A quantity on a mesh.

    Attributes:
        name: of the field.
        mesh: name of its mesh.
        association: whether values belong to vertices or to elements.
        dtype: of one value.
        components: of one value; more than one is the last axis of arrays.
        attributes: its unit, say.
        box: all global indices that it may have, ghosts not counted.
    """

    name: str
    mesh: str
    association: Association
    dtype: np.dtype[Any]
    components: int
    attributes: Attributes
    box: Box


@dataclass(frozen=True)
class Block:
    """A part of a mesh that one rank of the writer holds.

    Attributes:
        id: the writer's own number for it, unique in the step.
        rank: of the writer.
        mesh: name of its mesh.
        elements: that it owns, ghosts not counted.
        vertices: that it owns.
        ghosts: for each field that it has, the widths of the ghost layers stored with it, below
            and above along z, y, x.
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
        """Names of the fields that it has values of: not all, where a stream has several meshes."""
        return tuple(self.ghosts)

    def box(self, name: str, ghosts: bool = False) -> Box:
        """Global indices of the field's values on this block.

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
        z, y, x = (s - low for s, low in zip(owned.start, lower, strict=True))
        nz, ny, nx = (n + a + b for n, a, b in zip(owned.count, lower, upper, strict=True))
        return Box((z, y, x), (nz, ny, nx))

    def values(self, name: str, ghosts: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """A copy of the field's values on this block, (z, y, x) and components if several.

        Args:
            name: of the field.
            ghosts: the stored ghost layers too, and not the owned values alone.
            out: an array to fill, of the shape and dtype of the result, instead of a new one.

        Raises:
            StagingError: the block has no such field, the step was released, the writer is gone.
        """
        step, described = self._step, self._step.field(name)
        array = _array(self.box(name, ghosts).count, described, (), out)
        if array.size:
            step._live().read_block(name, self._place, ghosts, array, described.components > 1)
        return array

    def view(self, name: str) -> np.ndarray:
        """The field's values with their ghosts where the writer put them, read-only, no copy.

        The array looks at memory that the writer takes back with the step. While it, or any array
        made of it without a copy, is there, the reader will not go on to the next step: that
        raises `StagingError`. So use views in a function that returns before that.

        Raises:
            StagingError: as `values`; and if the engine has no memory to look at, or the block is
                on another node: then take `values`.
        """
        described = self._step.field(name)
        self.box(name)
        found = self._step._live().view(name, self._place)
        if found is None:
            raise StagingError(
                f'The values of "{name}" on block {self.id} cannot be looked at where they are '
                "(the engine carries copies, or the writer is on another node); take values()."
            )
        return np.asarray(found[..., 0] if described.components == 1 else found)

    def verify(self, name: str) -> bool:
        """Whether the values are those that were published, by their checksum.

        Raises:
            StagingError: they came without checksum (`checksums: true` in the writer's options).
        """
        self.box(name)
        return bool(self._step._live().verify(name, self._place))


class Step:
    """One step in a reader's hands, until the reader goes on to the next.

    What there is (meshes, fields, blocks, attributes) can still be asked for later; values cannot.
    """

    def __init__(self, core: Any, comm: MPI.Comm | None = None) -> None:
        self._core: Any = core
        self._info = core.step()
        self.comm = comm  #: of the reader, or None for a process alone
        self.index: int = self._info.index  #: the solver's number of the step
        self.time: float = self._info.time
        #: Counts the steps that the writer's queue accepted, from 0.
        self.sequence: int = core.sequence

    def __repr__(self) -> str:
        return f"<Step {self.index} at time {self.time:g}: {', '.join(self.fields)}>"

    def _live(self) -> Any:
        if self._core is None:
            raise StagingError(
                f"Step {self.index} was given back to the writer; read its values before the "
                "reader goes on."
            )
        return self._core

    def _over(self) -> None:
        self._core = None

    @cached_property
    def attributes(self) -> Attributes:
        """Numbers and texts that go with the step."""
        return dict(self._info.attributes)

    @cached_property
    def meshes(self) -> Mapping[str, Mesh]:
        """The meshes by name."""
        found = map(Mesh._from_core, self._info.meshes)
        return {mesh.name: mesh for mesh in found}

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The fields by name."""
        meshes = list(self.meshes.values())
        result = {}
        for name, mesh, association, dtype, components, attributes in self._info.fields:
            on = meshes[mesh]
            box = on.vertices if association == "vertex" else on.elements
            result[name] = Field(
                name, on.name, association, np.dtype(dtype), components, attributes, box
            )
        return result

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks, in the order of the writer's ranks."""
        meshes, fields = list(self.meshes), list(self.fields)
        return [
            Block(
                id=found,
                rank=rank,
                mesh=meshes[mesh],
                elements=_box(elements),
                vertices=_box(vertices),
                ghosts={fields[at]: (tuple(lower), tuple(upper)) for at, lower, upper, _ in arrays},
                _place=place,
                _step=self,
            )
            for place, (found, rank, mesh, elements, vertices, arrays) in enumerate(
                self._info.blocks
            )
        ]

    def field(self, name: str) -> Field:
        """The field of this name; raises `StagingError` that names those that there are."""
        found = self.fields.get(name)
        if found is None:
            raise StagingError(f'field "{name}" {unknown(name, list(self.fields))}.')
        return found

    def read(
        self,
        name: str,
        box: Selection | None = None,
        *,
        fill: float | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Any box of a field, whichever ranks and blocks of the writer hold it.

        Not collective: each rank of a reader reads what it likes (inside the solver's process,
        engine `inproc`, all ranks must read together).

        Args:
            name: of the field.
            box: global indices, `np.s_[4, :, 10:20]` or a `Box`; None for all. A single index
                drops its axis.
            fill: what to put where no block has a value; None: that is an error.
            out: an array to fill, of the shape and dtype of the result, instead of a new one.

        Returns:
            The values (z, y, x), and components as the last axis if there are several.

        Raises:
            StagingError: no such field, values are missing, or the step was released.
            PeerGone, PeerSilent: the writer is gone, or does not answer.
        """
        described = self.field(name)
        wanted, dropped = select(box, described.box)
        array = _array(wanted.count, described, dropped, out)
        four = _four(array, described, dropped)
        holes = [make_box(hole, "hole") for hole in self._live().read(name, wanted.pair, four)]
        if holes and fill is None:
            more = f" and {len(holes) - 1} more boxes" if len(holes) > 1 else ""
            raise StagingError(
                f'No block has values of "{name}" in {holes[0]}{more}; read what is there, or say '
                "what to put there with fill=."
            )
        for hole in holes:
            four[hole.slices(wanted.start)] = fill
        return array

    def values(
        self,
        name: str,
        blocks: Iterable[Block] | None = None,
        *,
        ghosts: bool = False,
        out: Mapping[int, np.ndarray] | None = None,
    ) -> dict[int, np.ndarray]:
        """Copies of a field's values on many blocks, by the block's id.

        As `Block.values` of each, and faster: all are asked for at once. As `read`, not collective
        but in the solver's process.

        Args:
            name: of the field.
            blocks: of this step; None for all that have values of the field.
            ghosts: the stored ghost layers too, and not the owned values alone.
            out: arrays to fill, by the block's id, one for each block.

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
                raise StagingError(f"Block {block.id} is of another step; take those of this one.")
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
        self._live().read_blocks(name, wanted, ghosts, described.components > 1)
        return result


def _box(pair: tuple[Sequence[int], Sequence[int]]) -> Box:
    """A box as the core has it, which has checked it."""
    (z, y, x), (nz, ny, nx) = pair
    return Box((z, y, x), (nz, ny, nx))


def _array(
    count: Triple, described: Field, dropped: tuple[int, ...], out: np.ndarray | None
) -> np.ndarray:
    """An array for values of a field: a new one, or `out` if it fits."""
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


def _four(array: np.ndarray, described: Field, dropped: tuple[int, ...]) -> np.ndarray:
    """The same memory as (z, y, x, component)."""
    if described.components == 1:
        array = array[..., np.newaxis]
    return np.expand_dims(array, dropped) if dropped else array
