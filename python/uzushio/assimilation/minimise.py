"""Make J small, an iteration at a time: the caller may look, save or stop between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from uzushio.assimilation.lbfgs import Memory
from uzushio.assimilation.search import Found, LineSearch
from uzushio.assimilation.space import Space

#: Iterations in a row that promise less than the tolerance before it counts as the end.
_IN_A_ROW = 3


class Objective(Protocol):
    """What is made small. All methods are collective."""

    def values(self, points: Sequence[np.ndarray]) -> list[float]:
        """J at each point; infinite where it is not finite."""

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """The gradient of J, cheapest at the point of the last `values` that had the least J."""


@dataclass(frozen=True)
class Settings:
    """How to search. `candidates` steps are tried at once; `tries` values cost a search at most."""

    method: Literal["lbfgs", "gradient"] = "lbfgs"
    memory: int = 8
    candidates: int = 1
    tries: int = 30
    tolerance: float = 1e-3


class Minimiser:
    """The state of a search.

    Attributes:
        iteration: number of iterations done.
        point: the best so far.
        value: J there.
        gradient: there.
        promised: decrease of J that the last direction promised, by its model of J.
        ended: why no further iteration is worth it, None while one is.
    """

    def __init__(
        self, space: Space, objective: Objective, start: np.ndarray, settings: Settings
    ) -> None:
        """Remember where to begin; `begin` or `restore` comes next."""
        self._space, self._objective, self._settings = space, objective, settings
        self._memory = Memory(space, settings.memory)
        self._search = LineSearch(space, objective.values, settings.candidates, settings.tries)
        self.point = space.project(start.copy())
        self.value, self.promised = np.inf, np.inf
        self.gradient = np.zeros_like(self.point)
        self.iteration, self._small, self._length = 0, 0, 1.0
        self.ended: str | None = None

    def begin(self) -> None:
        """Evaluate J and its gradient at the start (collective)."""
        (self.value,) = self._objective.values([self.point])
        if np.isfinite(self.value):
            self.gradient = self._objective.gradient(self.point)

    def step(self) -> None:
        """Do one iteration (collective); `ended` may say that it was the last one."""
        free = self._space.free(self.point, self.gradient)
        found, self.promised = self._descend(free)
        if found is None:
            self.ended = "J cannot be made smaller in double precision"
            return
        gradient = self._objective.gradient(found.point)
        if self._settings.method == "lbfgs":
            self._memory.add(found.point - self.point, gradient - self.gradient)
        self.point, self.value, self.gradient = found.point, found.value, gradient
        self._length = found.length
        self.iteration += 1
        self._small = self._small + 1 if self.promised <= self._settings.tolerance else 0
        if self._small >= _IN_A_ROW:
            self.ended = f"J is expected to fall by less than {self._settings.tolerance:g}"

    def _descend(self, free: np.ndarray | None) -> tuple[Found | None, float]:
        """Search along the best direction known, and along the gradient if that fails."""
        while True:
            direction = self._memory.direction(self.gradient, free)
            slope = self._space.dot(self.gradient, direction)
            if slope == 0.0:
                return None, 0.0
            newton = len(self._memory) > 0
            if slope < 0.0:
                first = 1.0 if newton or self.iteration == 0 else self._length
                found = self._search.search(
                    self.point, self.value, self.gradient, direction, first, not newton
                )
                if found is not None:
                    # Steepest descent has no model of J: what it won is all that can be said.
                    return found, -0.5 * slope if newton else self.value - found.value
            if not newton:
                return None, 0.0
            self._memory.clear()

    def projected(self) -> float:
        """The largest element of the gradient that the bounds leave (collective)."""
        free = self._space.free(self.point, self.gradient)
        return self._space.largest(self.gradient if free is None else self.gradient * free)

    def stored(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Vectors and plain values that `restore` needs."""
        vectors = {"point": self.point, "gradient": self.gradient} | self._memory.stored()
        numbers = {
            "iteration": self.iteration,
            "value": self.value,
            "promised": self.promised,
            "small": self._small,
            "length": self._length,
            "pairs": len(self._memory),
        }
        return vectors, numbers

    def restore(self, vectors: Mapping[str, np.ndarray], numbers: Mapping[str, Any]) -> None:
        """Go on from what `stored` gave, as if there had been no interruption."""
        self.point, self.gradient = vectors["point"], vectors["gradient"]
        self._memory.restore(vectors, numbers["pairs"])
        self.iteration, self.value = numbers["iteration"], numbers["value"]
        self.promised, self._small = numbers["promised"], numbers["small"]
        self._length = numbers["length"]
