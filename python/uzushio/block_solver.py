"""Solvers on multiblock meshes: methods of `Solver` derived from declarations.

An author declares mesh and fields and writes functions for one block at a time, in Python or in
C++. Decomposition, halo exchange, boundary conditions and integration in time are those of
`src/domain`; docs/how-to/write-a-solver.md shows an example.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio import _core
from uzushio.domain.box import Box, Triple
from uzushio.errors import CaseError
from uzushio.solver import (
    Association,
    DistributedArray,
    Estimate,
    Offer,
    Reading,
    Solver,
    SolverDivergedError,
    SolverField,
    SolverMesh,
    State,
    StoredState,
    Traffic,
)
from uzushio.store.chunks import MAX_BYTES

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.case.model import Case
    from uzushio.domain.multiblock import Block, Declaration

_ASSOCIATION: dict[str, Association] = {"cell": "element", "vertex": "vertex"}
#: Kinds of fields that are computed by `derive`.
_DERIVED = ("derived", "output")


class BlockSolver(Solver):
    """Base of explicit solvers on multiblock meshes.

    A subclass has `case_model` and either

    - `declare`, `initial`, `rhs`, `stable_dt`, and `derive` if it declares derived fields; or
    - `compiled`, which returns a solver in C++ (`domain::BlockSolver`, bound with
      `bind_block_solver`).

    All declared fields but those of the kind `output` are in checkpoints; those at cells and vertices are published. A step is
    `time.cfl` times the minimum stable step of all blocks, or `time.dt`.
    """

    @classmethod
    def declare(cls, case: Case) -> Declaration:
        """Return mesh, fields and scheme; raises `CaseError`."""
        raise NotImplementedError(f"{cls.__name__} needs declare(case), or compiled(case)")

    @classmethod
    def compiled(cls, case: Case) -> Any:
        """Return a C++ solver before its set-up; None if the subclass is written in Python."""
        return None

    def initial(self, block: Block) -> None:
        """Set the owned values of the evolved fields."""
        raise NotImplementedError(f"{type(self).__name__} needs initial(block)")

    def derive(self, block: Block, field: str, time: float) -> None:
        """Set the owned values of a derived field, or of an output.

        Ghosts of the evolved fields, and of derived fields declared before, are valid.
        """
        raise NotImplementedError(f"{type(self).__name__} needs derive(block, '{field}', time)")

    def rhs(self, block: Block, time: float) -> None:
        """Set the time derivatives of the evolved fields; all ghosts are valid."""
        raise NotImplementedError(f"{type(self).__name__} needs rhs(block, time)")

    def stable_dt(self, block: Block) -> float:
        """Return the largest stable time step of a block."""
        raise NotImplementedError(f"{type(self).__name__} needs stable_dt(block)")

    @classmethod
    def _make(cls, case: Case, solver: BlockSolver | None = None) -> Any:
        """Return the compiled core; without `solver` it cannot be set up."""
        try:
            found = cls.compiled(case)
            if found is None:
                methods = ("initial", "rhs", "stable_dt", "derive")
                calls = [_method(solver, name) for name in methods]
                found = _core.domain.BlockSolver(cls.declare(case), *calls)
            found.fields()  # raises for an invalid declaration
        except (ValueError, RuntimeError) as error:
            raise CaseError(f"The mesh or the fields are not usable: {error}.") from error
        return found

    @classmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Return blocks, imbalance, memory and communication of a case on `ranks` ranks."""
        core = cls._make(case)
        try:
            found = core.estimate(ranks)
        except (ValueError, RuntimeError) as error:
            raise CaseError(f"{error}; use fewer ranks.") from error
        offer = cls._offer(core)
        sizes = {
            name: 8 * sum(int(np.prod(field.shape(box))) for box in field.boxes(offer.meshes))
            for name, field in offer.fields.items()
        }
        cells = sum(int(np.prod(mesh.elements)) for mesh in offer.meshes.values())
        return Estimate(
            grid=f"{cells:,} cells in {len(offer.meshes)} zones, cut into {found['blocks']} blocks "
            f"on {ranks} ranks; imbalance {found['imbalance']:.3f} (largest share of a rank over "
            "the mean)",
            memory_per_rank=found["bytes"],
            field_arrays=found["bytes"] / (8 * found["cells"]),
            traffic={
                "halo": Traffic(found["halo_messages"], found["halo_bytes"]),
                "reduction": Traffic(1, 16),
            },
            checkpoint_bytes=sum(sizes.values()),
            field_bytes=sizes,
            step_length=case.time.dt,
        )

    @classmethod
    def offer(cls, case: Case) -> Offer:
        """Return the meshes and fields of a case, on one rank."""
        return cls._offer(cls._make(case))

    @classmethod
    def _offer(cls, core: Any) -> Offer:
        blocks = [(number, (0, 0, 0), zone["cells"]) for number, zone in enumerate(core.zones())]
        return Offer(_meshes(core, blocks), _fields(core), {"dt": 0.0})

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Decompose the mesh, allocate and set the initial fields (collective)."""
        self.case, self.comm = case, comm
        self.step_index, self.time, self.dt = 0, 0.0, 0.0
        self.core = self._make(case, self)
        try:
            self.core.set_up(comm.handle, self.sections.core)
        except ValueError as error:
            raise CaseError(f"{error}.") from error
        self._blocks = self.core.blocks()
        self._block_cells = _block_cells(self._blocks, len(self.core.zones()), comm)
        self._derived_step: int | None = None  # step of the derived fields

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step of at most `longest` (collective)."""
        time = self.case.time
        fraction = float("inf") if time.cfl is None else time.cfl
        self.dt = self.core.step(min(longest, time.dt or longest), fraction)
        self.step_index += 1
        self.time = self.core.time
        if not self.core.finite:
            raise SolverDivergedError(
                f"A value is not finite after step {self.step_index}, at time {self.time:.6g}: use "
                "a smaller time.dt or time.cfl."
            )

    def monitor(self) -> Mapping[str, Reading]:
        """Return the length of the last step."""
        return {"dt": Reading(self.dt)}

    def attributes(self) -> Mapping[str, int | float | str]:
        """Return the length of the last step."""
        return {"dt": self.dt}

    def meshes(self) -> Mapping[str, SolverMesh]:
        """Return one mesh per zone."""
        return _meshes(self.core, self._blocks)

    def fields(self) -> Mapping[str, SolverField]:
        """Return the declared fields at cells and vertices."""
        return _fields(self.core)

    def _numbers(self) -> list[int]:
        """Return the numbers of this rank's blocks, in order of zones."""
        return sorted(range(len(self._blocks)), key=lambda number: self._blocks[number][0])

    def _update_derived(self) -> None:
        """Compute the derived fields of this step, once (collective)."""
        if self._derived_step != self.step_index:
            self.core.update_derived()
            self._derived_step = self.step_index

    def write_field(self, name: str, out: Sequence[np.ndarray]) -> None:
        """Copy a field; derived ones are computed first (collective)."""
        if any(field["name"] == name and field["kind"] in _DERIVED for field in self.core.fields()):
            self._update_derived()
        for number, array in zip(self._numbers(), out, strict=True):
            array[...] = _components_last(self.core.values(name, number))

    def write_coordinates(self, mesh: str, block: int, out: np.ndarray) -> None:
        """Write x, y and z of the vertices of a block."""
        zone = [found["name"] for found in self.core.zones()].index(mesh)
        lower = [lower for number, lower, _ in self._blocks if number == zone][block]
        self.core.write_vertices(zone, lower, out)

    def state(self) -> State:
        """Return all declared fields, one array per zone (collective).

        Values at faces and vertices that blocks share are stored once.
        """
        self._update_derived()
        arrays = {name: array for _, name, array in self._arrays(whole=False)}
        return State(arrays, {"step": self.step_index, "time": self.time})

    def restore(self, stored: StoredState) -> None:
        """Continue from a checkpoint of the same mesh, written on any number of ranks."""
        for field, name, array in self._arrays(whole=True):
            if tuple(stored.shapes.get(name, ())) != array.shape:
                raise CaseError(
                    f"The checkpoint has no array '{name}' of the shape {array.shape}: restart "
                    "with the mesh and the fields of the run that wrote it."
                )
            if field["kind"] != "derived":
                for start, values in array.parts:
                    values[...] = stored.read(name, start, values.shape)
        self.step_index = int(stored.attributes["step"])
        self.core.resume(float(stored.attributes["time"]))
        self.time, self._derived_step = self.core.time, None

    def _arrays(self, whole: bool) -> Iterator[tuple[dict[str, Any], str, DistributedArray]]:
        """Yield each declared field with the name of its array in a checkpoint, and the array.

        Args:
            whole: whether parts have all values of a block. Otherwise values shared with the next
                block of the zone are in the next block's part only.
        """
        zones, dimension = self.core.zones(), self.core.dimension
        for field in self.core.fields():
            if field["kind"] == "output":
                continue
            for number, zone in enumerate(zones):
                name = f"{zone['name']}/{field['name']}" if len(zones) > 1 else field["name"]
                for axis, stagger in enumerate(_staggers(field["centring"], dimension)):
                    parts = []
                    for local, (of, lower, upper) in enumerate(self._blocks):
                        if of != number:
                            continue
                        own = zip(lower, upper, stagger, zone["cells"], strict=True)
                        count = [b - a + (s if whole or b == n else 0) for a, b, s, n in own]
                        ni, nj, nk = count
                        values = _components_last(self.core.values(field["name"], local, axis))
                        start = (*reversed(lower), 0)[: values.ndim]
                        parts.append((start, values[:nk, :nj, :ni]))
                    nk, nj, ni = (
                        n + s
                        for n, s in zip(reversed(zone["cells"]), reversed(stagger), strict=True)
                    )
                    several = field["components"] > 1
                    shape = (nk, nj, ni, field["components"]) if several else (nk, nj, ni)
                    dims = ("k", "j", "i", "component")[: len(shape)]
                    chunks = _chunks(shape, zone["cells"], self._block_cells[number])
                    array = DistributedArray(shape, np.dtype(np.float64), parts, dims, chunks)
                    faces = f"_{'ijk'[axis]}" if field["centring"] == "face" else ""
                    yield field, name + faces, array


def _method(solver: BlockSolver | None, name: str) -> Callable[..., Any]:
    """Return a call of a method by a weak reference; without a solver the call raises."""
    method = None if solver is None else weakref.WeakMethod(getattr(solver, name))

    def call(*arguments: Any) -> Any:
        bound = None if method is None else method()
        if bound is None:
            raise RuntimeError(f"the solver of {name} no longer exists")
        return bound(*arguments)

    return call


def _staggers(centring: str, dimension: int) -> list[tuple[int, int, int]]:
    """Return for each array of a field whether its values are at vertices along i, j, k."""
    used = [axis < dimension for axis in range(3)]
    if centring == "face":
        return [tuple(int(a == axis) for a in range(3)) for axis in range(dimension)]  # type: ignore[misc]
    i, j, k = (int(centring == "vertex" and one) for one in used)
    return [(i, j, k)]


def _block_cells(
    blocks: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]], zones: int, comm: MPI.Comm
) -> np.ndarray:
    """Return for each zone the largest extents i, j, k of a block of any rank (collective)."""
    from mpi4py import MPI

    cells = np.zeros((zones, 3), np.int64)
    for zone, lower, upper in blocks:
        cells[zone] = np.maximum(cells[zone], np.subtract(upper, lower))
    comm.Allreduce(MPI.IN_PLACE, cells, MPI.MAX)
    return cells


def _chunks(shape: Sequence[int], cells: Sequence[int], block: Sequence[int]) -> tuple[int, ...]:
    """Return extents of the chunks of an array (k, j, i, component): one a block.

    Thinner along k, then along j, where a chunk would exceed `MAX_BYTES`.

    Args:
        shape: extents of the array.
        cells: extents i, j, k of its zone.
        block: the largest extents i, j, k of a block.
    """
    found = list(shape)
    for axis, (n, m) in enumerate(zip(reversed(cells), reversed(block), strict=True)):
        blocks = -(-n // int(m))
        found[axis] = -(-shape[axis] // blocks)
    for axis in (0, 1):
        line = 8 * math.prod(found[axis + 1 :])
        found[axis] = max(1, min(found[axis], MAX_BYTES // line))
    return tuple(found)


def _components_last(values: np.ndarray) -> np.ndarray:
    """Return a view (k, j, i), with components last if there are several."""
    return values[0] if len(values) == 1 else np.moveaxis(values, 0, -1)


def _fields(core: Any) -> dict[str, SolverField]:
    zones = tuple(zone["name"] for zone in core.zones())
    return {
        field["name"]: SolverField(
            zones,
            _ASSOCIATION[field["centring"]],
            field["components"],
            field["unit"],
            field["description"],
        )
        for field in core.fields()
        if field["centring"] in _ASSOCIATION
    }


def _meshes(
    core: Any, blocks: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]]
) -> dict[str, SolverMesh]:
    """Return one mesh per zone, with these blocks: zone, lower and upper bounds (i, j, k)."""
    return {
        zone["name"]: SolverMesh(
            _vertices(core, zone["cells"]),
            _lines(core, number, zone["cells"]) if zone["rectilinear"] else None,
            tuple(_box(lower, upper) for of, lower, upper in blocks if of == number),
            "element",
            core.dimension,
        )
        for number, zone in enumerate(core.zones())
    }


def _vertices(core: Any, cells: Sequence[int]) -> Triple:
    """Return the number of vertices along z, y, x."""
    x, y, z = (n + 1 if axis < core.dimension else n for axis, n in enumerate(cells))
    return z, y, x


def _box(lower: Sequence[int], upper: Sequence[int]) -> Box:
    x, y, z = lower
    nx, ny, nz = (b - a for a, b in zip(lower, upper, strict=True))
    return Box((z, y, x), (nz, ny, nx))


def _lines(
    core: Any, zone: int, cells: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the coordinates of a rectilinear zone's vertices along z, y, x.

    None if they are not ascending: such a zone is published as a curvilinear one.
    """
    lines = []
    for axis, count in enumerate(_vertices(core, cells)):
        shape = [1, 1, 1]
        shape[axis] = count
        points = np.empty((*shape, 3))
        core.write_vertices(zone, (0, 0, 0), points)
        lines.append(points[..., 2 - axis].ravel())
    if any((np.diff(line) <= 0).any() for line in lines):
        return None
    return lines[0], lines[1], lines[2]
