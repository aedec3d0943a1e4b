"""Components of an assimilation from its case: model, observations, J and control space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uzushio._base.observations import Observations
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio.assimilation import observation_store, twin
from uzushio.assimilation.background_check import BackgroundCheck, check
from uzushio.assimilation.case import AssimilationCase, ControlSection
from uzushio.assimilation.cost import Cost
from uzushio.assimilation.ensemble import Ensemble, Start
from uzushio.assimilation.fit import Fit, goodness_of_fit
from uzushio.assimilation.groups import Evaluator, Groups
from uzushio.assimilation.memory import needs, states_that_fit
from uzushio.assimilation.minimise import Minimiser, Settings
from uzushio.assimilation.model import Guess, Metric, Model, model_class
from uzushio.assimilation.perturbed import Perturber
from uzushio.assimilation.scales import scales, weight
from uzushio.assimilation.schedule import CheckpointingPlan, plan
from uzushio.assimilation.space import ControlSpace
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI


#: Tolerance of members over that of the search: all members start at one point, and a search that
#: stops before its minimum would reduce their scatter.
_CLOSER = 0.1


class SearchSetup(NamedTuple):
    """Search and its components, which change during the search."""

    search: Minimiser
    cost: Cost
    evaluator: Evaluator
    space: ControlSpace


def checked(model: Model, guess: Guess, name: str) -> Guess:
    """Return a guess of a model as arrays; raise `CaseError` for other shapes."""
    if not isinstance(guess, Guess):
        raise CaseError(f"{name}: the model returned {type(guess).__name__}, must return a Guess.")
    shape = tuple(part.stop - part.start for part in model.own)
    state = np.ascontiguousarray(guess.state, dtype=np.float64)
    parameters = np.array(guess.parameters, dtype=np.float64)
    if state.shape != shape or parameters.shape != (len(model.parameters),):
        raise CaseError(
            f"{name}: the model gives a state of shape {state.shape} and parameters of shape "
            f"{parameters.shape}; they must be {shape} and ({len(model.parameters)},)."
        )
    return Guess(state, parameters)


class Problem:
    """Components of an assimilation on the ranks of a job. All methods are collective.

    Attributes:
        groups: groups of ranks.
        model: model on this rank's group.
        truth: truth of a twin experiment, or None.
        guess: the first guess.
        observations: this rank's part of the observations, after `observe`.
        sigmas: standard deviations of the background, for the state and each parameter.
        background_check: result of the background check, if the case wants it.
        sections: monitor of this rank's sections, such as sweeps and passes over vectors.
    """

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        """Create groups and model; raise `UzushioError` on all ranks if they do not fit."""
        kind = model_class(case.model)
        self._case, self._comm = case, comm
        self.groups = Groups(comm, kind.groups(case, comm.size))
        self.model = kind(case, self.groups.inside)
        truth = self.model.truth()
        self.truth = None if truth is None else checked(self.model, truth, "truth")
        self.guess = checked(self.model, self.model.first_guess(), "first_guess")
        names = [self.model.state.name, *(parameter.name for parameter in self.model.parameters)]
        self.controls = [case.controls.get(name, ControlSection()) for name in names]
        self.sigmas = [control.sigma for control in self.controls]
        if case.observations.huber is not None and not kind.robust:
            raise CaseError(
                f"observations.huber: the model {case.model} knows squares alone; set it to null."
            )
        self.observations: Observations  # from `observe` on
        self.background_check: BackgroundCheck | None = None
        self._given: Observations  # before the check
        self._observed: np.ndarray  # values on all ranks at each observed step
        self.sections = SectionMonitor()
        self.states = 0
        self._passed: list[int] = []

    def observe(self) -> Observations:
        """Read the observations, or create those of a twin experiment."""
        store = self._case.observations.store
        if store is not None:
            self.observations = observation_store.read(
                store, self.model, self._case.time.steps, self._comm
            )
        else:
            if self.truth is None:
                raise CaseError(
                    "observations.store: name a store; without it the observations are those of a "
                    "twin experiment, for which the model needs a truth."
                )
            self.observations = twin.observe(self.model, self.truth, self._case)
        wanted = self._case.observations
        if wanted.huber is not None:
            self.observations = replace(self.observations, huber=wanted.huber)
        self._given = self.observations
        if wanted.background_check is not None:
            self.observations, self.background_check = check(
                self.model, self.observations, self.guess, wanted.background_check
            )
        self._observed = self.model.comm.allreduce(self.observations.counts)
        return self.observations

    def observed_counts(self) -> tuple[int, int]:
        """Return the numbers of used and of all values at the observed steps."""
        return int(self._observed.sum()), len(self._observed) * math.prod(self.model.shape)

    @property
    def rejected(self) -> int:
        """Number of values that the background check leaves out."""
        return 0 if self.background_check is None else self.background_check.rejected

    def observed_within(self, window: int) -> int:
        """Return the number of observed values up to a step."""
        return int(self._observed[np.asarray(self.observations.steps) <= window].sum())

    def keep_observations(self, path: Path) -> None:
        """Write a twin's observations by the first group, unless they exist."""
        if self.groups.mine == 0 and not observation_store.is_complete(
            path, self._given, self.model.comm
        ):
            observation_store.write(path, self.model, self._given)

    def resume_after_stages(self, windows: Sequence[int]) -> None:
        """Set the stages that a search had before its restart, with the last one.

        The case determines the later stages only.
        """
        self._passed = list(windows)

    def windows(self) -> list[int]:
        """Return the steps of each stage's window, the whole run last.

        J is strongly curved where the model amplifies errors, most with wrong parameters: early
        observations determine the state first, and the parameters well enough
        (C. Pires, R. Vautard, O. Talagrand, On extending the limits of variational assimilation in
        nonlinear chaotic systems, Tellus A 48 (1996)).
        """
        whole, passed = self._case.time.steps, self._passed
        return passed + [
            window for window in self._windows_of_case(whole) if window > max(passed, default=0)
        ]

    def _windows_of_case(self, whole: int) -> list[int]:
        first = self._case.optimiser.first_window
        if first is None:
            return [whole]
        # With fewer than two observations a point, the initial state fits those of a short window
        # with wrong parameters, and the later stages begin beside a wrong minimum.
        enough = np.flatnonzero(self._observed.cumsum() >= 2 * math.prod(self.model.shape))
        if not enough.size:
            return [whole]
        window, windows = max(first, self.observations.steps[enough[0]]), []
        while window < whole:
            windows.append(window)
            window *= 2
        return [*windows, whole]

    def scales(self, guess: Guess, window: int) -> list[float]:
        """Return units of the controls, from the case or from the curvature at a point."""
        given = [control.scale for control in self.controls]
        return scales(self.model, self.observations, guess, self.sigmas, given, window)

    def metric(self, window: int, fresh: bool = False) -> Metric | None:
        """Return the model's approximation of the Hessian of J for a window.

        It is None for the first window and for a search that begins at the first guess (`fresh`):
        far from the minimum J is not quadratic.
        """
        if fresh or window == self.windows()[0]:
            return None
        observations, wanted = self.observations, self._case.optimiser
        within = [index for index, step in enumerate(observations.steps) if step <= window]
        if not (within and wanted.metric and wanted.method == "lbfgs"):
            return None
        precision = 0.0 if self.sigmas[0] is None else 1.0 / self.sigmas[0] ** 2
        whole = weight(self.model, observations, within) + precision
        most = math.inf if precision == 0.0 else whole / precision
        return self.model.metric(observations.steps[within[-1]], most)

    def plan(self, window: int) -> CheckpointingPlan:
        """Return the checkpointing schedule of a run of a number of steps."""
        return plan(window, self.states, appends=self.model.appends, every=self.model.every)

    def set_up_search(self, units: list[float], window: int, fresh: bool = False) -> SearchSetup:
        """Return J of a window in these units, and the search for its minimum, before its start.

        `fresh`: whether the search of the window begins at the first guess.
        """
        case, model = self._case, self.model
        wanted = needs(case, self._comm.size)
        reserved = wanted.optimiser + wanted.others
        self.states = states_that_fit(model, self._comm, case.trajectory.memory, reserved)
        cost = Cost(
            model, self.observations, self.plan(window), self.guess, self.sigmas, self.sections
        )
        shape = self.guess.state.shape
        bounds = [control.bounds for control in self.controls]
        space = ControlSpace(model.comm, shape, units, bounds, model.threads, self.sections)
        evaluator = Evaluator(cost, space, self.groups)
        start = space.vector(self.guess.state, self.guess.parameters)
        settings = self._settings(model.candidates)
        search = Minimiser(space, evaluator, start, settings, self.metric(window, fresh))
        return SearchSetup(search, cost, evaluator, space)

    def _settings(self, candidates: int) -> Settings:
        """Return the settings of a search; `candidates` is the default of the case's key."""
        wanted = self._case.optimiser
        return Settings(
            method=wanted.method,
            memory=wanted.memory,
            candidates=wanted.candidates or candidates,
            tries=wanted.tries,
            tolerance=wanted.tolerance,
        )

    def fit(self, cost: Cost, space: ControlSpace, point: np.ndarray, window: int) -> Fit:
        """Return the goodness of fit at a point to the observations of a window."""
        held = space.at_bounds(point)
        free = sum(
            sigma is None and index not in held for index, sigma in enumerate(self.sigmas[1:])
        )
        estimate = Guess(space.state(point), space.parameters(point))
        return goodness_of_fit(cost, self.guess, estimate, free, window)

    def ensemble(self, setup: SearchSetup) -> Ensemble:
        """Return the ensemble of perturbed assimilations about the result of a search.

        It takes over the memory for trajectories.
        """
        case, window = self._case, self._case.time.steps
        setup.cost.sweeps.release()
        observations, guess, sigmas = self.observations, self.guess, self.sigmas
        cost = Cost(self.model, observations, self.plan(window), guess, sigmas, self.sections)
        perturber = Perturber(self.model, observations, guess, sigmas, case.uncertainty.seed)
        # A member's search does not depend on the number of groups.
        settings = replace(self._settings(1), tolerance=_CLOSER * case.optimiser.tolerance)
        start = Start(setup.search.point, settings, self.metric(window), case.optimiser.iterations)
        return Ensemble(cost, setup.space, self.groups, perturber, start)
