"""Directions of descent: limited-memory BFGS on the elements that no bound holds.

The two loops of the method are over scalars here. They need the products of steps with changes of
the gradient, which are stored: a new pair adds one product for each older step. Contributions of
elements at active bounds are subtracted. So a direction needs three passes, each over half of the
stored vectors: products of the steps with the gradient; the weighted sum of the changes, and their
products with it; the weighted sum of the steps.

The initial inverse Hessian of the two loops is a number, or a metric of the model. The metric needs
one more pass, and saves most iterations for structures that observations determine badly.

Sources: J. Nocedal, Updating quasi-Newton matrices with limited storage, Math. Comp. 35 (1980),
the two loops; R. H. Byrd, J. Nocedal, R. B. Schnabel, Representations of quasi-Newton matrices and
their use in limited memory methods, Math. Programming 63 (1994), that the triangle of products is
enough; D. P. Bertsekas, Projected Newton methods for optimization problems with simple
constraints, SIAM J. Control Optim. 20 (1982), why elements at active bounds are excluded from the
matrix and the direction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uzushio._base import exact_sums
from uzushio._base.exact_sums import DoubleDouble
from uzushio.assimilation.model import Metric
from uzushio.assimilation.space import ControlSpace, GradientSummary

#: Minimum curvature of a pair relative to the lengths; smaller ones are rounding errors.
_FLAT = 1e-12


@dataclass(frozen=True)
class _Pair:
    """A step and the change of the gradient along it.

    Attributes:
        number: unique number in the search.
        step: difference of two points.
        change: difference of their gradients.
        curves: products of the change with the steps so far, its own step last.
        length: product of the change with itself, in the metric if there is one.
    """

    number: int
    step: np.ndarray
    change: np.ndarray
    curves: list[DoubleDouble]
    length: DoubleDouble


class LbfgsMemory:
    """Approximation of J's inverse Hessian: the last steps and changes of the gradient.

    Attributes:
        metric: initial approximation up to a factor; None: the identity. Changed only while there
            are no pairs.
    """

    def __init__(self, space: ControlSpace, size: int, metric: Metric | None = None) -> None:
        """Create an empty memory.

        Args:
            space: control space of the vectors.
            size: maximum number of pairs.
            metric: see above.
        """
        self._space, self._size, self.metric = space, size, metric
        self._pairs: deque[_Pair] = deque()

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Remove all pairs."""
        while self._pairs:
            self._remove_oldest()

    @property
    def numbers(self) -> list[int]:
        """Numbers of the pairs, oldest first."""
        return [pair.number for pair in self._pairs]

    def add(
        self,
        number: int,
        point: np.ndarray,
        before: np.ndarray,
        gradient: np.ndarray,
        gradient_before: np.ndarray,
    ) -> bool:
        """Store the step to a point if J is convex along it (collective); return whether it is.

        Ownership of `before` and `gradient_before` is transferred. `number` is larger than earlier
        ones.
        """
        older = list(self._pairs)[-(self._size - 1) :] if self._size > 1 else []
        long, curve, steep, *curves = self._space.pair(
            point, before, gradient, gradient_before, [pair.step for pair in older]
        )
        longest = np.sqrt(exact_sums.rounded(long) * exact_sums.rounded(steep))
        if not exact_sums.rounded(curve) > _FLAT * longest:
            self._space.release(before, gradient_before)
            return False
        length = steep if self.metric is None else self._measured(gradient_before)
        self._pairs.append(_Pair(number, before, gradient_before, [*curves, curve], length))
        if len(self._pairs) > self._size:
            self._remove_oldest()
        return True

    def view(self, point: np.ndarray, gradient: np.ndarray) -> GradientSummary:
        """Summarise the gradient at a point, for `direction` there (collective)."""
        pairs = self._pairs
        steps, changes = [pair.step for pair in pairs], [pair.change for pair in pairs]
        return self._space.view(point, gradient, steps, changes)

    def direction(
        self, point: np.ndarray, gradient: np.ndarray, view: GradientSummary
    ) -> tuple[np.ndarray, float]:
        """Return minus the inverse Hessian times the gradient, 0 at active bounds (collective).

        Args:
            point: the point.
            gradient: gradient of J at the point.
            view: summary of the gradient.

        Returns:
            The direction, and its product with the gradient.
        """
        curves = self._free_curves(view)
        used = [i for i, of_step in enumerate(curves) if of_step[i] > 0.0]
        pairs = [self._pairs[i] for i in used]
        slopes = [view.slopes[i] for i in used]
        curves = [[curves[j][i] for i in used[: place + 1]] for place, j in enumerate(used)]
        count = len(used)
        weights = [0.0] * count
        for i in reversed(range(count)):
            known = sum(weights[j] * curves[j][i] for j in range(i + 1, count))
            weights[i] = -(slopes[i] + known) / curves[i][i]
        changes, steps = [pair.change for pair in pairs], [pair.step for pair in pairs]
        scale = self._scale(curves[-1][-1], used[-1], view) if used else 1.0
        space, direction = self._space, self._space.new()
        # Without pairs, J may be far from quadratic, and the metric would amplify rough structures.
        metric = self.metric if used else None
        if metric is None:
            products = space.combine(
                point, gradient, gradient, -scale, weights, changes, changes, direction
            )
        else:
            space.combine(point, gradient, gradient, -scale, weights, changes, [], direction)
            space.measure(metric, direction)
            products = space.combine(point, gradient, direction, 1.0, [], [], changes, direction)
        for j in range(count):
            known = sum(weights[i] * curves[j][i] for i in range(j))
            weights[j] -= (products[j] + known) / curves[j][j]
        (slope,) = space.combine(
            point, gradient, direction, 1.0, weights, steps, [gradient], direction
        )
        return direction, slope

    def _scale(self, curve: float, last: int, view: GradientSummary) -> float:
        """Return the factor that gives the metric the curvature of the last pair in use."""
        length = self._pairs[last].length
        if self.metric is not None:  # no pass needed; excluded elements change the factor little
            return curve / exact_sums.rounded(length)
        return curve / _less(length, view.held_lengths[last])

    def _measured(self, change: np.ndarray) -> DoubleDouble:
        """Return the product of a change with itself in the metric (collective)."""
        assert self.metric is not None
        measured = self._space.new()
        measured[:] = change
        self._space.measure(self.metric, measured)
        (length,) = self._space.doubled_dots((change, measured))
        self._space.release(measured)
        return length

    def _free_curves(self, view: GradientSummary) -> list[list[float]]:
        """Return the products of each change with the steps up to its own, on free elements."""
        return [
            [
                _less(curve, held)
                # Products with removed steps are still at the front.
                for curve, held in zip(pair.curves[-len(of_held) :], of_held, strict=True)
            ]
            for pair, of_held in zip(self._pairs, view.held_curves, strict=True)
        ]

    def _remove_oldest(self) -> None:
        """Remove the oldest pair."""
        oldest = self._pairs.popleft()
        self._space.release(oldest.step, oldest.change)

    def stored(self) -> dict[str, np.ndarray]:
        """Return the vectors of the pairs by name, for a checkpoint; a name is never reused."""
        named = {f"step{pair.number}": pair.step for pair in self._pairs}
        return named | {f"change{pair.number}": pair.change for pair in self._pairs}

    def restore(self, stored: Mapping[str, np.ndarray], numbers: Sequence[int]) -> None:
        """Restore pairs that `stored` returned, the newest that fit (collective)."""
        self.clear()
        steps: list[np.ndarray] = []
        for number in numbers[-self._size :]:
            step, change = stored[f"step{number}"], stored[f"change{number}"]
            steps.append(step)
            *curves, steep = self._space.doubled_dots(
                *((step, change) for step in steps), (change, change)
            )
            length = steep if self.metric is None else self._measured(change)
            self._pairs.append(_Pair(number, step, change, curves, length))


def _less(whole: DoubleDouble, part: DoubleDouble) -> float:
    """Return a sum without a part of it."""
    return exact_sums.rounded(exact_sums.add(whole, (-part[0], -part[1])))
