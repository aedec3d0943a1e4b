"""Contract between a model and the assimilation of its initial state and parameters.

A model has a *state*, a field of real numbers on a grid of one, two or three dimensions, and a few
real *parameters* that are constant in time. Step s leads from state s to state s + 1. A subclass of
`Model` states, as class attributes,

- `case_model`: its case file, a subclass of `AssimilationCase` with the model's own keys;
- `state` and `parameters`: their names and units (`Quantity`);

and has four methods:

- `shape_of(case)`: shape of the grid;
- `first_guess()`: the start of the search;
- `step(state, parameters, index)`: the next state;
- `adjoint_step(adjoint, state, parameters, index)`: the transpose of the step's derivative.

All others have defaults. `truth` makes twin experiments possible. `tangent_step` and
`second_order_step`, which standard deviations need, are replaced by central differences of `step`
and `adjoint_step`. `coordinates` are 0, 1, 2, …; `step_length` is the case's `time.dt`. `metric`,
`notes`, `seconds_per_iteration` and `counters` may be missing.

A model runs on one rank, and the ranks of a job are groups of one rank each, which compute
different members of an ensemble at the same time. A model that shares its grid between the ranks
of a group returns the number of groups from `groups`, and sets `own` in its constructor; its
methods are then *collective*, arrays are this rank's part, and numbers must have the same bits on
any number of ranks. A model with faster sweeps over many steps overrides those of `StepSweeps`, as
the phase field does, instead of `step` and `adjoint_step`.

A case names the class by its file (`model: advection.py:Advection`); a package offers it by an
entry point in the group `uzushio.models`, a script by `uzushio.case.registry.register_model`.
`uzushio assimilate CASE --check-gradient` compares the methods with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from uzushio._base.config.user_function import load_module
from uzushio.assimilation.step_sweeps import StepSweeps
from uzushio.case.registry import MODELS
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.case import AssimilationCase


#: Linear, symmetric, positive map of states, in place (collective).
Metric = Callable[[np.ndarray], None]

#: Names of axes and of the results' own arrays and columns.
RESERVED = frozenset(["time", "step", "x", "y", "z", "residual_mean", "residual_rms"]) | frozenset(
    ["iteration", "window", "J", "gradient", "forward", "backward", "seconds"]
)


class Trajectory(Protocol):
    """Storage of states (or tangents, or adjoints) of consecutive steps."""

    @property
    def bytes(self) -> int:
        """Bytes on this rank."""

    def append(self, state: np.ndarray) -> None:
        """Append a state (this rank's own part) after the last one; only if `Model.appends`."""


@dataclass(frozen=True)
class Quantity:
    """Description of the state or of a parameter, for messages and figures.

    Attributes:
        name: name in cases and files.
        description: words for figures.
        unit: unit of the values; 1: none.
        plausible: range of sensible values; observations of the state that lie outside are refused
            as values in another unit. None: any value.
    """

    name: str
    description: str = ""
    unit: str = "1"
    plausible: tuple[float, float] | None = None


@dataclass(frozen=True)
class Guess:
    """State and parameters: a first guess, or the truth of a twin experiment.

    Attributes:
        state: this rank's own part of the state.
        parameters: value of each of `Model.parameters`.
    """

    state: np.ndarray
    parameters: np.ndarray


class Model(StepSweeps):
    """Model on the ranks of one communicator; see the text of this module.

    Attributes:
        case: the case.
        comm: communicator of the model.
        shape: shape of a state over all ranks, of one to three axes; the last is x.
        own: this rank's part of each axis.
        appends: whether trajectories can `append`, which saves one step per recomputed window.
        threads: number of threads of each rank.
        every: interval in steps of the states that `checkpoints` store.
        candidates: default of `optimiser.candidates`.
    """

    #: Model that validates the case file.
    case_model: ClassVar[type[AssimilationCase]]
    #: Descriptions of the state and of the parameters, in order.
    state: ClassVar[Quantity]
    parameters: ClassVar[Sequence[Quantity]]
    #: Whether misfit and forcing follow `Observations.huber` (see `Observations.residual`).
    robust: ClassVar[bool] = True

    #: Units of `step_length` and of `coordinates`.
    time_unit: ClassVar[str] = "1"
    length_unit: ClassVar[str] = "1"

    comm: MPI.Comm
    shape: tuple[int, ...]
    own: tuple[slice, ...]
    appends: bool = True
    threads: int = 1
    every: int = 1
    candidates: int = 1

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        """Allocate and plan on the ranks of `comm`, one group; raise `CaseError` on all ranks."""
        self.case, self.comm = case, comm
        self.shape = tuple(self.shape_of(case))
        self.own = tuple(slice(0, count) for count in self.shape)

    @classmethod
    def missing(cls) -> list[str]:
        """Return the names of required members that a subclass does not have."""
        needed = ["case_model", "state", "parameters", "shape_of", "first_guess"]
        if cls.forward is StepSweeps.forward:
            needed += ["step", "adjoint_step"]
        return [name for name in needed if getattr(cls, name, None) is getattr(Model, name, None)]

    @classmethod
    def wrong_names(cls) -> list[str]:
        """Return the names of the state and of parameters that files and tables cannot hold."""
        names = [cls.state.name, *(parameter.name for parameter in cls.parameters)]
        return [
            name
            for name in names
            if name in RESERVED or not name.strip("./ ") or "/" in name or names.count(name) > 1
        ]

    @classmethod
    def by_differences(cls) -> list[str]:
        """Return the names of optional methods in place of which there are differences."""
        if cls.forward is not StepSweeps.forward:
            return []
        optional = ("tangent_step", "second_order_step")
        return [name for name in optional if getattr(cls, name) is getattr(StepSweeps, name)]

    # ---- of a case, before the model is created ------------------------------------------------

    @classmethod
    def shape_of(cls, case: AssimilationCase) -> tuple[int, ...]:
        """Return the shape of a state over all ranks."""
        raise NotImplementedError

    @classmethod
    def groups(cls, case: AssimilationCase, ranks: int) -> int:
        """Return the number of groups of ranks, each of which runs the whole model."""
        return ranks

    @classmethod
    def kept_every(cls, case: AssimilationCase, ranks: int) -> int:
        """Return the value of `every` on a number of ranks."""
        return 1

    @classmethod
    def notes(cls, case: AssimilationCase, ranks: int) -> list[str]:
        """Describe grid, tiles and communication for `uzushio check`; may raise `CaseError`."""
        return [f"{' x '.join(map(str, cls.shape_of(case)))} points, {case.time.steps} steps"]

    @classmethod
    def seconds_per_iteration(cls, case: AssimilationCase, ranks: int) -> float | None:
        """Return the time of J and its gradient over the whole window on a group of ranks.

        It is measured on this process, for `uzushio check`; None if unknown.
        """
        return None

    # ---- of the model -----------------------------------------------------------------------

    def first_guess(self) -> Guess:
        """Return the start of the search, which is also the mean of the background."""
        raise NotImplementedError

    def truth(self) -> Guess | None:
        """Return the truth of a twin experiment, if the case has one."""
        return None

    def coordinates(self) -> tuple[np.ndarray, ...]:
        """Return the positions of all points along each axis."""
        return tuple(np.arange(float(count)) for count in self.shape)

    def step_length(self) -> float:
        """Return the time of a step in the unit of the observations' times."""
        return self.case.time.dt

    def metric(self, steps: int, most: float) -> Metric | None:
        """Return an approximation of the misfit's inverse Hessian up to a factor.

        It amplifies structures of a state that the observations determine less than its mean. The
        better the approximation, the faster the search.

        Args:
            steps: steps of the observed run.
            most: maximum ratio of the eigenvalues.

        Returns:
            The map; None if no approximation is known.
        """
        return None

    def counters(self) -> Mapping[str, Any]:
        """Return counts of messages, bytes and points so far, as JSON values for the summary."""
        return {}


def model_class(name: str) -> type[Model]:
    """Import the model of assimilations called `name`, or from the file "FILE.py:Class".

    Raises:
        CaseError: there is no such model, its module cannot be imported, or the class is no model
            or lacks a required member.
    """
    file, class_name = file_of_class(name)
    candidate: Any = MODELS.find(name) if file is None else _of_file(file, class_name)
    if not hasattr(candidate, "missing"):
        raise CaseError(f"model '{name}' is not a subclass of uzushio.assimilation.Model.")
    if missing := candidate.missing():
        raise CaseError(
            f"model '{name}': the class {candidate.__name__} needs {' and '.join(missing)}; "
            "docs/how-to/own-model.md describes a model."
        )
    model: type[Model] = candidate
    if wrong := model.wrong_names():
        raise CaseError(
            f"model '{name}': state and parameters need different names without '/', which are no "
            f"names of axes and results: rename {' and '.join(map(repr, wrong))}."
        )
    return model


def file_of_class(name: str) -> tuple[Path | None, str]:
    """Split "FILE.py:Class"; the file is None for other names."""
    file, colon, class_name = name.rpartition(":")
    return (Path(file), class_name) if colon and file.endswith(".py") else (None, name)


def _of_file(file: Path, class_name: str) -> Any:
    """Return a class of a Python file, executed anew only if it has changed."""
    try:
        module = _module_of_file(file, file.stat().st_mtime_ns)
    except OSError:
        raise CaseError(f"model: there is no file {file}.") from None
    except ValueError as error:
        raise CaseError(f"model: {error}.") from error
    if not hasattr(module, class_name):
        raise CaseError(f"model: {file} has no class {class_name}.")
    return getattr(module, class_name)


@cache
def _module_of_file(file: Path, changed: int) -> ModuleType:
    return load_module(file)
