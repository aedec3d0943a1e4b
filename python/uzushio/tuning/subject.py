"""Interface between the tuner and a room with tunable parameters.

A subject lists parameters and rules, predicts the time of a point, and makes the workload that the
ranks of a job run to time a point. `uzushio.case.registry` finds the subject of a case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpi4py import MPI

Value = int | float | str
#: A value for each parameter.
Point = Mapping[str, Value]


@dataclass(frozen=True)
class Parameter:
    """Tunable parameter.

    Attributes:
        name: key in the case file, "section.key".
        values: candidate values. Numbers in ascending order; near ones are assumed to act alike.
        default: value of runs without tuning; one of `values`.
        meaning: short description.
        unit: unit of the values.
        only_if: earlier parameters by name, with the values for which this one acts; with other
            values it is not tuned and has the value `idle`.
        idle: value of the parameter when it does not act; the default if not given.
        unset: value that leaves the choice to the tuner in a case, as null does.
        off: value that switches the parameter off. Another value is chosen only if a measurement
            shows a gain over this one.
    """

    name: str
    values: tuple[Value, ...]
    default: Value
    meaning: str = ""
    unit: str = ""
    only_if: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    idle: Value | None = None
    unset: Value | None = None
    off: Value | None = None

    def __post_init__(self) -> None:
        assert self.values and len(set(self.values)) == len(self.values), self.name
        for value in (self.default, self.inactive_value):
            assert value in self.values, f"{self.name}: {value} is not among its values"

    @property
    def inactive_value(self) -> Value:
        """Value of the parameter when it does not act."""
        return self.default if self.idle is None else self.idle

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(value, str) for value in self.values)


@dataclass(frozen=True)
class Rule:
    """Constraint on the values of several parameters.

    Attributes:
        names: names of the parameters.
        refusal: function of their values that returns a reason against them, or None.
    """

    names: tuple[str, ...]
    refusal: Callable[..., str | None]


@dataclass(frozen=True)
class Machine:
    """Performance of the machine with all ranks active, measured at the start of the job.

    Attributes:
        processor: processor model.
        cores: number of cores of the node.
        caches: bytes of level 1, 2, 3 available to one core; 0 if not known.
        latency: seconds of an empty message between two ranks.
        bandwidth: bytes per second of a long message between two ranks.
        memory: bytes per second of a copy in memory by a rank, read plus written.
        rates: rates measured by the subject.
    """

    processor: str
    cores: int
    caches: tuple[int, int, int]
    latency: float
    bandwidth: float
    memory: float
    rates: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Machine:
        """Make the object from the JSON form of `dataclasses.asdict`."""
        return cls(**{**values, "caches": tuple(values["caches"])})


class Workload(ABC):
    """Work that the ranks of a job run repeatedly to time points; one object on each rank."""

    @abstractmethod
    def ready(self, point: Point) -> Callable[[], object]:
        """Set up a point, and return the function that is timed; both are collective.

        One-time costs (memory, plans) belong here. Several points are set up at the same time; all
        resources of a point must be released with the returned function.

        Raises:
            UzushioError: on all ranks: the point cannot be run.
        """

    def calibrate(self) -> Mapping[str, float]:
        """Measure rates for the cost model, as `Machine.rates` (collective); short."""
        return {}


class Subject(ABC):
    """Declaration of a package for one case and number of ranks.

    Attributes:
        room: name of the room.
        ranks: number of ranks of the job.
        size: properties of the problem that affect the best values; part of the key of stored
            results.
        parameters: tunable parameters; `only_if` refers to earlier ones.
        rules: constraints on points.
        trust: error factor f of the model: measured times are between c / f and c f times the
            predicted ones for some c. Pruning keeps every point that can then be the best.
        steps: time steps of the workload.
    """

    room: str
    ranks: int
    size: Mapping[str, Value]
    parameters: Sequence[Parameter]
    rules: Sequence[Rule] = ()
    trust: float = 2.0
    steps: int = 1

    @abstractmethod
    def predict(self, point: Point, machine: Machine) -> float:
        """Predict the seconds of the workload; only ratios matter."""

    @abstractmethod
    def workload(self, comm: MPI.Intracomm) -> Workload:
        """Make the workload (collective)."""

    def memory(self, point: Point) -> int:
        """Return the bytes of a point that is set up, on all ranks of a node together."""
        return 0

    def default(self) -> dict[str, Value]:
        """Return the values of runs without tuning."""
        return {parameter.name: parameter.default for parameter in self.parameters}
