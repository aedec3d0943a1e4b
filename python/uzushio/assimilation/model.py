"""Contract between a model and the assimilation of its initial state and parameters.

The cost function, optimiser, checkpoints, uncertainty and command line use only this contract. To
add a model: subclass `AssimilationCase` with its sections, subclass `Model`, and register it in
`uzushio.case.registry`.

A model has a state, a field of real numbers on a grid distributed over ranks, and a few real
parameters that are constant in time. Step s leads from state s to state s + 1. All methods with
states as arguments are *collective*; arrays are this rank's own part, float64 and C-contiguous.
Numbers are the same on all ranks, and have the same bits on any number of ranks. Sums over points
are double-double numbers (`exact_sums.DoubleDouble`), so that the sums of parts of a run can be
added and rounded once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from uzushio._base.exact_sums import DoubleDouble

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._base.observations import Observations
    from uzushio.assimilation.case import AssimilationCase


#: Linear, symmetric, positive map of states, in place (collective).
Metric = Callable[[np.ndarray], None]


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


class Model(ABC):
    """Model on the ranks of one communicator.

    Attributes:
        comm: communicator of the model.
        shape: shape of a state over all ranks: (rows, columns).
        own: rows and columns of this rank's part.
        appends: whether trajectories can `append`, which saves one step per recomputed window.
        threads: number of threads of each rank.
        every: interval in steps of the states that `checkpoints` store.
    """

    #: Model that validates the case file.
    case_model: ClassVar[type[AssimilationCase]]
    #: Descriptions of the state and of the parameters, in order.
    state: ClassVar[Quantity]
    parameters: ClassVar[Sequence[Quantity]]
    #: Whether misfit and forcing follow `Observations.huber` (see `Observations.residual`).
    robust: ClassVar[bool] = False

    #: Units of `step_length` and of `coordinates`.
    time_unit: ClassVar[str] = "1"
    length_unit: ClassVar[str] = "1"

    comm: MPI.Comm
    shape: tuple[int, int]
    own: tuple[slice, slice]
    appends: bool = False
    threads: int = 1
    every: int = 1

    @classmethod
    @abstractmethod
    def groups(cls, case: AssimilationCase) -> int:
        """Return the number of groups of ranks that evaluate candidates concurrently (`oblt`)."""

    @classmethod
    @abstractmethod
    def points(cls, case: AssimilationCase) -> int:
        """Return the number of points of a state over all ranks."""

    @classmethod
    def kept_every(cls, case: AssimilationCase, ranks: int) -> int:
        """Return the value of `every` on a number of ranks."""
        return 1

    @classmethod
    @abstractmethod
    def notes(cls, case: AssimilationCase, ranks: int) -> list[str]:
        """Describe grid, tiles and communication for `uzushio check`; may raise `CaseError`."""

    @classmethod
    def seconds_per_iteration(cls, case: AssimilationCase, ranks: int) -> float | None:
        """Return the time of J and its gradient over the whole window on a group of ranks.

        It is measured on this process, for `uzushio check`; None if unknown.
        """
        return None

    @abstractmethod
    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        """Allocate and plan on the ranks of `comm`, one group; raise `CaseError` on all ranks."""

    @abstractmethod
    def truth(self) -> Guess | None:
        """Return the truth of a twin experiment, if the case has one."""

    @abstractmethod
    def first_guess(self) -> Guess:
        """Return the start of the search, which is also the mean of the background."""

    @abstractmethod
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of all rows and of all columns."""

    @abstractmethod
    def step_length(self) -> float:
        """Return the time of a step in the unit of the observations' times."""

    @abstractmethod
    def trajectory(self, steps: int) -> Trajectory:
        """Return storage for a number of consecutive states."""

    def checkpoints(self, steps: int) -> Trajectory:
        """Return storage for consecutive states that only adjoint sweeps without `keep` read.

        Each `every`-th state is stored, and the model recomputes the others.
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
            parameters: parameters of the model.
            first: index of the given state.
            last: index of the result.
            trajectory: stores states `first` to `last` - 1.
            observations: observations for the misfit, those at steps in (first, last].

        Returns:
            The misfit: half the weighted sum of squared differences to those observations.
        """

    @abstractmethod
    def misfit(self, state: np.ndarray, step: int, observations: Observations) -> DoubleDouble:
        """Return the misfit at one step; 0 if it was not observed."""

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
        """Compute the derivative with respect to state `first` from that for `last`, in place.

        Args:
            adjoint: at `last`, with that step's forcing; becomes that at `first`, with its forcing.
            parameters: parameters of the model.
            first: index of the earlier state.
            last: index of the later state.
            trajectory: states `first` to `last` - 1.
            observations: observations of the forcing, those at steps [first, last).
            keep: stores the adjoints for `second_order`.

        Returns:
            The contribution of these steps to the derivative with respect to each parameter.
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
        """Compute `adjoint`, and return the misfit at the steps [first, last) too.

        The sum of misfits has the same bits as that of `forward` and `misfit`.
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
            parameters: parameters of the model.
            first: index of the state that `tangent` perturbs.
            last: index of the state that the result perturbs.
            trajectory: states `first` to `last` - 1.
            keep: stores the perturbations `first` to `last` - 1.
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
        """Compute the adjoint's derivative along a perturbation at `first` from that at `last`.

        Args:
            adjoint: derivative of the adjoint at `last`, with `apply_inverse_covariance` of that
                step; becomes that at `first`.
            direction: perturbation of the parameters.
            parameters: parameters of the model.
            first: index of the earlier state.
            last: index of the later state.
            trajectory: states `first` to `last` - 1.
            tangents: tangents of these steps, from `tangent`.
            adjoints: adjoints of these steps, from `adjoint`; None for the Gauss-Newton part, which
                is never indefinite.
            observations: as in `adjoint`.

        Returns:
            The contribution of these steps to the derivative of each parameter's gradient.
        """

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
