"""Interface between a flow solver and the framework that runs, publishes and stores it.

The run loop, case files, checkpoints, statistics, the monitor and the command line use this
interface and depend on no solver. To add a solver: subclass `Case` with the sections that it needs,
subclass `Solver`, and register it in `uzushio.case.registry`.

Methods marked *collective* are called by every rank of the communicator, in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from uzushio import _core
from uzushio._base.config.quantities import with_unit
from uzushio._base.store.array import DistributedArray, State, StoredState
from uzushio.domain.fields import Field, Mesh
from uzushio.errors import CaseError, SolverDivergedError

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

    from uzushio._base.parallel.section_monitor import SectionMonitor
    from uzushio.case.model import Case

__all__ = [
    "DistributedArray",
    "Estimate",
    "Field",
    "Mesh",
    "Offer",
    "Parameter",
    "Reading",
    "Sample",
    "Solver",
    "SolverDivergedError",
    "State",
    "StoredState",
    "Traffic",
    "next_step",
]


#: Section of the run's monitor in which the solver writes the published fields.
FIELDS = "fields"


def next_step(longest: float, left: float) -> float:
    """Return the length of the next step towards a time that is `left` away.

    It is `longest`, but the last steps are equal, or up to 1 % longer, so that none is shorter than
    half of the one before.
    """
    return float(_core.domain.next_step(longest, left))


@dataclass(frozen=True)
class Reading:
    """Figure of the progress line, equal on all ranks."""

    value: float
    unit: str = ""
    format: str = ".4g"


@dataclass(frozen=True)
class Parameter:
    """Value that may be changed while the solver runs (steering)."""

    value: float
    low: float
    high: float
    unit: str
    description: str


@dataclass(frozen=True)
class Offer:
    """Meshes, fields and attributes of a solver, computed from its case.

    Attributes:
        meshes: as `Solver.meshes`, with the blocks of a single rank.
        fields: as `Solver.fields`.
        attributes: as `Solver.attributes`; values that are unknown before the run are 0.
    """

    meshes: Mapping[str, Mesh]
    fields: Mapping[str, Field]
    attributes: Mapping[str, int | float | str]


@dataclass(frozen=True)
class Sample:
    """Instantaneous statistic, reduced over the ranks; the run averages it over time."""

    dims: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Traffic:
    """Communication of one kind in one step: maximum over the ranks."""

    messages: int
    bytes: int


@dataclass(frozen=True)
class Estimate:
    """Resources that a case needs, estimated without running it (`uzushio check`).

    Attributes:
        grid: description of the grid and its decomposition for users.
        memory_per_rank: bytes of the solver's arrays, maximum over the ranks.
        field_arrays: the same memory in arrays of the size of one scalar field of the rank.
        traffic: kind of communication ("all-to-all", "halo", …) to its `Traffic` in one step.
        notes: remarks for `uzushio check`, for example on a coarse resolution. They are read once,
            and may be computed then.
        result_notes: remarks on what results may lack, which the run prints too.
        checkpoint_bytes: size of one checkpoint; 0 if not known.
        field_bytes: sizes of the fields that can be published, by name; empty if not known.
        step_length: length of a step in time; None if not known before the run.
        average_bytes: bytes of time averages, on rank 0 alone, besides `memory_per_rank`.
    """

    grid: str
    memory_per_rank: int
    field_arrays: float
    traffic: Mapping[str, Traffic]
    notes: Iterable[str] = ()
    result_notes: tuple[str, ...] = ()
    checkpoint_bytes: int = 0
    field_bytes: Mapping[str, int] = field(default_factory=dict)
    step_length: float | None = None
    average_bytes: int = 0


class Solver(ABC):
    """Flow solver. `step_index` and `time` are those of its current fields."""

    step_index: int
    time: float

    @cached_property
    def sections(self) -> SectionMonitor:
        """Monitor of the run's sections on this rank.

        The run adds steps, statistics, checkpoints and publishing; a solver adds the parts of its
        step, `with self.sections.section("advection", flops=…, bytes=…)`.
        """
        from uzushio._base.parallel.section_monitor import SectionMonitor

        return SectionMonitor()

    @property
    def threads(self) -> int:
        """Threads of a rank that share the work of its steps.

        Steps have the same bits for any number. The run warns if `OMP_NUM_THREADS` reserves more.
        """
        return 1

    @classmethod
    @abstractmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Return the needs of `case` on `ranks` ranks; raises `CaseError` if they do not fit."""

    @classmethod
    def offer(cls, case: Case) -> Offer | None:
        """Return the fields and attributes of a case, without making the solver.

        They are used to check the files of `publish` before the run. None if the solver does not
        support this.
        """
        return None

    @classmethod
    def seconds_per_step(cls, case: Case, ranks: int) -> float | None:
        """Estimate the computing time of a step of the busiest rank, in seconds, on this machine.

        Communication is not included. A solver may measure a small grid in about a second. None if
        the solver does not estimate it.
        """
        return None

    @abstractmethod
    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Allocate and plan (collective); `begin`, `restore` or `interpolate` follows.

        Raises:
            CaseError: the case does not fit the number of ranks.
        """

    def begin(self) -> Self:
        """Set the initial fields, which a restart does not need (collective); return the solver.

        A solver may set them in its constructor instead.
        """
        return self

    @abstractmethod
    def step(self, longest: float = float("inf")) -> None:
        """Advance one step towards a time that is `longest` away (collective).

        The length is `next_step` of the solver's own and `longest`.

        Raises:
            SolverDivergedError: on every rank, if the fields are no longer finite.
        """

    @abstractmethod
    def monitor(self) -> Mapping[str, Reading]:
        """Return the figures of the progress line, in order (collective)."""

    @abstractmethod
    def meshes(self) -> Mapping[str, Mesh]:
        """Return the meshes of the fields by name, in the same order on all ranks."""

    @abstractmethod
    def fields(self) -> Mapping[str, Field]:
        """Return the fields that can be published by name, in the same order on all ranks."""

    @abstractmethod
    def write_field(self, name: str, out: Sequence[np.ndarray]) -> None:
        """Write this rank's values of a field of this step in physical space (collective).

        Args:
            name: one of `fields`.
            out: float64, C-contiguous, one array for each of `Field.boxes`; memory of the caller.
        """

    def write_coordinates(self, mesh: str, block: int, out: np.ndarray) -> None:
        """Write x, y and z of the vertices of a block of a curvilinear mesh.

        Args:
            mesh: one of `meshes`.
            block: index in `Mesh.blocks`.
            out: float64, (z, y, x, 3).
        """
        raise NotImplementedError(f"{type(self).__name__} has a curvilinear mesh: {mesh}")

    def attributes(self) -> Mapping[str, int | float | str]:
        """Return attributes of the fields of this step, equal on all ranks (collective).

        The text `periodic`, such as "x y", names the periodic axes: the first point follows the
        last one at the distance of the others. The texts `length_unit` and `time_unit` are the
        units of coordinates and time, which pipelines write on the axes of pictures and plots. The
        text `body_mask` names the field that is 1 in the fluid and 0 in bodies, which pictures show
        in grey; slices of the fields in `conducted`, such as "temperature", show values in them.
        """
        return {}

    @abstractmethod
    def state(self) -> State:
        """Return views of all arrays that a restart needs (collective)."""

    @abstractmethod
    def restore(self, stored: StoredState) -> None:
        """Restore the state of a checkpoint, including `step_index` and `time` (collective).

        Raises:
            CaseError: if the checkpoint is of another grid.
        """

    def interpolate(self, stored: StoredState) -> None:
        """Interpolate the state of a checkpoint that may be of another grid (collective).

        Raises:
            CaseError: if the solver cannot, or the checkpoint is of another domain.
        """
        raise CaseError(
            "This solver does not interpolate between grids: leave out --interpolate "
            "and restart on the grid of the checkpoint."
        )

    def parameters(self) -> Mapping[str, Parameter]:
        """Return the steerable parameters by name."""
        return {}

    def steer(self, name: str, value: float) -> None:
        """Set a steerable parameter from the next step on (collective).

        Raises:
            KeyError: no such parameter. ValueError: outside its limits.
        """
        parameter = self.parameters()[name]
        if not parameter.low <= value <= parameter.high:
            limits = f"{parameter.low:g} … {parameter.high:g}"
            raise ValueError(f"{name} = {value:g} is outside {with_unit(limits, parameter.unit)}")
        self._steer(name, value)

    def _steer(self, name: str, value: float) -> None:
        raise NotImplementedError

    def sample(self) -> Mapping[str, Sample]:
        """Return instantaneous statistics of this step; values are valid on rank 0 (collective)."""
        return {}

    @classmethod
    def takes_samples(cls, case: Case) -> bool:
        """Return whether runs of `case` take samples: by default, if the solver has `sample`."""
        return cls.sample is not Solver.sample

    def statistics(self, mean: Mapping[str, Sample], samples: int) -> xr.Dataset | None:
        """Derive the published statistics from time averages of `sample` (rank 0 only)."""
        return None

    #: Modules that `statistics` and `figures` import: imported before the first step.
    figure_modules: ClassVar[tuple[str, ...]] = ()

    def figures(self, folder: Path, statistics: xr.Dataset | None) -> Iterable[Path]:
        """Draw the pictures and plots of the run into `folder` (collective; paths on rank 0).

        A generator draws one figure after the other. It may be ended early by a request to stop, so
        it must communicate only before its first figure.
        """
        return ()

    def summary(self) -> Mapping[str, Any]:
        """Return JSON values for `summary.json`: timings, counters, final figures (collective)."""
        return {}

    #: The case model that `uzushio run` validates the file against.
    case_model: ClassVar[type[Case]]
