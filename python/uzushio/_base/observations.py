"""Observations of a model: values at some of its steps, on this rank's own part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uzushio._base.array_values import unmasked


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations on this rank's part of the grid.

    Attributes:
        steps: indices of the observed steps, increasing.
        values: an array of the part for each step, stacked; ignored where the weight is 0.
        weight: 1/sigma² of a value: a number, an array of the part, or one array for each step;
            0 for missing values.
        huber: larger residuals than so many sigma count linearly in the misfit (Huber's norm);
            infinite: all are squared.

    Raises:
        ValueError: values or weights are masked; a missing value has the weight 0.
    """

    steps: Sequence[int]
    values: np.ndarray
    weight: float | np.ndarray
    huber: float = math.inf

    def __post_init__(self) -> None:
        unmasked(self.values, "the array of observations")
        unmasked(self.weight, "the weight of observations")

    def weight_of(self, index: int) -> float | np.ndarray:
        """Return the weight of the values of `steps[index]`."""
        if isinstance(self.weight, np.ndarray) and self.weight.ndim == self.values.ndim:
            return np.asarray(self.weight[index])
        return self.weight

    @property
    def counts(self) -> np.ndarray:
        """Numbers of observed values at each step on this rank's part; shape (len(steps),)."""
        weights = np.broadcast_to(self.weight, self.values.shape)
        axes = tuple(range(1, self.values.ndim))
        return np.asarray(np.count_nonzero(weights, axis=axes))

    def index_of(self, step: int) -> int | None:
        """Return the index of a step in `steps`; None if it was not observed."""
        return list(self.steps).index(step) if step in self.steps else None

    def standardised(self, index: int, state: np.ndarray) -> np.ndarray:
        """Return observation minus state at `steps[index]` in sigma; 0 where none is observed."""
        weight = np.asarray(self.weight_of(index))
        difference: np.ndarray = self.values[index] - state
        difference *= np.sqrt(weight)
        if weight.ndim:
            difference[weight <= 0.0] = 0.0
        return difference

    def residual(self, index: int, state: np.ndarray) -> np.ndarray:
        """Return state minus observation at `steps[index]`, limited to ± huber sigma.

        Times the weight it is the derivative of the misfit; half the weight times it times (twice
        the difference minus it) is the misfit.
        """
        difference: np.ndarray = state - self.values[index]
        if math.isinf(self.huber):
            return difference
        with np.errstate(divide="ignore"):
            limit = self.huber / np.sqrt(self.weight_of(index))
        return np.asarray(np.clip(difference, -limit, limit))

    def add_weighted(self, index: int, values: np.ndarray, out: np.ndarray) -> None:
        """Add weighted values of `steps[index]` to `out`; where the weight is 0, nothing."""
        weight = self.weight_of(index)
        if np.ndim(weight):
            out += np.where(np.asarray(weight) > 0, weight * values, 0.0)
        else:
            out += weight * values
