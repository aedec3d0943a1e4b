"""Base of explicit solvers on multiblock meshes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import uzushio
from uzushio import _core
from uzushio.domain.box import Box
from uzushio.errors import CaseError, UzushioError
from uzushio.solvers.block_solver import averages, published
from uzushio.solvers.block_solver.case import BlockStatistics, BlockTime
from uzushio.solvers.block_solver.estimate import estimated
from uzushio.solvers.block_solver.interpolation import interpolated
from uzushio.solvers.block_solver.zone_arrays import (
    ZoneArray,
    components_last,
    max_block_cells,
    zone_arrays,
)
from uzushio.solvers.contract import (
    Estimate,
    Field,
    Mesh,
    Offer,
    Parameter,
    Reading,
    Sample,
    Solver,
    SolverDivergedError,
    State,
    StoredState,
)

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

    from uzushio.case.model import Case
    from uzushio.domain.multiblock import Block, Declaration

#: Kinds of fields that are computed by `derive`.
_DERIVED = ("derived", "output")
#: Vertices on the diagonal of a zone that identify its mesh, in quarters of its cells, by their
#: attribute in a checkpoint.
_VERTICES = {"corners": (0, 4), "diagonals": (1, 2, 3)}
_ELSEWHERE = "The checkpoint is of other zones or another domain"


class BlockSolver(Solver):
    """Base of explicit solvers on multiblock meshes.

    A subclass has `case_model` and either

    - `declare`, `initial`, `rhs`, `stable_dt`, and `derive` if it declares derived fields; or
    - `compiled`, which returns a solver in C++ (`domain::BlockSolver`, bound with
      `bind_block_solver`).

    All declared fields but those of the kind `output` are in checkpoints; those at cells and
    vertices are published. A step is `time.cfl` times the minimum stable step of all blocks, at
    most `time.max_dt`, or `time.dt`.
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

    def prepare(self, block: Block) -> None:
        """Compute what a block needs besides its fields, such as metrics; before `initial`."""

    def before_rhs(self, time: float) -> None:
        """Prepare the calls of `rhs` of a stage; all ghosts are valid (collective)."""

    def project(self, time: float, dt: float) -> None:
        """Change the evolved fields so that they satisfy constraints (collective).

        After each stage, whose length is `dt`; 0: initial fields. Ghosts are not valid. Blocks are
        known from `prepare`, and values from `self.core.values(field, block.number)`.
        """

    def stable_dt(self, block: Block) -> float:
        """Return the largest stable time step of a block; ghosts are not valid."""
        raise NotImplementedError(f"{type(self).__name__} needs stable_dt(block)")

    @classmethod
    def _make(cls, case: Case, solver: BlockSolver | None = None) -> Any:
        """Return the compiled core; without `solver` it cannot be set up."""
        try:
            core = cls.compiled(case)
            if core is not None and core.uzushio_version != uzushio.__version__:
                raise CaseError(
                    f"{cls.__name__} was compiled with Uzushio {core.uzushio_version}, and this "
                    f"is {uzushio.__version__}: build its package again."
                )
            if core is None:
                methods = ("initial", "rhs", "stable_dt", "derive")
                calls = [_method(solver, name) for name in methods]
                hooks = {
                    name: _method(solver, name)
                    for name in ("prepare", "before_rhs", "project")
                    if getattr(cls, name) is not getattr(BlockSolver, name)
                }
                core = _core.domain.BlockSolver(cls.declare(case), *calls, **hooks)
            core.fields()  # raises if the mesh is invalid
            if isinstance(case.time, BlockTime) and case.time.scheme is not None:
                core.use_scheme(case.time.scheme)
        except UzushioError:
            raise
        except (ValueError, RuntimeError) as error:
            raise CaseError(f"The mesh or the fields are not usable: {error}.") from error
        averages.check_names(core, _statistics(case))
        return core

    @classmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Return blocks, imbalance, memory and communication of a case on `ranks` ranks."""
        core = cls._make(case)
        try:
            cost = core.estimate(ranks)
        except (ValueError, RuntimeError) as error:
            raise CaseError(f"{error}; use fewer ranks.") from error
        return estimated(core, cost, cls._offer(core), case, _statistics(case), ranks)

    @classmethod
    def offer(cls, case: Case) -> Offer:
        """Return the meshes and fields of a case, on one rank."""
        return cls._offer(cls._make(case))

    @classmethod
    def _offer(cls, core: Any) -> Offer:
        zones = enumerate(core.zones())
        blocks = [(number, Box((0, 0, 0), zone["cells"])) for number, zone in zones]
        return Offer(published.meshes(core, blocks), published.fields(core), {"dt": 0.0})

    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Decompose the mesh and allocate (collective)."""
        self.case, self.comm = case, comm
        self.step_index, self.time, self.dt = 0, 0.0, 0.0
        self._cfl, self._max_dt = case.time.cfl, case.time.step_limit
        self._steered: dict[str, float] = {}
        self.core = self._make(case, self)
        with _case_errors():
            self.core.set_up(comm.handle, self.sections.core)
        self._blocks = [(zone, Box(start, count)) for zone, start, count in self.core.blocks()]
        self._block_cells = max_block_cells(self._blocks, len(self.core.zones()), comm)
        self._derived_step: int | None = None  # step of the derived fields

    def begin(self) -> Self:
        """Set the initial fields (collective)."""
        with _case_errors():
            self.core.begin()
        return self

    def step(self, longest: float = float("inf")) -> None:
        """Advance one step towards a time that is `longest` away (collective)."""
        fraction = float("inf") if self._cfl is None else self._cfl
        self.dt = self.core.step(self._max_dt, fraction, longest)
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

    def meshes(self) -> Mapping[str, Mesh]:
        """Return one mesh per zone."""
        return published.meshes(self.core, self._blocks)

    def fields(self) -> Mapping[str, Field]:
        """Return the declared fields at cells and vertices."""
        return published.fields(self.core)

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
            array[...] = components_last(self.core.values(name, number))

    def write_coordinates(self, mesh: str, block: int, out: np.ndarray) -> None:
        """Write x, y and z of the vertices of a block."""
        zone = [known_zone["name"] for known_zone in self.core.zones()].index(mesh)
        boxes = [box for number, box in self._blocks if number == zone]
        self.core.write_vertices(zone, boxes[block].start, out)

    def state(self) -> State:
        """Return all declared fields, one array per zone (collective).

        Values at faces and vertices that blocks share are stored once.
        """
        if self._derived_step != self.step_index:
            self.core.update_derived(output=False)
        return State(
            {array.name: array.array for array in self._arrays(whole=False)},
            {
                "step": self.step_index,
                "time": self.time,
                "steered": self._steered,
                **{name: self._vertices(name) for name in _VERTICES},
            },
        )

    def restore(self, stored: StoredState) -> None:
        """Continue from a checkpoint of the same mesh, written on any number of ranks."""
        advice = "restart with the mesh of the run that wrote it"
        self._check_vertices(stored, "corners", f"{_ELSEWHERE}: {advice}.")
        for name, field, _, _, array in self._arrays(whole=True):
            if tuple(stored.shapes.get(name, ())) != array.shape:
                raise CaseError(
                    f"The checkpoint has no array '{name}' of the shape {array.shape}: restart "
                    "with the mesh and the fields of the run that wrote it, or, if only the "
                    "numbers of cells differ, with --interpolate."
                )
            if field["kind"] != "derived":
                stored.fill(name, array)
        stretched = f"The cells of the checkpoint are stretched in another way: {advice}."
        self._check_vertices(stored, "diagonals", stretched)
        self._resume(stored, self.core.resume)

    def interpolate(self, stored: StoredState) -> None:
        """Continue from a checkpoint of the same zones with other numbers of cells (collective).

        Each zone is interpolated in index space (`block_solver/interpolation.py`): of second order,
        and values in cells are conserved if all cells of each grid have the same volume.
        """
        advice = "only the numbers of cells may differ with --interpolate"
        self._check_vertices(stored, "corners", f"{_ELSEWHERE}: {advice}.")
        for name, field, _, stagger, array in self._arrays(whole=True):
            if field["kind"] == "derived":
                continue
            shape = tuple(stored.shapes.get(name, ()))
            if len(shape) != len(array.shape) or shape[3:] != array.shape[3:]:
                raise CaseError(
                    f"The checkpoint has no array '{name}' with {field['components']} components: "
                    "restart with the fields of the run that wrote it."
                )
            for start, values in array.parts:
                values[...] = interpolated(
                    partial(_read, stored, name, shape[3:]),
                    shape[:3], array.shape[:3], stagger, start[:3], values.shape[:3],
                )  # fmt: skip
        self._resume(stored, self.core.start)

    def _resume(self, stored: StoredState, begin: Callable[[float], None]) -> None:
        """Take step, time and steered parameters of a checkpoint (collective)."""
        self.step_index = int(stored.attributes["step"])
        for name, value in stored.attributes.get("steered", {}).items():
            if name in self.parameters():
                self.steer(name, value)
        begin(float(stored.attributes["time"]))
        self.time, self._derived_step = self.core.time, None

    def _check_vertices(self, stored: StoredState, name: str, problem: str) -> None:
        """Raise `CaseError` if vertices of a checkpoint are elsewhere; early ones have none."""
        vertices = stored.attributes.get(name)
        if vertices is not None and not published.are_close(vertices, self._vertices(name)):
            raise CaseError(problem)

    def _vertices(self, name: str) -> dict[str, list[float]]:
        """Return the positions of the vertices in `_VERTICES` of each zone."""
        by_zone, quarters = {}, _VERTICES[name]
        for number, zone in enumerate(self.core.zones()):
            at = np.empty((len(quarters), 1, 1, 1, 3))
            for quarter, out in zip(quarters, at, strict=True):
                vertex = tuple(quarter * count // 4 for count in zone["cells"])
                self.core.write_vertices(number, vertex, out)
            by_zone[zone["name"]] = at.ravel().tolist()
        return by_zone

    def _arrays(self, whole: bool, output: bool = False) -> Iterator[ZoneArray]:
        """Yield the arrays of a checkpoint, or those of the output as well."""
        for array in zone_arrays(self.core, self._blocks, self._block_cells, whole):
            if output or array.field["kind"] != "output":
                yield array

    def parameters(self) -> Mapping[str, Parameter]:
        """Return the CFL number or the length of a step.

        A subclass adds its own, which `_steer` sets.
        """
        if self._cfl is not None:
            highest = max(1.0, self.case.time.cfl or 0.0)
            return {"cfl": Parameter(self._cfl, 1e-3, highest, "1", "part of the stable time step")}
        dt = self.case.time.dt or 0.0
        return {"dt": Parameter(self._max_dt, 1e-3 * dt, 100 * dt, "1", "time step")}

    def steer(self, name: str, value: float) -> None:
        """Set a steerable parameter from the next step on; checkpoints have it (collective)."""
        super().steer(name, value)
        self._steered[name] = value

    def _steer(self, name: str, value: float) -> None:
        if name == "cfl":
            self._cfl = value
        elif name == "dt":
            self._max_dt = value
        else:
            raise NotImplementedError(f"{type(self).__name__} needs _steer('{name}', value)")

    @classmethod
    def takes_samples(cls, case: Case) -> bool:
        """Return whether the case names fields to average."""
        return bool(_statistics(case).fields)

    def sample(self) -> Mapping[str, Sample]:
        """Return means of fields, their squares and products, of `statistics` (collective)."""
        arrays, asked = self._averaged(), _statistics(self.case)
        if any(array.field["kind"] in _DERIVED for array in arrays):
            self._update_derived()
        return averages.samples(self.core, arrays, asked.covariances, asked.over, self.comm)

    def statistics(self, mean: Mapping[str, Sample], samples: int) -> xr.Dataset:
        """Return mean and r.m.s. of the fields of `statistics.fields`, and covariances."""
        notes = {"title": self.case.title, "samples": samples}
        pairs = _statistics(self.case).covariances
        return averages.dataset(self.core, self._averaged(), pairs, mean, notes)

    def _averaged(self) -> list[ZoneArray]:
        names = _statistics(self.case).fields
        return [array for array in self._arrays(False, output=True) if array.field["name"] in names]


@contextmanager
def _case_errors() -> Iterator[None]:
    """Raise errors of values as `CaseError`."""
    try:
        yield
    except ValueError as error:
        raise CaseError(f"{error}.") from error


def _method(solver: BlockSolver | None, name: str) -> Callable[..., Any]:
    """Return a call of a method by a weak reference; without a solver the call raises."""
    method = None if solver is None else weakref.WeakMethod(getattr(solver, name))

    def call(*arguments: Any) -> Any:
        bound = None if method is None else method()
        if bound is None:
            raise RuntimeError(f"the solver of {name} no longer exists")
        return bound(*arguments)

    return call


def _read(
    stored: StoredState,
    name: str,
    components: tuple[int, ...],
    start: tuple[int, ...],
    count: tuple[int, ...],
) -> np.ndarray:
    """Return a box of a stored array, with all components."""
    return stored.read(name, (*start, *(0 for _ in components)), (*count, *components))


def _statistics(case: Case) -> BlockStatistics:
    """Return what is averaged; nothing if the case has no such section."""
    statistics = case.statistics
    return statistics if isinstance(statistics, BlockStatistics) else BlockStatistics()
