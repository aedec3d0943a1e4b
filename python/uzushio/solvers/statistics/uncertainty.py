"""95 % confidence intervals of quantities that are derived from time averages.

A solver derives its statistics from the averages, and again for each group of batches from the
averages without that group (a jackknife). The dataset keeps these replicates, so that later
functions of it have an interval too. Examples are a profile in wall units that is
averaged over the halves of a channel, and the height of a peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from uzushio.solvers.contract import Sample
from uzushio.solvers.statistics.averages import TimeAverage
from uzushio.solvers.statistics.batch_means import (
    MIN_BATCHES,
    MIN_CORRELATION_TIMES,
    quantile,
    standard_error,
)

if TYPE_CHECKING:
    import xarray as xr

Derivation = Callable[[Mapping[str, Sample], int], "xr.Dataset | None"]

#: Prefix of a variable's replicates, and suffix of the half width of its interval.
REPLICATES, HALF_WIDTH = "jackknife_", "_ci95"


def derive(derivation: Derivation, average: TimeAverage) -> xr.Dataset | None:
    """Derive statistics from averages, with confidence intervals where there are batches.

    Args:
        derivation: returns a dataset from averages and their number of samples
            (`Solver.statistics`).
        average: the averages.

    Returns:
        The dataset of the derivation. For each variable NAME it has also NAME_ci95, the half width
        of its interval, and jackknife_NAME, its replicates along an axis `group`. For an attribute
        NAME that varies between replicates, NAME_ci95 is an attribute. Further attributes:
        `averaged_times`, first and last; `groups`; `group_samples` and `group_time`;
        `correlation_times` by name of an average. Times are in the solver's unit.
    """
    whole = derivation(average.mean(), average.samples)
    if whole is None:
        return None
    derived = [derivation(mean, average.samples) for mean in average.leave_one_out()]
    replicates = [replicate for replicate in derived if replicate is not None]
    if replicates:
        _add_intervals(whole, replicates)
    return _described(whole, average, len(replicates))


def _add_intervals(whole: xr.Dataset, replicates: list[xr.Dataset]) -> None:
    """Add the replicates of all variables and attributes, and the half widths."""
    for name in list(whole.data_vars):
        dims = whole[name].dims
        values = np.stack([replicate[name].values for replicate in replicates])
        _add(whole, str(name), ("group", *map(str, dims)), values)
        width = quantile(len(replicates) - 1) * standard_error(values)
        note = {"long_name": f"half width of the 95 % confidence interval of {name}"}
        whole[f"{name}{HALF_WIDTH}"] = (dims, width, note)
    for name, value in list(whole.attrs.items()):
        values = np.array([replicate.attrs.get(name) for replicate in replicates])
        if isinstance(value, float) and np.ptp(values) > 0.0:
            _add(whole, name, ("group",), values)
            whole.attrs[f"{name}{HALF_WIDTH}"] = float(
                quantile(len(replicates) - 1) * standard_error(values)
            )


def _add(whole: xr.Dataset, name: str, dims: tuple[str, ...], values: np.ndarray) -> None:
    note = {"long_name": f"{name} without one group of batches each"}
    whole[f"{REPLICATES}{name}"] = (dims, values, note)


def _described(whole: xr.Dataset, average: TimeAverage, groups: int) -> xr.Dataset:
    """Add attributes: times, number and length of groups, correlation times."""
    if average.times is not None:
        whole.attrs["averaged_times"] = list(average.times)
    if not groups:
        return whole
    *_, length = average.batches.groups()
    whole.attrs |= {"groups": groups, "group_samples": length}
    if average.times is not None:
        between = (average.times[1] - average.times[0]) / (average.samples - 1)
        whole.attrs["group_time"] = length * between
        whole.attrs["correlation_times"] = {
            name: time * between
            for name, time in average.correlation_times().items()
            if np.isfinite(time)
        }
    return whole


def replicates(statistics: xr.Dataset) -> Iterator[xr.Dataset]:
    """Yield, for each group of batches, the statistics without it, under the original names."""
    names = [str(name) for name in statistics.data_vars if str(name).startswith(REPLICATES)]
    for group in range(statistics.sizes.get("group", 0)):
        replicate = statistics[names].isel(group=group)
        replicate = replicate.rename({name: name.removeprefix(REPLICATES) for name in names})
        attributes = [name for name in replicate.data_vars if name in statistics.attrs]
        varied = {str(name): float(replicate[name]) for name in attributes}
        yield replicate.drop_vars(attributes).assign_attrs(statistics.attrs | varied)


def half_width(
    without: Iterable[xr.Dataset], function: Callable[[xr.Dataset], np.ndarray | float]
) -> np.ndarray | None:
    """Return the half width of the 95 % confidence interval of a function of statistics.

    Args:
        without: `replicates` of the statistics.
        function: function of a dataset with the variables and attributes of the statistics.

    Returns:
        An array of the shape of the function's result; None if there are no replicates.
    """
    values = [np.asarray(function(dataset)) for dataset in without]
    if not values:
        return None
    return quantile(len(values) - 1) * standard_error(np.stack(values))


def explanation(
    statistics: xr.Dataset, names: Iterable[str], scale: float = 1.0, unit: str = ""
) -> str:
    """Describe how the intervals of some averages were computed, and whether batches are too short.

    Args:
        statistics: result of `derive`.
        names: names of averages; the text has the maximum of their correlation times.
        scale: factor from the solver's unit of time to `unit`.
        unit: unit of times, with a space before it.
    """
    attributes = statistics.attrs
    if not attributes.get("groups"):
        few = attributes.get("samples", 0) < MIN_BATCHES
        return f"No confidence interval: {'too few samples' if few else 'no batch means kept'}."
    text = f"95 % confidence by {attributes['groups']} batch means"
    times = attributes.get("correlation_times", {})
    known = {name: times[name] for name in names if name in times}
    if not known:
        return f"{text} of {attributes['group_samples']} samples."
    slowest = max(known, key=lambda name: known[name])
    length, time = scale * float(attributes["group_time"]), scale * known[slowest]
    text = f"{text} of {length:.3g}{unit}; correlation time of {slowest}: {time:.2g}{unit}"
    if length < MIN_CORRELATION_TIMES * time:
        return f"{text}. The batches are too short for it, and the interval is too narrow."
    return f"{text}."
