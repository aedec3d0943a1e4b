"""The contract between a flow solver and everything that runs, watches and stores it.

The run loop, the case file, checkpoints, statistics, the monitor and the command line use this
module and know no solver. To add a solver: subclass `Case` with the sections it needs, subclass
`Solver`, and name the pair in `uzushio.case.registry`.

Methods marked *collective* are called by every rank of the communicator, in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uzushio.errors import CaseError
from uzushio.errors import SolverDivergedError as SolverDivergedError

if TYPE_CHECKING:
    import xarray as xr
    from mpi4py import MPI

    from uzushio.case.model import Case


@dataclass(frozen=True)
class DistributedArray:
    """This rank's box of an array that the ranks of a job hold together.

    Attributes:
        shape: global shape; the first axis is the one that checkpoints are split over (z planes).
        start: global index of this rank's first element, one per axis.
        data: this rank's box, C-ordered indexing, possibly strided; a view, valid until the next
            step. Its shape plus `start` lies within `shape`. May be empty.
        dims: names of the axes for those who open a checkpoint with xarray; none if not known.
    """

    shape: tuple[int, ...]
    start: tuple[int, ...]
    data: np.ndarray
    dims: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    """All that a solver needs to go on: distributed arrays, and small values equal on all ranks.

    `attributes` is plain JSON (numbers round-trip exactly; strings, lists, dicts). `coordinates`
    are those of axes by name, whole, for who opens a checkpoint with xarray; no restart needs them.
    """

    arrays: Mapping[str, DistributedArray]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    coordinates: Mapping[str, np.ndarray] = field(default_factory=dict)


#: Reads the box [start, start + shape) of the stored array `name`; raises `CheckpointError`.
BoxReader = Callable[[str, tuple[int, ...], tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class StoredState:
    """A checkpoint as `Solver.restore` sees it, whatever number of ranks wrote it."""

    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, Any]
    read: BoxReader


@dataclass(frozen=True)
class Reading:
    """One figure of the progress line, equal on all ranks."""

    value: float
    unit: str = ""
    format: str = ".4g"


@dataclass(frozen=True)
class Parameter:
    """A value that may be changed while the solver runs (steering)."""

    value: float
    low: float
    high: float
    unit: str
    description: str


@dataclass(frozen=True)
class FieldLayout:
    """What a named field is, and which part of it this rank has; the same for a whole run.

    Attributes:
        mesh: names the points that the values are at; fields at the same points have the same name
            here, coordinates, start and extent.
        coordinates: global 1-D coordinates of the values, `{"z": …, "y": …, "x": …}`.
        start: global index (z, y, x) of this rank's first value.
        extent: number of this rank's values along z, y, x; zeros if it has none.
        unit: of the values, "1" when non-dimensional.
        description: in words.
    """

    mesh: str
    coordinates: Mapping[str, np.ndarray]
    start: tuple[int, int, int]
    extent: tuple[int, int, int]
    unit: str = "1"
    description: str = ""


@dataclass(frozen=True)
class Offer:
    """Fields and attributes that a solver will have, known from its case.

    Attributes:
        fields: as `Solver.fields`, with the parts of a single rank.
        attributes: as `Solver.attributes`; what is not known before the run is 0.
    """

    fields: Mapping[str, FieldLayout]
    attributes: Mapping[str, int | float | str]


@dataclass(frozen=True)
class Sample:
    """One instantaneous statistic, reduced over the ranks; averaged over time by the run."""

    dims: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Traffic:
    """Communication of one rank in one step, by kind: the largest over the ranks."""

    messages: int
    bytes: int


@dataclass(frozen=True)
class Estimate:
    """What a case will need, known without running it (`uzushio check`).

    Attributes:
        grid: a sentence on the grid and its decomposition for people.
        memory_per_rank: bytes of the solver's arrays on the rank that holds the most.
        field_arrays: that memory in arrays of the size of one scalar field of the rank.
        traffic: kind of communication ("all-to-all", "halo", …) to its `Traffic` in one step.
        notes: further lines worth a user's attention, for example a coarse resolution.
        checkpoint_bytes: size of one checkpoint; 0 if not known.
        field_bytes: sizes of the fields that can be published, by name; empty if not known.
        step_length: length of a step in time; None if not known before the run.
    """

    grid: str
    memory_per_rank: int
    field_arrays: float
    traffic: Mapping[str, Traffic]
    notes: tuple[str, ...] = ()
    checkpoint_bytes: int = 0
    field_bytes: Mapping[str, int] = field(default_factory=dict)
    step_length: float | None = None


class Solver(ABC):
    """A flow solver. `step_index` and `time` are those of the fields it holds now."""

    step_index: int
    time: float

    @classmethod
    @abstractmethod
    def estimate(cls, case: Case, ranks: int) -> Estimate:
        """Say what `case` on `ranks` ranks will need; raises `CaseError` if they do not fit."""

    @classmethod
    def offer(cls, case: Case) -> Offer | None:
        """Say which fields and attributes there will be, without making the solver.

        With it the files of `publish` are checked before the run; None if the solver cannot say.
        """
        return None

    @classmethod
    def seconds_per_step(cls, case: Case, ranks: int) -> float | None:
        """Estimate the computing time of a step of the busiest rank, in seconds, on this machine.

        Communication is left out. A solver may measure a small grid for it, in about a second; None
        if the solver does not estimate it.
        """
        return None

    @abstractmethod
    def __init__(self, case: Case, comm: MPI.Comm) -> None:
        """Allocate, plan and set the initial field (collective). Raises `CaseError`."""

    @abstractmethod
    def step(self, longest: float = float("inf")) -> None:
        """Advance one step of at most `longest` in time (collective).

        Raises:
            SolverDivergedError: on every rank, if the fields are no longer finite.
        """

    @abstractmethod
    def monitor(self) -> Mapping[str, Reading]:
        """The figures of the progress line, in order (collective)."""

    @abstractmethod
    def fields(self) -> Mapping[str, FieldLayout]:
        """The fields that can be looked at, the same names in the same order on all ranks."""

    @abstractmethod
    def write_field(self, name: str, out: np.ndarray) -> None:
        """Write this rank's part of a field of this step in physical space (collective).

        Args:
            name: one of `fields`.
            out: float64, C-contiguous, of the `extent` of the field: memory of whoever looks.
        """

    def attributes(self) -> Mapping[str, int | float | str]:
        """Figures that go with the fields of this step, equal on all ranks (collective).

        The text `periodic`, "x y" say, names the axes along which the first point follows the last
        one, at the distance of the others. The texts `length_unit` and `time_unit` are the units of
        coordinates and time, which pipelines write at the axes of pictures and plots.
        """
        return {}

    @abstractmethod
    def state(self) -> State:
        """Views of all that a restart needs (collective)."""

    @abstractmethod
    def restore(self, stored: StoredState) -> None:
        """Take the state of a checkpoint, including `step_index` and `time` (collective).

        Raises:
            CaseError: if the checkpoint is of another grid.
        """

    def interpolate(self, stored: StoredState) -> None:
        """Take the state of a checkpoint that may be of another grid (collective).

        Raises:
            CaseError: if the solver cannot, or the checkpoint is of another domain.
        """
        raise CaseError(
            "This solver does not interpolate between grids: leave out --interpolate "
            "and restart on the grid of the checkpoint."
        )

    def parameters(self) -> Mapping[str, Parameter]:
        """The steerable parameters by name."""
        return {}

    def steer(self, name: str, value: float) -> None:
        """Set a steerable parameter from the next step on (collective).

        Raises:
            KeyError: no such parameter. ValueError: outside its limits.
        """
        parameter = self.parameters()[name]
        if not parameter.low <= value <= parameter.high:
            raise ValueError(
                f"{name} = {value} is outside {parameter.low} … {parameter.high} {parameter.unit}"
            )
        self._steer(name, value)

    def _steer(self, name: str, value: float) -> None:
        raise NotImplementedError

    def sample(self) -> Mapping[str, Sample]:
        """Instantaneous statistics of this step; the values count on rank 0 only (collective)."""
        return {}

    def statistics(self, mean: Mapping[str, Sample], samples: int) -> xr.Dataset | None:
        """Derive the published statistics from time averages of `sample` (rank 0 only)."""
        return None

    #: Modules that `statistics` and `figures` import: imported before the first step.
    figure_modules: ClassVar[tuple[str, ...]] = ()

    def figures(self, folder: Path, statistics: xr.Dataset | None) -> Iterable[Path]:
        """Draw the pictures and plots of the run into `folder` (collective; paths on rank 0).

        A generator draws one after the other. It ends early if the run is asked to stop, so that it
        communicates before its first figure only.
        """
        return ()

    def summary(self) -> Mapping[str, Any]:
        """Plain JSON values for `summary.json`: timings, counters, final figures (collective)."""
        return {}

    #: The case model that `uzushio run` validates the file against.
    case_model: ClassVar[type[Case]]
