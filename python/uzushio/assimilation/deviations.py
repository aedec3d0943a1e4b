"""The standard deviation of each parameter at the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from uzushio.assimilation.case import Uncertainty
from uzushio.assimilation.ensemble import EnsembleSpread
from uzushio.assimilation.hessian import Hessian
from uzushio.assimilation.space import ControlSpace
from uzushio.assimilation.uncertainty import Solution, solve


@dataclass(frozen=True)
class Deviation:
    """A standard deviation, and how well it is known.

    Attributes:
        sd: of the parameter; None if there is none.
        note: why there is none, or what to know about it.
        products: Hessian-vector products done.
        residual: relative, of the linear system.
        to_minimum: how far the minimum of J is from the estimate, in the parameter, by the parabola
            that the Hessian describes.
        ensemble: the scatter over perturbed assimilations, if there were any.
    """

    sd: float | None
    note: str
    products: int
    residual: float | None
    to_minimum: float | None = None
    ensemble: EnsembleSpread | None = None

    @property
    def best(self) -> float | None:
        """The standard deviation to show: an ensemble's, which is not linearised, before H's."""
        return self.sd if self.ensemble is None else self.ensemble.sd

    @classmethod
    def unknown(cls, why: str) -> Self:
        """One that was not found."""
        return cls(None, why, 0, None)


def deviations(
    space: ControlSpace,
    hessian: Hessian,
    point: np.ndarray,
    gradient: np.ndarray,
    settings: Uncertainty,
    between: Callable[[], object],
) -> list[Deviation]:
    """Find the standard deviation of each parameter (collective).

    Args:
        space: of the vectors.
        hessian: of J at the estimate.
        point: the estimate.
        gradient: of J there.
        settings: how exactly, and how.
        between: is called before each product, and may raise on all ranks.
    """
    free = space.free(point, gradient)

    def product(vector: np.ndarray) -> np.ndarray:
        between()
        found = space.gradient(*hessian.product(space.state(vector), space.parameters(vector)))
        if free is not None:
            found *= free
        return found

    count = len(space.scales) - 1
    found = []
    for index in range(count):
        place = space.size - count + index
        if free is not None and free[place] == 0.0:
            found.append(Deviation.unknown("it is at its bound"))
            continue
        right = np.zeros(space.size)
        right[place] = 1.0
        solved = solve(
            space, product, right, settings.method, settings.iterations, settings.tolerance
        )
        slope = gradient if free is None else gradient * free
        away = -space.dot(solved.solution, slope)
        variance = float(solved.solution[place])
        found.append(_deviation(solved, variance, away, float(space.scales[index + 1])))
    return found


def _deviation(solved: Solution, variance: float, away: float, unit: float) -> Deviation:
    note = ""
    if solved.bends_down:
        note = "J bends down along some direction here: this is no minimum; let it iterate longer"
    if solved.bends_down or not (math.isfinite(variance) and variance > 0.0):
        note = note or "the Hessian gives no positive variance"
        return Deviation(None, note, solved.products, solved.residual)
    sd = unit * math.sqrt(variance)
    return Deviation(sd, note, solved.products, solved.residual, unit * away)
