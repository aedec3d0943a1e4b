"""The contract between a model and everything that estimates its initial state and parameters.

The cost function, optimiser, checkpoints, uncertainty and command line use this module and know no
model. To add one: subclass `AssimilationCase` with the sections it needs, subclass `Model`, and
name it in `uzushio.case.registry`.

A model has a state, which is a field of real numbers on a grid that the ranks share, and a few real
parameters that do not change with time. Step s leads from state s to state s + 1. All methods that
take states are *collective*; arrays are this rank's own part, float64 and C-contiguous. Results
that are numbers are the same on all ranks, and the same to the bit on any number of ranks; sums
over points are double-double numbers (`exact_sums.DoubleDouble`), so that those of parts of a run
can be added and rounded once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from uzushio.stencil.exact_sums import DoubleDouble

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.assimilation.case import AssimilationCase
    from uzushio.observations import Observations


#: A linear, symmetric, positive map of states, in place (collective).
Metric = Callable[[np.ndarray], None]


class Trajectory(Protocol):
    """States (or tangents, or adjoints) of consecutive steps, as the model keeps them."""

    @property
    def bytes(self) -> int:
        """Memory that it takes on this rank."""

    def append(self, state: np.ndarray) -> None:
        """Put a state (this rank's own part) behind the last one; only where `Model.appends`."""


@dataclass(frozen=True)
class Quantity:
    """What the state or a parameter is, for people."""

    name: str
    description: str = ""
    unit: str = "1"


@dataclass(frozen=True)
class Guess:
    """A state and parameters to begin with, or the truth of a twin experiment.

    Attributes:
        state: this rank's own part.
        parameters: one number for each of `Model.parameters`.
    """

    state: np.ndarray
    parameters: np.ndarray


class Model(ABC):
    """A model on the ranks of one communicator.

    Attributes:
        comm: its ranks.
        shape: of a state, over all ranks: (rows, columns).
        own: this rank's part of it.
        appends: whether trajectories can `append`, which saves a step for each that is computed
            again.
        threads: that each rank has.
        every: steps from one state that `checkpoints` keep to the next.
    """

    #: The case model that the file is validated against.
    case_model: ClassVar[type[AssimilationCase]]
    #: What a state is, and what the parameters are, in order.
    state: ClassVar[Quantity]
    parameters: ClassVar[Sequence[Quantity]]

    comm: MPI.Comm
    shape: tuple[int, int]
    own: tuple[slice, slice]
    appends: bool = False
    threads: int = 1
    every: int = 1

    @classmethod
    @abstractmethod
    def groups(cls, case: AssimilationCase) -> int:
        """Groups of ranks that the case wants to try candidates at once on (`oblt`)."""

    @classmethod
    @abstractmethod
    def points(cls, case: AssimilationCase) -> int:
        """Points of a state over all ranks."""

    @classmethod
    def kept_every(cls, case: AssimilationCase, ranks: int) -> int:
        """What `every` of the case's model on so many ranks is."""
        return 1

    @classmethod
    @abstractmethod
    def notes(cls, case: AssimilationCase, ranks: int) -> list[str]:
        """Sentences on grid, tiles and communication for `uzushio check`; raises `CaseError`."""

    @classmethod
    def seconds_per_iteration(cls, case: AssimilationCase, ranks: int) -> float | None:
        """Return the time of J and its gradient over the whole window on a group of so many ranks.

        It is for `uzushio check`, measured on this process; None: it is not known.
        """
        return None

    @abstractmethod
    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        """Allocate and plan on the ranks of `comm`, one group. Raises `CaseError` on all ranks."""

    @abstractmethod
    def truth(self) -> Guess | None:
        """The truth of a twin experiment, if the case has one."""

    @abstractmethod
    def first_guess(self) -> Guess:
        """Where the estimate begins, which is also the mean of the background."""

    @abstractmethod
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of all rows and of all columns."""

    @abstractmethod
    def step_length(self) -> float:
        """Time of a step, in the unit that observations' times are in."""

    @abstractmethod
    def trajectory(self, steps: int) -> Trajectory:
        """Memory for so many consecutive states."""

    def checkpoints(self, steps: int) -> Trajectory:
        """Memory for so many consecutive states that only an adjoint which is not kept will read.

        Each `every`-th of them is kept, and the model computes the others again.
        """
        return self.trajectory(steps)

    @abstractmethod
    def forward(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory | None = None,
        observations: Observations | None = None,
    ) -> DoubleDouble:
        """Advance `state` from step `first` to `last`, in place.

        Args:
            state: state `first`; becomes state `last`.
            parameters: of the model.
            first: index of the state that is given.
            last: index of the state that is wanted.
            trajectory: keeps states `first` to `last` - 1.
            observations: of which those at steps in (first, last] count.

        Returns:
            The misfit: half the weighted sum of squared differences to those observations.
        """

    @abstractmethod
    def misfit(self, state: np.ndarray, step: int, observations: Observations) -> DoubleDouble:
        """The misfit at one step; 0 if it was not observed."""

    @abstractmethod
    def forcing(
        self, state: np.ndarray, step: int, observations: Observations, out: np.ndarray
    ) -> None:
        """Add the derivative of the misfit at `step` with respect to the state to `out`."""

    @abstractmethod
    def adjoint(
        self,
        adjoint: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations | None = None,
        keep: Trajectory | None = None,
    ) -> Sequence[DoubleDouble]:
        """Take the derivative with respect to state `last` back to state `first`, in place.

        Args:
            adjoint: at `last`, with that step's forcing; becomes that at `first`, with its forcing.
            parameters: of the model.
            first: index of the earlier state.
            last: index of the later state.
            trajectory: states `first` to `last` - 1.
            observations: that force at steps [first, last).
            keep: keeps what `second_order` needs of the adjoint.

        Returns:
            The part of these steps in the derivative with respect to each parameter.
        """

    @abstractmethod
    def misfit_and_adjoint(
        self,
        adjoint: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        observations: Observations,
    ) -> tuple[DoubleDouble, Sequence[DoubleDouble]]:
        """Do as `adjoint`, and return the misfit at the steps [first, last) as well.

        The sum of misfits is that of `forward` and `misfit` to the bit.
        """

    @abstractmethod
    def tangent(
        self,
        tangent: np.ndarray,
        direction: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        keep: Trajectory | None = None,
    ) -> None:
        """Advance a perturbation of the state from `first` to `last`, in place.

        Args:
            tangent: perturbation of the state.
            direction: perturbation of the parameters.
            parameters: of the model.
            first: index of the state that `tangent` perturbs.
            last: index of the state that it then perturbs.
            trajectory: states `first` to `last` - 1.
            keep: keeps the perturbations `first` to `last` - 1.
        """

    @abstractmethod
    def apply_inverse_covariance(
        self, tangent: np.ndarray, step: int, observations: Observations, out: np.ndarray
    ) -> None:
        """Add the derivative of `forcing` along `tangent` to `out`."""

    @abstractmethod
    def second_order(
        self,
        adjoint: np.ndarray,
        direction: np.ndarray,
        parameters: np.ndarray,
        first: int,
        last: int,
        trajectory: Trajectory,
        tangents: Trajectory,
        adjoints: Trajectory | None,
        observations: Observations | None = None,
    ) -> Sequence[DoubleDouble]:
        """Take the derivative of the adjoint along a perturbation from `last` back to `first`.

        Args:
            adjoint: derivative of the adjoint at `last`, with `apply_inverse_covariance` of that
                step; becomes that at `first`.
            direction: perturbation of the parameters.
            parameters: of the model.
            first: index of the earlier state.
            last: index of the later state.
            trajectory: states `first` to `last` - 1.
            tangents: what `tangent` kept of these steps.
            adjoints: what `adjoint` kept of them; None for Gauss and Newton's part, which is never
                indefinite.
            observations: as in `adjoint`.

        Returns:
            The part of these steps in the derivative of each parameter's gradient.
        """

    def metric(self, steps: int, most: float) -> Metric | None:
        """How much less than its mean the observations determine of a state's structures.

        A search is the faster, the more this is like the inverse Hessian of the misfit, but for a
        factor.

        Args:
            steps: of the run that is observed.
            most: the factor between what is determined best and worst, at most.

        Returns:
            The map; None where nothing is known.
        """
        return None

    def counters(self) -> Mapping[str, Any]:
        """Messages, bytes and points so far, as plain JSON, for the summary."""
        return {}
