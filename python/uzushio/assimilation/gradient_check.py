"""Check of the derivatives of a model: Taylor test of the gradient of J, and dot-product test.

For a direction d, J(x + h d) = J(x) + h ⟨g, d⟩ + O(h²): the remainder falls by a factor of 100 with
each decade of h if g is the gradient, and by 10 otherwise, until it reaches rounding. The adjoint
of the tangent-linear model M satisfies ⟨M d, y⟩ = ⟨d, M* y⟩ up to rounding. A model with
second-order steps of its own has its Hessian compared with differences of the gradient.

Source: I. M. Navon, X. Zou, J. Derber, J. Sela, Variational data assimilation with an adiabatic
version of the NMC spectral model, Mon. Weather Rev. 120 (1992), section 3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base import exact_sums
from uzushio.assimilation.case import AssimilationCase, load_assimilation
from uzushio.assimilation.derivative_tests import (
    STEPS,
    DotProductTest,
    GradientCheck,
    TaylorTest,
)
from uzushio.assimilation.memory import needs
from uzushio.assimilation.model import Guess
from uzushio.assimilation.noise import Stream, normal
from uzushio.assimilation.problem import Problem, SearchSetup
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Runs with relative perturbations of 2⁻⁵² that measure the rounding of J.
_ROUNDED_RUNS = 3
#: Maximum relative difference of dot products: of an own tangent-linear step, and of differences.
_EXACT, _BY_DIFFERENCES = 1e-10, 1e-6
#: Seconds for all runs, and minimum window in steps.
_SECONDS, _FIRST = 60.0, 8


def check_gradient(
    case: AssimilationCase | Path | str | Mapping[str, Any], comm: MPI.Comm | None = None
) -> GradientCheck:
    """Check the derivatives of a case's model, near its first guess (collective).

    The figures do not depend on the number of ranks. If a check of the whole run would take longer
    than a minute, the run is shortened.

    Args:
        case: result or argument of `uzushio.assimilation.load_assimilation`.
        comm: the ranks; None: those of the mpiexec that this runs in, or this process.

    Raises:
        CaseError: J is not finite near the first guess, or the case does not fit the ranks.
    """
    from uzushio._base.parallel.launch import default_comm

    if not isinstance(case, AssimilationCase):
        case = load_assimilation(case)
    return _Check(case, default_comm() if comm is None else comm).run()


class _Check:
    """Runs of a check."""

    def __init__(self, case: AssimilationCase, comm: MPI.Comm) -> None:
        from uzushio._base.parallel import memory

        memory.require(comm, needs(case, comm.size).required, "the check")
        self._case, self._comm = case, comm
        self._problem = problem = Problem(case, comm)
        self._model = problem.model
        problem.observe()
        first = min(case.time.steps, max(_FIRST, *problem.observations.steps[:1]))
        unit = problem.scales(problem.guess, first)[0]
        state = problem.guess.state + unit * self._noise(0)
        self._guess = Guess(state, problem.guess.parameters)
        self._setup: SearchSetup = problem.set_up_search(problem.scales(self._guess, first), first)
        space = self._setup.space
        self._names = [
            self._model.state.name,
            *(parameter.name for parameter in self._model.parameters),
        ]
        self._point = space.vector(self._guess.state, self._guess.parameters)
        self._window = self._affordable(first)
        self._setup.cost.set_schedule(problem.plan(self._window))
        self._setup.evaluator.forget()
        units = problem.scales(self._guess, self._window)
        space.change(units, self._point)

    def _noise(self, member: int) -> np.ndarray:
        return normal(0, 0, self._model.shape, self._model.own, Stream(member, "state"))

    def _affordable(self, window: int) -> int:
        """Return the steps of the run: `window` or its multiples that the time allows."""
        began = time.perf_counter()
        self._value_and_gradient()
        each = time.perf_counter() - began
        runs = (len(STEPS) + 2.0) * len(self._names) + _ROUNDED_RUNS
        whole, steps = self._case.time.steps, window
        while steps < whole and runs * each * 2 * steps / window < _SECONDS:
            steps *= 2
        longest: int = self._comm.bcast(min(steps, whole))
        return longest

    def _value_and_gradient(self) -> tuple[float, np.ndarray]:
        evaluator = self._setup.evaluator
        (value,) = evaluator.values([self._point])
        if not math.isfinite(value):
            raise CaseError("J is not finite near the first guess; make time.dt smaller.")
        return value, evaluator.gradient(self._point)

    def run(self) -> GradientCheck:
        """Run all tests."""
        problem, model = self._problem, self._model
        value, gradient = self._value_and_gradient()
        rounding = self._rounding(value)
        directions = [self._direction(index) for index in range(len(self._names))]
        taylor = [
            self._taylor(name, direction, value, gradient, rounding)
            for name, direction in zip(self._names, directions, strict=True)
        ]
        by_differences = model.by_differences()
        hessian = None
        if "second_order_step" not in by_differences:
            hessian = self._hessian(np.sum(directions, axis=0))
        self._setup.cost.sweeps.release()
        steps = min(self._window, problem.states)
        limit = _BY_DIFFERENCES if "tangent_step" in by_differences else _EXACT
        return GradientCheck(
            steps=self._window,
            whole=self._case.time.steps,
            taylor=taylor,
            dot_products=self._dot_products(directions, steps, limit),
            dot_steps=steps,
            hessian=hessian,
            by_differences=by_differences,
        )

    def _direction(self, index: int) -> np.ndarray:
        """Return a direction in one control, in the optimiser's units."""
        space = self._setup.space
        direction = np.zeros(space.size)
        if index == 0:
            space.part(direction)[...] = self._noise(1)
        else:
            direction[space.size - len(self._names) + index] = 1.0
        return direction

    def _rounding(self, value: float) -> float:
        """Return the effect of rounding errors of the controls on J."""
        space = self._setup.space
        points: list[np.ndarray] = []
        for member in range(2, 2 + _ROUNDED_RUNS):
            relative = np.full(space.size, 2.0**-52)
            space.part(relative)[...] *= np.sign(self._noise(member))
            points.append(self._point * (1.0 + relative))
        values = self._setup.evaluator.values(points)
        return max(float(np.spacing(value)), *(abs(repeated - value) for repeated in values))

    def _taylor(
        self, name: str, direction: np.ndarray, value: float, gradient: np.ndarray, rounding: float
    ) -> TaylorTest:
        slope = self._setup.space.dot(gradient, direction)
        values = self._setup.evaluator.values([self._point + h * direction for h in STEPS])
        changes = [changed - value for changed in values]
        return TaylorTest(
            control=name,
            first=[abs(change) for change in changes],
            second=[abs(change - h * slope) for h, change in zip(STEPS, changes, strict=True)],
            rounding=rounding,
        )

    def _hessian(self, direction: np.ndarray) -> float:
        """Return the minimum relative difference of a product to differences of the gradient."""
        space, evaluator = self._setup.space, self._setup.evaluator
        differences = []
        for h in STEPS[1:5]:
            ends = []
            for point in (self._point + h * direction, self._point - h * direction):
                evaluator.values([point])
                ends.append(evaluator.gradient(point))
            differences.append((ends[0] - ends[1]) / (2.0 * h))
        evaluator.forget()
        hessian = self._setup.cost.hessian(self._guess, self._problem.states)
        product = hessian.product(space.state(direction), space.parameters(direction))
        curvature = space.gradient(*product)
        length = space.dot(curvature, curvature)
        return min(
            math.sqrt(space.dot(curvature - difference, curvature - difference) / length)
            if length
            else math.inf
            for difference in differences
        )

    def _dot_products(
        self, directions: Sequence[np.ndarray], steps: int, limit: float
    ) -> list[DotProductTest]:
        model, space = self._model, self._setup.space
        parameters = self._guess.parameters
        trajectory = model.trajectory(steps)
        model.forward(self._guess.state.copy(), parameters, 0, steps, trajectory)
        tests = []
        for name, direction in zip(self._names, directions, strict=True):
            of_state, of_parameters = space.state(direction), space.parameters(direction)
            tangent = of_state.copy()
            model.tangent(tangent, of_parameters, parameters, 0, steps, trajectory)
            adjoint = tangent.copy()
            slopes = model.adjoint(adjoint, parameters, 0, steps, trajectory)
            products = [exact_sums.dot(tangent, tangent), exact_sums.dot(of_state, adjoint)]
            left, right = map(exact_sums.rounded, exact_sums.over_ranks(model.comm, products))
            right += sum(
                part * exact_sums.rounded(slope)
                for part, slope in zip(of_parameters.tolist(), slopes, strict=True)
            )
            tests.append(DotProductTest(name, left, right, limit))
        return tests
