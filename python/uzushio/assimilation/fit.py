"""Goodness of fit of an assimilation: how J and the residuals compare with their expectation.

With b the run of the first guess and a that of the estimate, o − b are the innovations and o − a
the residuals, here in sigma of the observations. If the model, the errors and the background of
all controls are right, and the model is linear, 2J has at its minimum the distribution of χ² with
as many degrees of freedom as observations (A. F. Bennett, Inverse Methods in Physical Oceanography
(1992)); each control without a background takes one. The mean of (o − a)(o − b) / sigma² is then 1
(G. Desroziers et al., Diagnosis of observation, background and analysis-error statistics in
observation space, Q. J. R. Meteorol. Soc. 131 (2005)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base import exact_sums
from uzushio.assimilation.residuals import standardised_residuals

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio._base.observations import Observations
    from uzushio.assimilation.cost import Cost
    from uzushio.assimilation.model import Guess

#: Bins of residuals in sigma, from -_WIDEST to _WIDEST.
_WIDEST, _BINS_A_SIGMA = 8, 200
#: Median of |r| of a standard normal number, and the relative spread of its square from n numbers.
_MEDIAN, _SPREAD_OF_MEDIAN = 0.6744897501960817, 2.3319
#: A fit is poor if a figure exceeds its expectation by so many of its spreads, and by this share;
#: with Huber's norm, which is for some wrong values, by another one.
_SPREADS, _SHARE, _SHARE_HUBER = 5.0, 0.1, 0.5
#: A fit is too close if 2J/N is below this share of its expectation.
_CLOSE = 0.5
#: Columns of sums at each observed time.
_SUMS = 5


@dataclass(frozen=True)
class TimeFit:
    """Fit at one observed time, means over its observations; see `Fit`.

    Attributes:
        step: step of the run.
        time: time of this step.
        values: number of observations.
        innovation_mean: mean of (o − b) / sigma.
        innovation_rms: root mean square of it.
        residual_mean: mean of (o − a) / sigma.
        chi_square: mean of ((o − a) / sigma)².
        desroziers: mean of (o − a)(o − b) / sigma².
    """

    step: int
    time: float
    values: int
    innovation_mean: float | None
    innovation_rms: float | None
    residual_mean: float | None
    chi_square: float | None
    desroziers: float | None


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Goodness of fit of an estimate to the observations of a window, over all ranks.

    Attributes:
        steps: steps of the window.
        values: number of observations in it, N.
        J_o: term of the observations in J.
        J_b: term of the background in J.
        ratio: 2J/N.
        expected: expectation of 2J/N for a linear model, if the model and all errors are right.
        expected_at_most: the same if the state has no background, whose points are determined by
            the observations in part; else `expected`.
        spread: standard deviation of `ratio`.
        chi_square: mean of ((o − a) / sigma)².
        robust_chi_square: the same from the median, which few wrong values do not change.
        innovation_mean: mean of (o − b) / sigma.
        innovation_rms: root mean square of it.
        residual_mean: mean of (o − a) / sigma.
        desroziers: mean of (o − a)(o − b) / sigma²; 1 is expected.
        beyond_3_sigma: number of residuals beyond 3 sigma.
        beyond_5_sigma: number of residuals beyond 5 sigma.
        huber: limit of Huber's norm in sigma, or None.
        linear: number of observations that it counts linearly.
        poor_times: number of times at which chi_square is too large.
        verdict: "good", "poor" (over all or at some times), or "too close" (2J/N far below its
            expectation).
        times: fit at each observed time.
        histogram: numbers of residuals in bins of equal width from -8 to 8 sigma.
        mean: mean residual of each point of this rank's part; NaN where none is observed.
        rms: root mean square residual of each point.
    """

    steps: int
    values: int
    J_o: float
    J_b: float
    ratio: float
    expected: float
    expected_at_most: float
    spread: float
    chi_square: float | None
    robust_chi_square: float
    innovation_mean: float | None
    innovation_rms: float | None
    residual_mean: float | None
    desroziers: float | None
    beyond_3_sigma: int
    beyond_5_sigma: int
    huber: float | None
    linear: int
    poor_times: int
    verdict: str
    times: list[TimeFit] = field(repr=False)
    histogram: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    rms: np.ndarray = field(repr=False)

    @property
    def is_poor(self) -> bool:
        """Whether the residuals are larger than the errors explain."""
        return self.verdict == "poor"

    def figures(self) -> dict[str, Any]:
        """Return all but arrays and times, as JSON values."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("times", "histogram", "mean", "rms")
        }

    def table(self) -> str:
        """Return the fit at each time as comma-separated values."""
        lines = [",".join(TimeFit.__dataclass_fields__)]
        for time_fit in self.times:
            lines.append(
                ",".join("" if value is None else repr(value) for value in vars(time_fit).values())
            )
        return "\n".join(lines) + "\n"


def goodness_of_fit(cost: Cost, background: Guess, estimate: Guess, free: int, last: int) -> Fit:
    """Compute the fit of an estimate (collective over the ranks of the model).

    Args:
        cost: J.
        background: the first guess, which is the mean of the background.
        estimate: the estimate.
        free: number of parameters without a background, at no bound.
        last: last step of the window.
    """
    model, observations = cost.model, cost.observations
    collected = _Collected(model.comm, observations, estimate.state.shape)
    runs = standardised_residuals(model, observations, [background, estimate], last)
    for index, (innovation, residual) in runs:
        collected.add(index, innovation, residual)
    collected.reduce()
    dt = model.step_length()
    times = [
        TimeFit(observations.steps[index], observations.steps[index] * dt, count, *means)
        for index, (count, means) in enumerate(collected.of_times())
    ]
    values, means = collected.of_all()
    J_o, J_b = collected.misfit(), cost.background_value(estimate)
    huber = None if math.isinf(observations.huber) else observations.huber
    points = 0 if cost.precision > 0.0 else math.prod(model.shape)
    of_gaussian = 1.0 if huber is None else _expected_huber(huber)
    most = of_gaussian * max(0.0, 1.0 - free / values)
    figures = {
        "ratio": 2.0 * (J_o + J_b) / values,
        "expected": of_gaussian * max(0.0, 1.0 - (free + points) / values),
        "expected_at_most": most,
        "spread": math.sqrt(2.0 / values),
        "robust_chi_square": (collected.median() / _MEDIAN) ** 2,
    }
    innovation_mean, innovation_rms, residual_mean, chi_square, desroziers = means
    poor_times = 0 if huber is not None else sum(map(_is_poor_time, times))
    return Fit(
        steps=last,
        values=values,
        J_o=J_o,
        J_b=J_b,
        **figures,
        chi_square=chi_square,
        innovation_mean=innovation_mean,
        innovation_rms=innovation_rms,
        residual_mean=residual_mean,
        desroziers=desroziers,
        beyond_3_sigma=collected.beyond(3),
        beyond_5_sigma=collected.beyond(5),
        huber=huber,
        linear=collected.linear if huber is not None else 0,
        poor_times=poor_times,
        verdict=_verdict(figures, values, huber, poor_times),
        times=times,
        histogram=collected.histogram[1:-1].reshape(-1, _BINS_A_SIGMA // 10).sum(axis=1),
        mean=collected.map_of(collected.first),
        rms=np.sqrt(collected.map_of(collected.second)),
    )


def _is_poor_time(time_fit: TimeFit) -> bool:
    """Whether chi² at a time is too large, by the cube root of χ², which is nearly normal.

    E. B. Wilson, M. M. Hilferty, The distribution of chi-square, Proc. Natl. Acad. Sci. 17 (1931).
    """
    if not time_fit.values:
        return False
    if time_fit.chi_square is None:
        return True
    variance = 2.0 / (9.0 * time_fit.values)
    far = math.cbrt(time_fit.chi_square) > 1.0 - variance + _SPREADS * math.sqrt(variance)
    return far and time_fit.chi_square > 1.0 + _SHARE


def _verdict(figures: dict[str, float], values: int, huber: float | None, poor_times: int) -> str:
    """Judge a fit."""
    ratio, expected = figures["ratio"], figures["expected_at_most"]
    spread, share = figures["spread"], _SHARE
    if huber is not None:  # wrong values are expected, and change the median little
        ratio, expected = figures["robust_chi_square"], 1.0
        spread, share = _SPREAD_OF_MEDIAN / math.sqrt(values), _SHARE_HUBER
    if poor_times or not ratio <= expected + max(_SPREADS * spread, share):
        return "poor"
    least = _CLOSE * figures["expected"] - _SPREADS * figures["spread"]
    return "too close" if figures["ratio"] < least else "good"


def _expected_huber(k: float) -> float:
    """Return the expectation of ψ(2r − ψ), the double of Huber's norm, for a standard normal r."""
    density = math.exp(-0.5 * k * k) / math.sqrt(2.0 * math.pi)
    inside = math.erf(k / math.sqrt(2.0))
    return inside + 2.0 * k * density - k * k * (1.0 - inside)


class _Collected:
    """Sums of residuals over points and times, exact over ranks."""

    def __init__(self, comm: MPI.Comm, observations: Observations, shape: tuple[int, ...]) -> None:
        self._comm, self._observations = comm, observations
        self._sums: list[exact_sums.DoubleDouble] = []
        self._misfit: exact_sums.DoubleDouble = (0.0, 0.0)
        self._counts: list[int] = []
        self.histogram = np.zeros(2 * _WIDEST * _BINS_A_SIGMA + 2, dtype=np.int64)
        self.linear = 0
        self.first, self.second = np.zeros(shape), np.zeros(shape)
        self._seen = np.zeros(shape, dtype=np.int64)

    def add(self, index: int, innovation: np.ndarray, residual: np.ndarray) -> None:
        """Add the residuals of one time."""
        seen = np.broadcast_to(self._observations.weight_of(index), residual.shape) > 0.0
        ones, huber = np.ones_like(residual), self._observations.huber
        pairs = [(innovation, ones), (innovation, innovation), (residual, ones)]
        pairs += [(residual, residual), (residual, innovation)]
        self._sums += [exact_sums.dot(*pair) for pair in pairs]
        bounded = np.clip(residual, -huber, huber)
        misfit = exact_sums.dot(bounded, 2.0 * residual - bounded)
        self._misfit = exact_sums.add(self._misfit, misfit)
        self._counts.append(int(np.count_nonzero(seen)))
        self.linear += int(np.count_nonzero(np.abs(residual) > huber))
        with np.errstate(invalid="ignore"):
            place = np.floor(_BINS_A_SIGMA * np.nan_to_num(residual[seen], nan=np.inf))
        place = np.clip(place + _WIDEST * _BINS_A_SIGMA + 1, 0, len(self.histogram) - 1)
        self.histogram += np.bincount(place.astype(np.int64), minlength=len(self.histogram))
        self._seen += seen
        self.first += residual
        self.second += residual * residual

    def reduce(self) -> None:
        """Add the sums of all ranks (collective)."""
        totals = exact_sums.over_ranks(self._comm, [*self._sums, self._misfit])
        self._sums, self._misfit = totals[:-1], totals[-1]
        counts = np.array([*self._counts, self.linear], dtype=np.int64)
        self._comm.Allreduce(counts.copy(), counts)
        self._comm.Allreduce(self.histogram.copy(), self.histogram)
        *self._counts, self.linear = (int(count) for count in counts)

    def of_times(self) -> list[tuple[int, list[float | None]]]:
        """Return the number of values and the means of each time."""
        rows = [self._sums[i : i + _SUMS] for i in range(0, len(self._sums), _SUMS)]
        return [(n, _means(row, n)) for n, row in zip(self._counts, rows, strict=True)]

    def of_all(self) -> tuple[int, list[float | None]]:
        """Return the number of values and the means over all times."""
        totals = [(0.0, 0.0)] * _SUMS
        for place, partial in enumerate(self._sums):
            totals[place % _SUMS] = exact_sums.add(totals[place % _SUMS], partial)
        return sum(self._counts), _means(totals, sum(self._counts))

    def misfit(self) -> float:
        """Return the term of the observations in J."""
        return 0.5 * exact_sums.rounded(self._misfit)

    def median(self) -> float:
        """Return the median of the absolute residuals in sigma; infinite beyond the bins."""
        middle = len(self.histogram) // 2
        inner = self.histogram[middle:-1] + self.histogram[middle - 1 : 0 : -1]
        below, half = np.cumsum(inner), 0.5 * self.histogram.sum()
        place = int(np.searchsorted(below, half))
        if place == len(inner):
            return math.inf
        share = (half - (below[place] - inner[place])) / max(1, inner[place])
        return (place + float(share)) / _BINS_A_SIGMA

    def beyond(self, sigmas: int) -> int:
        """Return the number of residuals of at least so many sigma."""
        middle, wide = len(self.histogram) // 2, sigmas * _BINS_A_SIGMA
        return int(self.histogram.sum() - self.histogram[middle - wide : middle + wide].sum())

    def map_of(self, sums: np.ndarray) -> np.ndarray:
        """Return the mean at each point of this rank's part; NaN where none is observed."""
        means = np.full(sums.shape, np.nan)
        np.divide(sums, self._seen, out=means, where=self._seen > 0)
        return means


def _means(sums: list[exact_sums.DoubleDouble], count: int) -> list[float | None]:
    """Return means; the second one as a root mean square; None where they are not finite."""
    means = [exact_sums.rounded(total) / count if count else math.nan for total in sums]
    means[1] = math.sqrt(means[1]) if means[1] >= 0.0 else math.nan
    return [mean if math.isfinite(mean) else None for mean in means]
