"""Means over successive batches of samples, for the uncertainty of a time average.

Successive samples of a flow are correlated, so the error of their mean does not follow from their
variance. Means over batches that are much longer than the correlation time are nearly independent;
the error follows from the variance of these means.

Sources: G. W. Brown in C. Alexopoulos and A. F. Seila, Handbook of Simulation, ch. 7 (Wiley, 1998);
M. H. Quenouille, Biometrika 43, 353 (1956), for the jackknife over batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from uzushio.errors import CheckpointError

#: Maximum number of full batches; then pairs of them are merged.
MAX_BATCHES = 64
#: Number of groups of batches for an interval, if there are as many batches.
GROUPS = 16
#: Minimum number of batches for an interval.
MIN_BATCHES = 8
#: Minimum length of a batch in correlation times. At this length, the interval for an exponential
#: correlation is 11 % too narrow; shorter batches are too strongly correlated.
MIN_CORRELATION_TIMES = 5.0


class BatchMeans:
    """Weighted means of vectors over batches of as many samples each, in bounded memory.

    Each batch has one sample at first. When `MAX_BATCHES` are full, pairs are merged and the length
    doubles.

    Attributes:
        samples: number of vectors added.
        length: samples in a batch.
        full: number of full batches.
    """

    def __init__(self) -> None:
        self.samples, self.length, self.full = 0, 1, 0
        #: Rows: mean of all samples, sum of their squared distances from it, mean of the batch that
        #: is not full, then the means of the full batches.
        self._rows = np.empty((3 + MAX_BATCHES, 0))
        #: Sums of weights, of the samples of each row; that of the sum of squares is not used.
        self._weights = np.zeros(3 + MAX_BATCHES)

    def add(self, values: np.ndarray, weight: float = 1.0) -> None:
        """Add a vector, shape (size,), of the same size as before."""
        if self.samples == 0:
            self._rows = np.zeros((3 + MAX_BATCHES, values.size))
        mean, squares, batch = self._rows[:3]
        sums = self._weights
        self.samples += 1
        sums[[0, 2]] += weight
        distance = values - mean
        mean += distance * _share(weight, sums[0])
        squares += weight * distance * (values - mean)
        batch += (values - batch) * _share(weight, sums[2])
        if self.samples - self.full * self.length < self.length:
            return
        self._rows[3 + self.full], sums[3 + self.full] = batch, sums[2]
        self.full += 1
        batch[:], sums[2] = 0.0, 0.0
        if self.full == MAX_BATCHES:
            self._merge_pairs()

    def _merge_pairs(self) -> None:
        half, (means, sums) = MAX_BATCHES // 2, (self._rows[3:], self._weights[3:])
        means[:half], sums[:half] = _merged(means.reshape(half, 2, -1), sums.reshape(half, 2))
        self.full //= 2
        self.length *= 2

    def groups(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return means over groups of full batches, (groups, size), weights, and samples in each.

        Groups have the maximum length with which there are at least `GROUPS`. The last batches are
        left out if they do not fill a group. With fewer than `MIN_BATCHES` full batches there is no
        group.
        """
        if self.full < MIN_BATCHES:
            return np.empty((0, self._rows.shape[1])), np.empty(0), 0
        together = max(1, self.full // GROUPS)
        count = self.full // together
        used = slice(3, 3 + count * together)
        means = self._rows[used].reshape(count, together, -1)
        return *_merged(means, self._weights[used].reshape(count, together)), together * self.length

    def correlation_times(self) -> np.ndarray:
        """Return the integral correlation time of each element in samples, shape (size,).

        It is half of the variance of a group's mean times the group's length over the variance of
        a sample. It is exact for long groups, at most half of a group, and NaN if unknown.
        """
        means, _, length = self.groups()
        if not length:
            return np.full(self._rows.shape[1], np.nan)
        variance = self._rows[1] / self._weights[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            times = 0.5 * length * means.var(axis=0, ddof=1) / variance
        noise = 1e-13 * np.abs(self._rows[0])  # of constant elements: rounding errors
        return np.asarray(np.where(np.sqrt(variance) > noise, times, np.nan))

    def stored(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return an array (rows, size) and JSON values for `restore`."""
        rows = 3 + self.full
        notes = {"samples": self.samples, "length": self.length, "full": self.full}
        return self._rows[:rows], notes | {"weights": self._weights[:rows].tolist()}

    def restore(self, rows: np.ndarray, notes: Mapping[str, Any]) -> None:
        """Continue from the values that `stored` returned; raise `CheckpointError` if invalid."""
        values = [notes.get(name) for name in ("samples", "length", "full")]
        if not all(isinstance(value, int) and value >= 0 for value in values):
            raise CheckpointError("the checkpoint's batch means lack their number or length.")
        samples, length, full = (int(value or 0) for value in values)
        fits = rows.ndim == 2 and len(rows) == 3 + full and full < MAX_BATCHES and length > 0
        if not fits or not 0 <= samples - full * length < length:
            raise CheckpointError(
                f"the checkpoint's batch means have the shape {rows.shape}, its manifest lists "
                f"{full} batches of {length} of {samples} samples."
            )
        self.samples, self.length, self.full = samples, length, full
        equal = [samples, 0, samples - full * length, *[length] * full]  # of an earlier version
        weights = notes.get("weights", equal)
        if len(weights) != len(rows):
            raise CheckpointError(
                f"the checkpoint's batch means have {len(rows)} rows and {len(weights)} weights."
            )
        self._rows = np.zeros((3 + MAX_BATCHES, rows.shape[1]))
        self._weights = np.zeros(3 + MAX_BATCHES)
        self._rows[: len(rows)], self._weights[: len(rows)] = rows, weights


def _share(weight: float, total: float) -> float:
    """Return a weight over a sum that includes it; 1 at a sum of 0, of a first sample."""
    return weight / total if total > 0.0 else 1.0


def _merged(means: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means over axis 1 of (groups, batches, size), and the sums of their weights."""
    sums = weights.sum(axis=1)
    shares = weights / np.where(sums > 0.0, sums, 1.0)[:, None]
    return np.einsum("gbs,gb->gs", means, shares), sums


def leave_one_out(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return for each group the mean of all others, (groups, size): the samples of a jackknife."""
    sums = means * weights[:, None]
    return np.asarray((sums.sum(axis=0) - sums) / (weights.sum() - weights)[:, None])


def standard_error(replicates: np.ndarray) -> np.ndarray:
    """Return the jackknife standard error of values derived from `leave_one_out`, groups on axis 0.

    For functions that are linear in the means, it is their standard error by batch means.
    """
    count = len(replicates)
    return np.asarray(np.sqrt((count - 1) ** 2 / count) * replicates.std(axis=0, ddof=1))


def quantile(degrees: int) -> float:
    """Return Student's t for a two-sided interval of 95 %; error below 0.1 % from 5 degrees on.

    Source: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z, n = 1.959963984540054, float(degrees)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / n**power for power, term in enumerate(terms)))
