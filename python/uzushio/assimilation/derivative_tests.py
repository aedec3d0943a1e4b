"""Results of a check of derivatives, with their verdicts and tables; see `gradient_check`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Steps of the Taylor test, in the optimiser's units of the controls.
STEPS = tuple(10.0**-power for power in range(1, 8))
#: Minimum order of the last remainders above rounding, and their minimum ratio to rounding.
_ORDER, _ABOVE = 1.8, 20.0
#: Maximum relative difference between the Hessian and differences of the gradient.
_HESSIAN = 1e-4


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
