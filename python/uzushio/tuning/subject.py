"""What a room says of its tunable parameters: a subject. The tuner knows no room but by this.

A subject lists parameters and rules, predicts what a point costs, and makes a workload that the
ranks of a job run to time a point. `registry.py` finds it by the case.
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
    """One thing that can be tuned.

    Attributes:
        name: as the case file says it, "section.key".
        values: that are tried. Numbers in ascending order: near ones are taken to act alike.
        default: what runs use that nobody has tuned; one of `values`.
        meaning: for people, in a few words.
        unit: of the values.
        only_if: earlier parameters by name, and their values with which this one acts; with others
            it is `idle` and is not tried.
        idle: the value that goes with a parameter that does not act; the default if not given.
        unsaid: a value that says nothing in a case, as null does: it leaves the choice open.
        off: the value that turns it off. Another one is taken only where a measurement shows that
            it pays beside the same with this one.
    """

    name: str
    values: tuple[Value, ...]
    default: Value
    meaning: str = ""
    unit: str = ""
    only_if: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    idle: Value | None = None
    unsaid: Value | None = None
    off: Value | None = None

    def __post_init__(self) -> None:
        assert self.values and len(set(self.values)) == len(self.values), self.name
        for value in (self.default, self.resting):
            assert value in self.values, f"{self.name}: {value} is not among its values"

    @property
    def resting(self) -> Value:
        """The value that it has where it does not act."""
        return self.default if self.idle is None else self.idle

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(value, str) for value in self.values)


@dataclass(frozen=True)
class Rule:
    """Which values go together.

    Attributes:
        names: of the parameters that it looks at.
        refusal: from their values: a sentence that says why they do not go together, or None.
    """

    names: tuple[str, ...]
    refusal: Callable[..., str | None]


@dataclass(frozen=True)
class Machine:
    """What the ranks can do, all of them at the same time; measured when the job has started.

    Attributes:
        processor: its model.
        cores: of this node.
        caches: bytes of level 1, 2, 3 that one core can use; 0 where it is not known.
        latency: seconds for a message between two ranks, besides its bytes.
        bandwidth: bytes a second of a long message between two ranks.
        memory: bytes a second that a rank copies in memory, read and written.
        rates: what the subject measured itself.
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
        """The opposite of `dataclasses.asdict`, through JSON."""
        return cls(**{**values, "caches": tuple(values["caches"])})


class Workload(ABC):
    """What the ranks of one job run again and again to time points; one object on each rank."""

    @abstractmethod
    def ready(self, point: Point) -> Callable[[], object]:
        """Set up a point, and return the work that is timed (collective, as the work).

        Everything that the first run would pay alone (memory, plans) belongs here. Several points
        are ready at a time; what belongs to one must go with the function that was returned.

        Raises:
            UzushioError: on all ranks, if the point cannot be run after all.
        """

    def calibrate(self) -> Mapping[str, float]:
        """Rates that the model of cost needs, as `Machine.rates` (collective); short."""
        return {}


class Subject(ABC):
    """A room's declaration for one case on one number of ranks.

    Attributes:
        room: its name.
        ranks: of the job.
        size: what the best values depend on besides machine and ranks: the key of what is kept.
        parameters: that are tuned; `only_if` names earlier ones only.
        rules: that points obey.
        trust: factor f of the model: measured times are between c / f and c f times predicted ones
            for some c. Pruning keeps every point that can be the best then.
    """

    room: str
    ranks: int
    size: Mapping[str, Value]
    parameters: Sequence[Parameter]
    rules: Sequence[Rule] = ()
    trust: float = 2.0

    @abstractmethod
    def predict(self, point: Point, machine: Machine) -> float:
        """Seconds that the workload takes, by the model; only ratios matter."""

    @abstractmethod
    def workload(self, comm: MPI.Intracomm) -> Workload:
        """Make the workload (collective)."""

    def memory(self, point: Point) -> int:
        """Bytes that a point takes while it is ready, on all ranks of a node together."""
        return 0

    def default(self) -> dict[str, Value]:
        """What runs use that nobody has tuned."""
        return {parameter.name: parameter.default for parameter in self.parameters}
