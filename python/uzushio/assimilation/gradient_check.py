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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base import exact_sums
from uzushio.assimilation.case import AssimilationCase, load_assimilation
from uzushio.assimilation.memory import needs
from uzushio.assimilation.model import Guess
from uzushio.assimilation.noise import Stream, normal
from uzushio.assimilation.problem import Problem, SearchSetup
from uzushio.errors import CaseError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Steps of the Taylor test, in the optimiser's units of the controls.
STEPS = tuple(10.0**-power for power in range(1, 8))
#: Minimum order of the last remainders above rounding, and their minimum ratio to rounding.
_ORDER, _ABOVE = 1.8, 20.0
#: Runs with relative perturbations of 2⁻⁵² that measure the rounding of J.
_ROUNDED_RUNS = 3
#: Maximum relative difference of dot products: of an own tangent-linear step, and of differences.
_EXACT, _BY_DIFFERENCES = 1e-10, 1e-6
#: Maximum relative difference between the Hessian and differences of the gradient.
_HESSIAN = 1e-4
#: Seconds for all runs, and minimum window in steps.
_SECONDS, _FIRST = 60.0, 8


@dataclass(frozen=True)
class TaylorTest:
    """Remainders of J along a direction in the state or in one parameter.

    Attributes:
        control: name of the state or the parameter.
        first: |J(x + h d) − J(x)| for each of `STEPS`.
        second: the same with −h ⟨g, d⟩.
        rounding: rounding error of J.
    """

    control: str
    first: Sequence[float]
    second: Sequence[float]
    rounding: float

    @property
    def passed(self) -> bool:
        """Whether the last remainders above rounding are of second order."""
        order = self.order
        return order is None or order >= _ORDER

    @property
    def order(self) -> float | None:
        """Order of the last two remainders above rounding; None if there are no two."""
        remainders = [
            (h, rest)
            for h, rest in zip(STEPS, self.second, strict=True)
            if math.isfinite(rest) and rest > _ABOVE * self.rounding
        ]
        if len(remainders) < 2:
            return None
        (h, rest), (smaller, smaller_rest) = remainders[-2:]
        return math.log(rest / smaller_rest) / math.log(h / smaller)

    @property
    def depends(self) -> bool:
        """Whether J depends on the control by more than rounding."""
        return max(self.first) > _ABOVE * self.rounding

    def lines(self) -> list[str]:
        """Return a row for each step."""
        orders = [_orders(remainders) for remainders in (self.first, self.second)]
        return [
            f"{self.control:<12}{h:<9.0e}{first:<13.4e}{order:<8}{second:<13.4e}{order_2}".rstrip()
            for h, first, order, second, order_2 in zip(
                STEPS, self.first, orders[0], self.second, orders[1], strict=True
            )
        ]


@dataclass(frozen=True)
class DotProductTest:
    """Dot products for a direction in the state or in one parameter.

    Attributes:
        control: name of the state or the parameter.
        tangent: ⟨M d, y⟩ with y = M d.
        adjoint: ⟨d, M* y⟩.
        limit: maximum relative difference.
    """

    control: str
    tangent: float
    adjoint: float
    limit: float

    @property
    def difference(self) -> float:
        """Relative difference of both."""
        size = max(abs(self.tangent), abs(self.adjoint))
        return abs(self.tangent - self.adjoint) / size if size > 0.0 else 0.0

    @property
    def passed(self) -> bool:
        """Whether they agree."""
        return self.difference <= self.limit


@dataclass(frozen=True)
class GradientCheck:
    """Result of a check; its text has tables and a verdict.

    Attributes:
        steps: steps of the runs.
        whole: steps of the case.
        taylor: Taylor tests of the state and of each parameter.
        dot_products: dot-product tests of the same; their runs have `dot_steps` steps.
        dot_steps: steps of the dot-product tests.
        hessian: relative difference between the Hessian and differences of the gradient; None if
            the model has no second-order step of its own.
        by_differences: optional methods that the model does not have.
    """

    steps: int
    whole: int
    taylor: Sequence[TaylorTest]
    dot_products: Sequence[DotProductTest]
    dot_steps: int
    hessian: float | None
    by_differences: Sequence[str]

    @property
    def passed(self) -> bool:
        """Whether all tests are passed, and J depends on a control."""
        return not self._mistakes()

    def _mistakes(self) -> list[str]:
        mistakes = []
        wrong = [test.control for test in self.taylor if not test.passed]
        dots = [test.control for test in self.dot_products if not test.passed]
        if dots:
            mistakes.append(
                f"the adjoint is not the transpose of the tangent-linear model for "
                f"{' and '.join(dots)}"
            )
        if wrong:
            mistakes.append(f"the derivative of J with respect to {' and '.join(wrong)} is wrong")
            if not dots and "tangent_step" not in self.by_differences:
                mistakes.append(
                    "tangent-linear and adjoint model are not those of the forward model"
                )
        if self.hessian is not None and not self.hessian <= _HESSIAN:
            mistakes.append("the second-order adjoint is not the derivative of the adjoint")
        if not any(test.depends for test in self.taylor):
            mistakes.append("J depends on no control, so nothing was tested")
        return mistakes

    def __str__(self) -> str:
        """Return the tables and the verdict."""
        part = (
            f"all {self.whole} steps"
            if self.steps == self.whole
            else f"the first {self.steps} of {self.whole} steps (more take longer than a minute)"
        )
        lines = [
            f"Taylor test over {part}: R1 = |J(x + h d) - J(x)|, "
            "R2 = |J(x + h d) - J(x) - h <g, d>|",
            f"{'d in':<12}{'h':<9}{'R1':<13}{'order':<8}{'R2':<13}order",
        ]
        for test in self.taylor:
            lines += test.lines()
        lines += [
            f"R2 falls with order 2 until rounding, here {self.taylor[0].rounding:.1e}.",
            f"Dot-product test over {self.dot_steps} steps: <M d, y> and <d, M* y> for y = M d",
            f"{'d in':<12}{'<M d, y>':<24}{'<d, M* y>':<24}relative difference",
        ]
        for dot in self.dot_products:
            values = f"{dot.tangent:<24.15e}{dot.adjoint:<24.15e}{dot.difference:.1e}"
            lines.append(f"{dot.control:<12}{values}")
        if self.hessian is not None:
            lines.append(
                "Hessian of J beside central differences of the gradient: relative difference "
                f"{self.hessian:.1e}"
            )
        if self.by_differences:
            names = " and no ".join(self.by_differences)
            lines.append(f"The model has no {names}: central differences take the place.")
        unused = [test.control for test in self.taylor if not test.depends]
        if unused:
            lines.append(f"J does not depend on {' and '.join(unused)} within rounding.")
        mistakes = self._mistakes()
        verdict = f"Failed: {'; '.join(mistakes)}." if mistakes else "Passed: g is the gradient."
        return "\n".join([*lines, verdict])


def _orders(values: Sequence[float]) -> list[str]:
    """Return the order between each value and the one before, as text."""
    orders = [""]
    for (h, value), (before_h, before) in zip(
        zip(STEPS[1:], values[1:], strict=True), zip(STEPS, values, strict=False), strict=False
    ):
        usable = math.isfinite(before) and math.isfinite(value) and value > 0.0 and before > 0.0
        orders.append(f"{math.log(before / value) / math.log(before_h / h):.2f}" if usable else "")
    return orders


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
