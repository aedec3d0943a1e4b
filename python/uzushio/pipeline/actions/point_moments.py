"""Moments over time of fields at points, and their redistribution over ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio._base.parallel.sync import collective
from uzushio._base.store.distribution import Distribution, Transfer, receive_all
from uzushio.domain.box import Box

if TYPE_CHECKING:
    from mpi4py import MPI

#: Names of two fields.
Pair = tuple[str, str]


class PointMoments:
    """Moments of the samples of fields on a box of points.

    Means and products are updated by differences from the mean (B. P. Welford, Technometrics 4
    (1962), 419; with weights D. H. D. West, Commun. ACM 22 (1979), 532), so values far from 0 lose
    no digits.
    """

    def __init__(self, box: Box, fields: Sequence[str], pairs: Sequence[Pair]) -> None:
        self.box, self._pairs = box, list(pairs)
        self.mean = {field: np.zeros(box.count) for field in fields}
        self.low = {field: np.full(box.count, np.inf) for field in fields}
        self.high = {field: np.full(box.count, -np.inf) for field in fields}
        self.products = {pair: np.zeros(box.count) for pair in pairs}

    def add(self, box: Box, values: Mapping[str, np.ndarray], weight: float, total: float) -> None:
        """Add a sample at the points of a box inside of this one.

        Args:
            box: the points.
            values: values of the fields there.
            weight: weight of the sample.
            total: sum of all weights, this one included; above 0.
        """
        at = box.slices(self.box.start)
        means = {name: mean[at] for name, mean in self.mean.items()}
        # Values that are not finite, or too large for a square, make moments that are not finite.
        with np.errstate(all="ignore"):
            before = {name: values[name] - mean for name, mean in means.items()}
            for name, mean in means.items():
                mean += before[name] * (weight / total)
                low, high = self.low[name][at], self.high[name][at]
                np.minimum(low, values[name], out=low)
                np.maximum(high, values[name], out=high)
            for first, other in self._pairs:
                after = values[other] - means[other]
                self.products[first, other][at] += weight * before[first] * after

    def results(self, total: float) -> dict[str, np.ndarray]:
        """Return the moments by name; variances and covariances are means over time.

        Args:
            total: sum of the weights of all samples.
        """
        results: dict[str, np.ndarray] = {}
        for name in self.mean:
            results[f"mean_{name}"] = self.mean[name]
            results[f"variance_{name}"] = self.products[name, name] / total
            results[f"min_{name}"], results[f"max_{name}"] = self.low[name], self.high[name]
        for first, other in self._pairs:
            if first != other:
                results[f"covariance_{first}_{other}"] = self.products[first, other] / total
        return results

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums, which determine the moments together with the sum of the weights.

        Their names have the numbers of fields and pairs, because names of fields may be any text.
        """
        kinds = {
            "mean": self.mean.values(),
            "min": self.low.values(),
            "max": self.high.values(),
            "product": self.products.values(),
        }
        return {
            f"{kind}_{number}": values
            for kind, arrays in kinds.items()
            for number, values in enumerate(arrays)
        }


def move(
    comm: MPI.Comm,
    held: Sequence[PointMoments],
    target: Sequence[PointMoments],
    names: Sequence[str],
) -> None:
    """Copy the sums of all ranks to other boxes of the same points (collective).

    Args:
        comm: the ranks.
        held: moments on the boxes of this rank.
        target: moments on other boxes, which receive the sums.
        names: names of the sums in `PointMoments.arrays`.
    """
    source = Distribution(comm, [moments.box for moments in held])
    wanted = Distribution(comm, [moments.box for moments in target]).table
    places = {moments.box: moments.arrays() for moments in target}
    for name in names:

        def take(box: Box, values: np.ndarray, name: str = name) -> None:
            places[box][name][...] = values

        with collective(comm):
            values = [moments.arrays()[name] for moments in held]
            transfer = Transfer(source, values, wanted, np.dtype(np.float64))
        receive_all(transfer, take)
