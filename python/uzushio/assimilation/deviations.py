"""Standard deviation of each parameter at the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from uzushio.assimilation.case import Uncertainty
from uzushio.assimilation.ensemble import EnsembleSpread
from uzushio.assimilation.hessian import Hessian
from uzushio.assimilation.space import ControlSpace
from uzushio.assimilation.uncertainty import Solution, solve

#: Maximum distance of an estimate from the predicted minimum of J, in standard deviations.
FAR = 0.5
#: Minimum of the actual decrease of J towards that minimum over the predicted one.
_ENOUGH = 0.25
#: Relative residual above which a standard deviation is too small by more than about 1 %.
_UNSOLVED = 0.1
_NOT_QUADRATIC = (
    "J is not quadratic within a standard deviation: it does not decrease towards the minimum that "
    "its curvature predicts"
)


@dataclass(frozen=True)
class Deviation:
    """Standard deviation of a parameter, with its accuracy.

    Attributes:
        sd: standard deviation; None if unknown.
        note: reason if it is unknown, or a remark.
        products: number of Hessian-vector products.
        residual: relative residual of the linear system.
        to_minimum: predicted distance of the parameter from the minimum of J, by the Hessian; None
            if unknown, or if J does not decrease on the way.
        ensemble: spread over perturbed assimilations, if any.
    """

    sd: float | None
    note: str
    products: int
    residual: float | None
    to_minimum: float | None = None
    ensemble: EnsembleSpread | None = None

    @property
    def best(self) -> float | None:
        """Return the ensemble's standard deviation if there is one, since it is not linearised."""
        return self.sd if self.ensemble is None else self.ensemble.sd

    @property
    def is_far(self) -> bool:
        """Whether the predicted minimum of J is far from the estimate, in standard deviations."""
        return (
            self.sd is not None
            and self.to_minimum is not None
            and abs(self.to_minimum) > FAR * self.sd
        )

    def of_part(self, part: str) -> Deviation:
        """Return it with a remark that it belongs to a part of the run."""
        if self.sd is None:
            return self
        return replace(self, note="; ".join(filter(None, [f"± belongs to {part}", self.note])))

    @classmethod
    def unknown(cls, why: str) -> Self:
        """Return an unknown standard deviation, with the reason."""
        return cls(None, why, 0, None)


def deviations(
    space: ControlSpace,
    hessian: Hessian,
    point: np.ndarray,
    gradient: np.ndarray,
    settings: Uncertainty,
    between: Callable[[], object],
    value: Callable[[np.ndarray], float] | None = None,
) -> list[Deviation]:
    """Compute the standard deviation of each parameter (collective).

    Args:
        space: space of the vectors.
        hessian: Hessian of J at the estimate.
        point: the estimate.
        gradient: gradient of J at the estimate.
        settings: solver, tolerance and maximum number of products.
        between: called before each product; may raise on all ranks.
        value: function that returns J at a vector, to verify `to_minimum`; None: not verified.
    """
    free = space.free(point, gradient)

    def product(vector: np.ndarray) -> np.ndarray:
        between()
        hessian_product = space.gradient(
            *hessian.product(space.state(vector), space.parameters(vector))
        )
        if free is not None:
            hessian_product *= free
        return hessian_product

    count = len(space.scales) - 1
    estimates = []
    for index in range(count):
        place = space.size - count + index
        if free is not None and free[place] == 0.0:
            estimates.append(Deviation.unknown("it is at its bound"))
            continue
        right = np.zeros(space.size)
        right[place] = 1.0
        solved = solve(
            space, product, right, settings.method, settings.iterations, settings.tolerance
        )
        slope = gradient if free is None else gradient * free
        away = -space.dot(solved.solution, slope)
        variance = float(solved.solution[place])
        deviation = _deviation(solved, variance, away, float(space.scales[index + 1]))
        if deviation.is_far and value is not None:
            # The minimum of the quadratic model along the solution, where the parameter has moved
            # by `away`.
            there = point + (away / variance) * solved.solution
            space.project(there)
            expected = 0.5 * away**2 / variance
            if not value(point) - value(there) > _ENOUGH * expected:
                notes = "; ".join(filter(None, [deviation.note, _NOT_QUADRATIC]))
                deviation = replace(deviation, to_minimum=None, note=notes)
        estimates.append(deviation)
    return estimates


def _deviation(solved: Solution, variance: float, away: float, unit: float) -> Deviation:
    note = ""
    if solved.indefinite:
        note = "J has negative curvature along a direction: this is no minimum; iterate longer"
    if solved.indefinite or not (math.isfinite(variance) and variance > 0.0):
        note = note or "the Hessian gives no positive variance"
        return Deviation(None, note, solved.products, solved.residual)
    sd = unit * math.sqrt(variance)
    if solved.residual > _UNSOLVED:
        note = (
            f"the relative residual is {solved.residual:.2g} after {solved.products - 1} products "
            "with the Hessian, so that the true standard deviation is larger; raise "
            "uncertainty.iterations"
        )
    return Deviation(sd, note, solved.products, solved.residual, unit * away)
