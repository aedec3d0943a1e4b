"""Control vectors of the optimiser: this rank's part of the state, and all parameters.

A vector is one float64 array: this rank's own part of the state, row by row, followed by the
parameters, which all ranks hold and which count once in sums. Each control has a unit (`scale`) in
the optimiser, in which the curvature of J is about 1.

Operations on vectors are limited by memory bandwidth: passes over several vectors at once are
compiled (`src/vectors`), and the memory of released vectors is reused (`new`, `release`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from uzushio import _core
from uzushio._base import exact_sums
from uzushio._base.exact_sums import DoubleDouble
from uzushio._base.parallel.section_monitor import SectionMonitor
from uzushio.assimilation.model import Metric

if TYPE_CHECKING:
    from mpi4py import MPI


Method = TypeVar("Method", bound=Callable[..., Any])

#: Alignment of vectors in bytes: a cache line, and the size of the largest register.
_LINE = 64


def _timed(method: Method) -> Method:
    """Count the seconds of a pass, with its waits for other ranks."""

    @wraps(method)
    def timed(self: ControlSpace, *args: Any, **options: Any) -> Any:
        with self._sections.section("vectors"):
            return method(self, *args, **options)

    return cast(Method, timed)


@dataclass(frozen=True)
class GradientSummary:
    """Summary of a gradient for limited-memory BFGS, without elements at an active bound.

    Attributes:
        largest: absolute slope of an element; NaN if one is.
        slopes: product of the gradient with each step.
        held_curves: contribution of the excluded elements to the product of step i with change j:
            element i of list j, i = 0 .. j.
        held_lengths: the same for change j with itself.
    """

    largest: float
    slopes: list[float]
    held_curves: list[list[DoubleDouble]]
    held_lengths: list[DoubleDouble]


class ControlSpace:
    """Control vectors over the ranks of one group, and their dot products.

    Attributes:
        shape: shape of this rank's part of the state.
        size: length of a vector on this rank.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        shape: tuple[int, ...],
        scales: Sequence[float],
        bounds: Sequence[tuple[float | None, float | None]],
        threads: int = 1,
        sections: SectionMonitor | None = None,
    ) -> None:
        """Define the layout of vectors.

        Args:
            comm: communicator of the group.
            shape: shape of this rank's part of the state.
            scales: units of the state and of each parameter.
            bounds: bounds of the state and of each parameter; None for unlimited.
            threads: threads of this rank for passes over vectors.
            sections: receives the passes as the section "vectors".
        """
        self._sections = SectionMonitor() if sections is None else sections
        self._comm, self.shape = comm, shape
        self._points = math.prod(shape)
        self._bounds, self._threads = list(bounds), threads
        self.size = self._points + len(scales) - 1
        self._spare: list[np.ndarray] = []
        self._take(scales)

    def new(self) -> np.ndarray:
        """Return an uninitialised vector: a released one, or newly allocated."""
        if self._spare:
            return self._spare.pop()
        memory = np.empty(8 * self.size + _LINE, dtype=np.uint8)
        start = -memory.ctypes.data % _LINE
        return memory[start : start + 8 * self.size].view(np.float64)

    def release(self, *vectors: np.ndarray) -> None:
        """Release vectors for `new`."""
        self._spare += vectors

    def change(self, scales: Sequence[float], vector: np.ndarray) -> None:
        """Change the units, and convert a vector."""
        before = self._scales
        self._take(scales)
        factors = before / self._scales
        vector[: self._points] *= factors[0]
        vector[self._points :] *= factors[1:]

    def _take(self, scales: Sequence[float]) -> None:
        self._scales = np.asarray(scales, dtype=np.float64)
        self._low = [-np.inf if low is None else low for low, _ in self._bounds] / self._scales
        self._high = [np.inf if high is None else high for _, high in self._bounds] / self._scales
        self._layout = _core.vectors.VectorLayout(
            self._points,
            self._low.tolist(),
            self._high.tolist(),
            self._comm.rank == 0,
            self._threads,
        )

    @property
    def scales(self) -> np.ndarray:
        """Return the units of the state and of each parameter."""
        return self._scales

    def vector(self, state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the vector of a state and parameters, in the optimiser's units."""
        made = self.new()
        np.divide(state, self._scales[0], out=self.part(made))
        made[self._points :] = parameters / self._scales[1:]
        return made

    def gradient(self, state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the vector of derivatives with respect to state and parameters."""
        made = self.new()
        np.multiply(state, self._scales[0], out=self.part(made))
        made[self._points :] = parameters * self._scales[1:]
        return made

    def part(self, vector: np.ndarray) -> np.ndarray:
        """Return a view of the state of a vector, in the optimiser's units."""
        return vector[: self._points].reshape(self.shape)

    def state(self, vector: np.ndarray) -> np.ndarray:
        """Return a new array with the state of a vector, in the model's units."""
        return np.asarray(vector[: self._points] * self._scales[0]).reshape(self.shape)

    def parameters(self, vector: np.ndarray) -> np.ndarray:
        """Return a new array with the parameters of a vector, in the model's units."""
        return np.asarray(vector[self._points :] * self._scales[1:])

    def project(self, vector: np.ndarray) -> np.ndarray:
        """Project a vector on the bounds, in place; return it."""
        for part, low, high in self._parts(vector):
            np.clip(part, low, high, out=part)
        return vector

    def free(self, vector: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
        """Return a mask of free elements: those not held at a bound by the gradient.

        Returns:
            1.0 where an element is free, else 0.0; None if all of this rank's elements are free.
        """
        if np.isinf(self._low).all() and np.isinf(self._high).all():
            return None
        free = np.ones(self.size)
        for (part, low, high), (slope, _, _), (mask, _, _) in zip(
            self._parts(vector), self._parts(gradient), self._parts(free), strict=True
        ):
            mask[((part <= low) & (slope > 0.0)) | ((part >= high) & (slope < 0.0))] = 0.0
        return None if free.all() else free

    def at_bounds(self, vector: np.ndarray) -> list[int]:
        """Return the indices of the parameters that are at a bound."""
        values = vector[self._points :]
        held = (values <= self._low[1:]) | (values >= self._high[1:])
        return [int(index) for index in np.flatnonzero(held)]

    def _parts(
        self, vector: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray | float, np.ndarray | float]]:
        """Return views of state and parameters of a vector, each with its bounds."""
        n = self._points
        return [
            (vector[:n], float(self._low[0]), float(self._high[0])),
            (vector[n:], self._low[1:], self._high[1:]),
        ]

    def doubled_dots(self, *pairs: tuple[np.ndarray, np.ndarray]) -> list[DoubleDouble]:
        """Return unrounded dot products of pairs of vectors (collective)."""
        n = self._points
        local = [exact_sums.dot(a[:n], b[:n]) for a, b in pairs]
        if self._comm.rank == 0:
            local = [
                exact_sums.add(own, exact_sums.dot(a[n:], b[n:]))
                for own, (a, b) in zip(local, pairs, strict=True)
            ]
        return exact_sums.over_ranks(self._comm, local)

    def dot(self, a: np.ndarray, b: np.ndarray) -> float:
        """Return a dot product, the same on any number of ranks (collective)."""
        return exact_sums.rounded(self.doubled_dots((a, b))[0])

    # ---- passes over many vectors -------------------------------------------------------------

    @_timed
    def moved(
        self,
        point: np.ndarray,
        direction: np.ndarray,
        gradient: np.ndarray,
        lengths: Sequence[float],
    ) -> tuple[list[np.ndarray], list[float]]:
        """Return steps of several lengths along a direction, projected on the bounds (collective).

        Returns:
            The end points, and the product of the gradient with each step.
        """
        points = [self.new() for _ in lengths]
        slopes = [
            self._layout.bounded_step(point, length, direction, gradient, out)
            for length, out in zip(lengths, points, strict=True)
        ]
        return points, [
            exact_sums.rounded(slope) for slope in exact_sums.over_ranks(self._comm, slopes)
        ]

    @_timed
    def pair(
        self,
        point: np.ndarray,
        before: np.ndarray,
        gradient: np.ndarray,
        gradient_before: np.ndarray,
        steps: Sequence[np.ndarray],
    ) -> list[DoubleDouble]:
        """Turn `before` into a step, and `gradient_before` into a change (collective).

        Returns:
            The products step · step, step · change, change · change, and change · each of `steps`.
        """
        local = self._layout.correction_pair(point, before, gradient, gradient_before, list(steps))
        return exact_sums.over_ranks(self._comm, local)

    @_timed
    def view(
        self,
        point: np.ndarray,
        gradient: np.ndarray,
        steps: Sequence[np.ndarray],
        changes: Sequence[np.ndarray],
    ) -> GradientSummary:
        """Summarise a gradient with the stored steps and changes (collective)."""
        from mpi4py import MPI

        largest, held, slopes, curves, lengths = self._layout.summarise_gradient(
            point, gradient, list(steps), list(changes)
        )
        maxima = np.array([largest, held, largest != largest])
        self._comm.Allreduce(MPI.IN_PLACE, maxima, MPI.MAX)
        count = len(slopes)
        if maxima[1] > 0.0:
            slopes = exact_sums.over_ranks(self._comm, [*slopes, *curves, *lengths])
            curves, lengths = slopes[count:-count], slopes[len(slopes) - count :]
        else:
            slopes = exact_sums.over_ranks(self._comm, slopes)
        each = iter(curves)
        return GradientSummary(
            largest=float("nan") if maxima[2] else float(maxima[0]),
            slopes=[exact_sums.rounded(slope) for slope in slopes[:count]],
            held_curves=[[next(each) for _ in range(j + 1)] for j in range(count)],
            held_lengths=lengths,
        )

    @_timed
    def combine(
        self,
        point: np.ndarray,
        gradient: np.ndarray,
        base: np.ndarray,
        scale: float,
        weights: Sequence[float],
        vectors: Sequence[np.ndarray],
        against: Sequence[np.ndarray],
        out: np.ndarray,
    ) -> list[float]:
        """Set `out` to scale (base + weighted vectors), 0 at active bounds (collective).

        `out` may be `base`. The point and the gradient there tell which bounds are active.

        Returns:
            The product of each of `against` with `out`.
        """
        local = self._layout.combine(
            point, gradient, base, scale, list(weights), list(vectors), list(against), out
        )
        return [exact_sums.rounded(partial) for partial in exact_sums.over_ranks(self._comm, local)]

    @_timed
    def measure(self, metric: Metric, vector: np.ndarray) -> None:
        """Apply a metric to the state of a vector, in place (collective)."""
        metric(self.part(vector))
