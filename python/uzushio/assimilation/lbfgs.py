"""Directions of descent: limited-memory BFGS on the elements that bounds leave free.

Sources: J. Nocedal, Updating quasi-Newton matrices with limited storage, Math. Comp. 35 (1980),
the two loops; D. P. Bertsekas, Projected Newton methods for optimization problems with simple
constraints, SIAM J. Control Optim. 20 (1982), why the held elements are left out of the matrix and
take no part in the direction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from uzushio.assimilation.space import Space

#: Pairs whose curvature is less than this, relative to the lengths, tell nothing but rounding.
_FLAT = 1e-12


class Memory:
    """The last steps and what they did to the gradient: an approximation of J's inverse Hessian."""

    def __init__(self, space: Space, size: int) -> None:
        """Begin with nothing.

        Args:
            space: of the vectors.
            size: pairs that are kept.
        """
        self._space, self._size = space, size
        self._steps: deque[np.ndarray] = deque(maxlen=size)
        self._changes: deque[np.ndarray] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._steps)

    def clear(self) -> None:
        """Forget all."""
        self._steps.clear()
        self._changes.clear()

    def add(self, step: np.ndarray, change: np.ndarray) -> bool:
        """Keep a pair if J bends up along the step (collective); returns whether it does."""
        curve, long, steep = self._space.dots((step, change), (step, step), (change, change))
        if not curve > _FLAT * np.sqrt(long * steep):
            return False
        self._steps.append(step)
        self._changes.append(change)
        return True

    def direction(self, gradient: np.ndarray, free: np.ndarray | None) -> np.ndarray:
        """Minus the inverse Hessian times the gradient, 0 where not free (collective)."""
        q = -gradient if free is None else -gradient * free
        changes = [change if free is None else change * free for change in self._changes]
        curves = self._space.dots(*zip(self._steps, changes, strict=True)) if changes else []
        used = [
            (step, change, curve)
            for step, change, curve in zip(self._steps, changes, curves, strict=True)
            if curve > 0.0
        ]
        weights = []
        for step, change, curve in reversed(used):
            weight = self._space.dot(step, q) / curve
            weights.append(weight)
            q -= weight * change
        if used:
            _, change, curve = used[-1]
            q *= curve / self._space.dot(change, change)
        for (step, change, curve), weight in zip(used, reversed(weights), strict=True):
            back = self._space.dot(change, q) / curve
            q += (weight - back) * (step if free is None else step * free)
        return q

    def stored(self) -> dict[str, np.ndarray]:
        """The pairs by name, for a checkpoint; oldest first."""
        named = {f"step{i}": step for i, step in enumerate(self._steps)}
        return named | {f"change{i}": change for i, change in enumerate(self._changes)}

    def restore(self, stored: Mapping[str, np.ndarray], pairs: int) -> None:
        """Take what `stored` gave; the newest that fit."""
        self.clear()
        for i in range(pairs):
            self._steps.append(stored[f"step{i}"])
            self._changes.append(stored[f"change{i}"])
