"""Averages over time of a solver's samples, and the file of final statistics."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio._base.array_values import with_nan
from uzushio.errors import CheckpointError
from uzushio.solvers.contract import Sample
from uzushio.solvers.statistics.batch_means import BatchMeans, leave_one_out
from uzushio.solvers.statistics.sample_weights import SampleWeights

if TYPE_CHECKING:
    import xarray as xr

FILE = "statistics.zarr"
#: Name of a checkpoint's array of batch means. The averages are arrays of their own names.
_BATCHES = "batch_means"


class TimeAverage:
    """Means over time of samples, and means over batches of samples, on rank 0.

    A sample counts for the time since the sample before (`SampleWeights`). The update
    mean += (sample - mean) weight / sum of weights is exact for constants, has no growing sums, and
    gives the same bits with and without restarts.

    Attributes:
        samples: number of samples in the mean.
        times: times of the first and the last sample; None if unknown, after a restart from a
            checkpoint of an earlier version.
        batches: means over batches of the samples, without those of an earlier version.
    """

    def __init__(self) -> None:
        self.samples = 0
        self.times: tuple[float, float] | None = None
        self.batches = BatchMeans()
        self._mean: dict[str, Sample] = {}
        self._weights, self._weight = SampleWeights(), 0.0

    def add(self, sample: Mapping[str, Sample], time: float | None = None) -> None:
        """Add a sample of a time; names and shapes must be those of the first sample."""
        weight = self._weights.add(time)
        self._average(sample, weight)
        if time is not None and (self.samples == 1 or self.times is not None):
            self.times = (self.times[0] if self.times else time, time)
        self.batches.add(self._vector(sample), weight)

    def _average(self, sample: Mapping[str, Sample], weight: float) -> None:
        self.samples += 1
        self._weight += weight
        if self.samples == 1:
            self._mean = {
                name: Sample(
                    quantity.dims,
                    np.array(with_nan(quantity.values, name), _accumulator(quantity.values)),
                )
                for name, quantity in sample.items()
            }
            return
        if sample.keys() != self._mean.keys():
            raise ValueError(f"samples changed from {list(self._mean)} to {list(sample)}")
        for name, quantity in sample.items():
            mean = self._mean[name].values
            if np.shape(quantity.values) != mean.shape:
                raise ValueError(f"the sample '{name}' changed its shape from {mean.shape}")
            mean += (with_nan(quantity.values, name) - mean) * (weight / self._weight)

    def mean(self) -> Mapping[str, Sample]:
        """Return the averages so far; empty before the first sample."""
        return self._mean

    def leave_one_out(self) -> Iterator[Mapping[str, Sample]]:
        """Yield, for each group of batches, the averages over all other groups."""
        means, weights, _ = self.batches.groups()
        for vector in leave_one_out(means, weights) if len(means) else ():
            yield self._labelled(vector)

    def correlation_times(self) -> dict[str, float]:
        """Return each average's correlation time in samples, the median over its elements."""
        times = self.batches.correlation_times()
        by_name = {}
        for name, part in self._parts(times):
            known = part[np.isfinite(part)]
            by_name[name] = float(np.median(known)) if known.size else float("nan")
        return by_name

    def _vector(self, sample: Mapping[str, Sample]) -> np.ndarray:
        """Return all values as one vector of doubles, two for a complex value."""
        values = (
            np.ascontiguousarray(with_nan(sample[name].values, name), self._mean[name].values.dtype)
            for name in sorted(self._mean)
        )
        return np.concatenate([array.reshape(-1).view(np.float64) for array in values])

    def _parts(self, vector: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the name and the part of the vector of each average."""
        first = 0
        for name in sorted(self._mean):
            mean = self._mean[name].values
            size = mean.size * mean.dtype.itemsize // 8
            yield name, vector[first : first + size]
            first += size

    def _labelled(self, vector: np.ndarray) -> dict[str, Sample]:
        """Convert a vector to values with their axes."""
        means = self._mean
        return {
            name: Sample(
                means[name].dims,
                np.array(values).view(means[name].values.dtype).reshape(means[name].values.shape),
            )
            for name, values in self._parts(vector)
        }

    def stored(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return arrays and JSON values for `restore`."""
        arrays = {name: mean.values for name, mean in self._mean.items()}
        dims = {name: list(mean.dims) for name, mean in self._mean.items()}
        notes: dict[str, Any] = {"samples": self.samples, "dims": dims}
        if self.times is not None:
            notes["times"] = list(self.times)
        notes["weights"] = {"sum": self._weight, **asdict(self._weights)}
        if self.batches.samples:
            arrays[_BATCHES], notes[_BATCHES] = self.batches.stored()
            dims[_BATCHES] = ["batch", "value"]
        return arrays, notes

    def restore(self, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> None:
        """Continue from the values that `stored` returned; raise `CheckpointError` if invalid."""
        samples, dims = notes.get("samples"), notes.get("dims")
        if not isinstance(samples, int) or not isinstance(dims, Mapping):
            raise CheckpointError("the checkpoint's averages have no number of samples or no axes.")
        if dims.keys() != arrays.keys() or (samples > 0) != bool(dims):
            raise CheckpointError(
                f"the checkpoint's averages are {sorted(arrays)} of {samples} samples, its "
                f"manifest lists {sorted(dims)}."
            )
        for name, values in arrays.items():
            if values.ndim != len(dims[name]):
                raise CheckpointError(
                    f"the checkpoint's average '{name}' has the shape {values.shape}, its manifest "
                    f"lists the axes {list(dims[name])}."
                )
        self._mean = {
            name: Sample(tuple(dims[name]), np.array(values))
            for name, values in arrays.items()
            if name != _BATCHES
        }
        self.samples, self.batches = samples, BatchMeans()
        times = notes.get("times")
        self.times = (float(times[0]), float(times[1])) if times else None
        self._restore_weights(notes.get("weights"))
        if _BATCHES in arrays:
            self._restore_batches(arrays[_BATCHES], notes.get(_BATCHES, {}))

    def _restore_weights(self, notes: Mapping[str, Any] | None) -> None:
        """Restore the weights; those of samples of an earlier version are equal."""
        if notes is not None:
            stored = dict(notes)
            self._weight = float(stored.pop("sum"))
            self._weights = SampleWeights(**stored)
            return
        self._weight, self._weights = float(self.samples), SampleWeights()
        if self.times is not None:
            first, last = self.times
            self._weights.last = last
            if last > first:
                self._weights.unit = (last - first) / (self.samples - 1)

    def _restore_batches(self, rows: np.ndarray, notes: Mapping[str, Any]) -> None:
        doubles = self._vector(self._mean).size
        if rows.shape[-1] != doubles:
            raise CheckpointError(
                f"the checkpoint's batch means have {rows.shape[-1]} values, its averages "
                f"{doubles}."
            )
        self.batches.restore(rows, notes)


def _accumulator(values: np.ndarray) -> np.dtype:
    """Return the type of averages: double precision, complex for complex samples."""
    return np.result_type(values, np.float64)


def write_statistics(dataset: xr.Dataset, folder: Path) -> Path:
    """Write or replace `statistics.zarr` in `folder`; return its path."""
    path, fresh = folder / FILE, folder / f".{FILE}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        with warnings.catch_warnings():
            # Zarr warns that consolidated metadata is not in its specification yet. Without it,
            # xarray warns each time the file is opened.
            warnings.simplefilter("ignore")
            dataset.to_zarr(fresh, mode="w", zarr_format=3, consolidated=True)
        shutil.rmtree(path, ignore_errors=True)
        fresh.rename(path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return path
