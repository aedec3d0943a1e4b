"""The vectors that the optimiser works on: this rank's part of the state, and all parameters.

A vector is one float64 array: this rank's own part of the state, row by row, and behind it the
parameters, which every rank holds and which count once. The optimiser sees controls in units of
their own (`scale`), in which the curvature of J is about 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.assimilation import sums

if TYPE_CHECKING:
    from mpi4py import MPI


class Space:
    """Vectors that the ranks of one group share, and their dot products.

    Attributes:
        shape: of this rank's part of the state.
        size: of a vector on this rank.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        shape: tuple[int, int],
        scales: Sequence[float],
        bounds: Sequence[tuple[float | None, float | None]],
    ) -> None:
        """Lay out vectors.

        Args:
            comm: the ranks of the group.
            shape: rows and columns of this rank's part of the state.
            scales: units of the state and of each parameter.
            bounds: of the state and of each parameter; None where there is none.
        """
        self._comm, self.shape = comm, shape
        self._points = shape[0] * shape[1]
        self._bounds = list(bounds)
        self.size = self._points + len(scales) - 1
        self._take(scales)

    def change(self, scales: Sequence[float]) -> np.ndarray:
        """Take other units; returns what vectors are to be multiplied by."""
        before = self._scales
        self._take(scales)
        return self._spread(before / self._scales)

    def _take(self, scales: Sequence[float]) -> None:
        self._scales = np.asarray(scales, dtype=np.float64)
        self._low = [-np.inf if low is None else low for low, _ in self._bounds] / self._scales
        self._high = [np.inf if high is None else high for _, high in self._bounds] / self._scales

    @property
    def scales(self) -> np.ndarray:
        """Units of the state and of each parameter."""
        return self._scales

    def vector(self, state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The vector of a state and parameters, in the optimiser's units."""
        both = np.concatenate([state.reshape(-1), parameters])
        both /= self._spread(self._scales)
        return both

    def gradient(self, state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The vector of derivatives with respect to state and parameters."""
        both = np.concatenate([state.reshape(-1), parameters])
        both *= self._spread(self._scales)
        return both

    def state(self, vector: np.ndarray) -> np.ndarray:
        """A new array with the state of a vector, in the model's units."""
        return np.asarray(vector[: self._points] * self._scales[0]).reshape(self.shape)

    def parameters(self, vector: np.ndarray) -> np.ndarray:
        """A new array with the parameters of a vector, in the model's units."""
        return np.asarray(vector[self._points :] * self._scales[1:])

    def project(self, vector: np.ndarray) -> np.ndarray:
        """Move a vector to the nearest one within the bounds, in place; returns it."""
        for part, low, high in self._parts(vector):
            np.clip(part, low, high, out=part)
        return vector

    def free(self, vector: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
        """Which elements may move: not those at a bound that the gradient holds them at.

        Returns:
            1.0 where an element is free, else 0.0; None if all of this rank's are.
        """
        if np.isinf(self._low).all() and np.isinf(self._high).all():
            return None
        free = np.ones(self.size)
        for (part, low, high), (slope, _, _), (mask, _, _) in zip(
            self._parts(vector), self._parts(gradient), self._parts(free), strict=True
        ):
            mask[((part <= low) & (slope > 0.0)) | ((part >= high) & (slope < 0.0))] = 0.0
        return None if free.all() else free

    def _parts(
        self, vector: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray | float, np.ndarray | float]]:
        """State and parameters of a vector as views, each with its bounds."""
        n = self._points
        return [
            (vector[:n], float(self._low[0]), float(self._high[0])),
            (vector[n:], self._low[1:], self._high[1:]),
        ]

    def dots(self, *pairs: tuple[np.ndarray, np.ndarray]) -> list[float]:
        """Dot products of pairs of vectors, the same on any number of ranks (collective)."""
        n = self._points
        local = [sums.dot(a[:n], b[:n]) for a, b in pairs]
        if self._comm.rank == 0:
            local = [
                sums.add(own, sums.dot(a[n:], b[n:]))
                for own, (a, b) in zip(local, pairs, strict=True)
            ]
        return [sums.rounded(one) for one in sums.over_ranks(self._comm, local)]

    def dot(self, a: np.ndarray, b: np.ndarray) -> float:
        """One dot product (collective)."""
        return self.dots((a, b))[0]

    def largest(self, vector: np.ndarray) -> float:
        """The largest absolute value of an element (collective); NaN if there is one."""
        from mpi4py import MPI

        mine = np.abs(vector)
        peak = float(mine.max()) if mine.size else 0.0
        found: float = self._comm.allreduce(peak, MPI.MAX)
        return found

    def _spread(self, each: np.ndarray) -> np.ndarray:
        """One number for the state and for each parameter, repeated for every element."""
        return np.concatenate([np.full(self._points, each[0]), each[1:]])
