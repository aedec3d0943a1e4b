"""Minimisation of J by single iterations, between which the caller can store or stop the search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from uzushio.assimilation.lbfgs import LbfgsMemory
from uzushio.assimilation.model import Metric
from uzushio.assimilation.search import LineSearch, LineSearchStep
from uzushio.assimilation.space import ControlSpace
from uzushio.errors import ModelError

#: Consecutive iterations with predicted decreases below the tolerance that end the search.
_IN_A_ROW = 3
#: Limits of a stage before the last: predicted decrease relative to J, and iterations.
_ROUGHLY, _AT_MOST = 1e-4, 12


class Objective(Protocol):
    """Function to minimise. All methods are collective."""

    def values(self, points: Sequence[np.ndarray], likely: bool = False) -> list[float]:
        """Return J at each point, or infinity. `likely`: a gradient will probably follow."""

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient of J, cheapest at the point with the minimum of the last `values`.

        The caller owns the vector.
        """


@dataclass(frozen=True)
class Settings:
    """Settings of a search.

    Attributes:
        method: lbfgs, or gradient for steepest descent.
        memory: maximum number of pairs of lbfgs.
        candidates: number of steps that are tried at once.
        tries: maximum number of values of J in a line search.
        tolerance: predicted decrease of J below which the search ends.
    """

    method: Literal["lbfgs", "gradient"] = "lbfgs"
    memory: int = 8
    candidates: int = 1
    tries: int = 30
    tolerance: float = 5e-2


class Minimiser:
    """State of a search.

    Attributes:
        iteration: number of completed iterations.
        point: best point so far.
        value: J at the point.
        gradient: gradient of J at the point.
        promised: decrease of J that the quadratic model of the last direction predicted.
        ended: reason of the end of the search; None before.
        stage: number of the stage, from 0. Each stage has its own J and minimum.
        rough: whether a rough minimum is sufficient, since another stage follows.
    """

    def __init__(
        self,
        space: ControlSpace,
        objective: Objective,
        start: np.ndarray,
        settings: Settings,
        metric: Metric | None = None,
    ) -> None:
        """Set the start of a search; call `begin` or `restore` next. The metric is for lbfgs."""
        self._space, self._objective, self._settings = space, objective, settings
        self._memory = LbfgsMemory(space, settings.memory, metric)
        self._search = LineSearch(space, objective.values, settings.candidates, settings.tries)
        self.point, self.gradient = space.new(), space.new()
        self.point[:], self.gradient[:] = start, 0.0
        space.project(self.point)
        self.value, self.promised = np.inf, np.inf
        self.iteration, self._small, self._length = 0, 0, 1.0
        self.ended: str | None = None
        self.stage, self.rough, self._in_stage = 0, False, 0

    def begin(self) -> None:
        """Evaluate J and its gradient at the start (collective)."""
        (self.value,) = self._objective.values([self.point], likely=True)
        if np.isfinite(self.value):
            self._space.release(self.gradient)
            self.gradient = self._objective.gradient(self.point)
        self._view = self._memory.view(self.point, self.gradient)

    def step(self) -> None:
        """Perform one iteration (collective); it sets `ended` if it is the last one."""
        accepted, self.promised = self._descend()
        if accepted is None:
            self.ended = "J cannot be made smaller in double precision"
            return
        gradient = self._objective.gradient(accepted.point)
        if self._settings.method == "lbfgs":
            self._memory.add(
                self.iteration + 1, accepted.point, self.point, gradient, self.gradient
            )
        else:
            self._space.release(self.point, self.gradient)
        self.point, self.value, self.gradient = accepted.point, accepted.value, gradient
        self._view = self._memory.view(self.point, self.gradient)
        self._length = accepted.length
        self.iteration += 1
        self._in_stage += 1
        if self.rough:
            enough = max(_ROUGHLY * abs(self.value), self._settings.tolerance)
            if self.promised <= enough or self._in_stage >= _AT_MOST:
                self.ended = "roughly"
            return
        self._small = self._small + 1 if self.promised <= self._settings.tolerance else 0
        if self._small >= _IN_A_ROW:
            self.ended = f"J is expected to fall by less than {self._settings.tolerance:g}"

    def next_stage(
        self, scales: Sequence[float], rough: bool, metric: Metric | None = None
    ) -> None:
        """Continue from the current point with another J, in other units (collective)."""
        self._space.change(scales, self.point)
        self._memory.clear()
        self._memory.metric = metric
        self._length, self._in_stage, self._small = 1.0, 0, 0
        self.stage, self.rough, self.ended = self.stage + 1, rough, None
        self.begin()

    def move(self, point: np.ndarray) -> None:
        """Replace the current point before `next_stage` or `begin`."""
        self.point[:] = point
        self._space.project(self.point)
        self._memory.clear()

    def _descend(self) -> tuple[LineSearchStep | None, float]:
        """Search along the direction of lbfgs, and along the gradient if that fails."""
        while True:
            direction, slope = self._memory.direction(self.point, self.gradient, self._view)
            newton, accepted = len(self._memory) > 0, None
            if slope < 0.0:
                first = 1.0 if newton else self._length
                accepted = self._search.search(
                    self.point, self.value, self.gradient, direction, first, not newton
                )
            self._space.release(direction)
            if accepted is not None:
                # Steepest descent has no model of J: use its actual decrease.
                return accepted, -0.5 * slope if newton else self.value - accepted.value
            if not newton and not math.isfinite(slope):
                raise ModelError(
                    f"the derivative of J is not finite after iteration {self.iteration}, although "
                    "J is: the adjoint of the model is wrong, or unstable there; check it with "
                    "uzushio assimilate CASE --check-gradient."
                )
            if not newton or slope == 0.0:
                return None, 0.0
            self._memory.clear()
            self._view = self._memory.view(self.point, self.gradient)

    def projected(self) -> float:
        """Return the maximum absolute element of the gradient, without those at active bounds."""
        return self._view.largest

    def release(self) -> None:
        """Release all vectors at the end of the search."""
        self._memory.clear()
        self._space.release(self.point, self.gradient)

    def stored(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return vectors and plain values for `restore`."""
        vectors = {"point": self.point, "gradient": self.gradient} | self._memory.stored()
        numbers = {
            "iteration": self.iteration,
            "value": self.value,
            "promised": self.promised,
            "small": self._small,
            "length": self._length,
            "pairs": self._memory.numbers,
            "stage": self.stage,
            "rough": self.rough,
            "in_stage": self._in_stage,
            "ended": self.ended,
            "tolerance": self._settings.tolerance,
        }
        return vectors, numbers

    def restore(self, vectors: Mapping[str, np.ndarray], numbers: Mapping[str, Any]) -> None:
        """Continue from the state that `stored` returned, with the same results (collective)."""
        self.point, self.gradient = vectors["point"], vectors["gradient"]
        self._memory.restore(vectors, numbers["pairs"])
        self._view = self._memory.view(self.point, self.gradient)
        self.iteration, self.value = numbers["iteration"], numbers["value"]
        self.promised, self._small = numbers["promised"], numbers["small"]
        self._length = numbers["length"]
        self.stage, self.rough = numbers["stage"], numbers["rough"]
        self._in_stage = numbers["in_stage"]
        # A search that had ended may continue with a smaller tolerance.
        further = self._settings.tolerance < numbers.get("tolerance", np.inf)
        self.ended = None if further and not self.rough else numbers["ended"]
