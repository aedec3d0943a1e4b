"""Running averages over time of a solver's samples, and the file of published statistics."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uzushio.errors import CheckpointError
from uzushio.solver import Sample

if TYPE_CHECKING:
    import xarray as xr

FILE = "statistics.zarr"


class TimeAverage:
    """Equal-weight means of samples, kept on rank 0.

    The mean is advanced by (sample - mean) / n: exact for constants, no growing sums, and the same
    bits whether or not the run was interrupted in between.
    """

    def __init__(self) -> None:
        self.samples = 0
        self._mean: dict[str, Sample] = {}

    def add(self, sample: Mapping[str, Sample]) -> None:
        """Take one more sample; the names and shapes are those of the first."""
        self.samples += 1
        if self.samples == 1:
            self._mean = {
                name: Sample(one.dims, np.array(one.values, dtype=_accumulator(one.values)))
                for name, one in sample.items()
            }
            return
        if sample.keys() != self._mean.keys():
            raise ValueError(f"samples changed from {list(self._mean)} to {list(sample)}")
        for name, one in sample.items():
            mean = self._mean[name].values
            if np.shape(one.values) != mean.shape:
                raise ValueError(f"the sample '{name}' changed its shape from {mean.shape}")
            mean += (one.values - mean) / self.samples

    def mean(self) -> Mapping[str, Sample]:
        """The averages so far; empty before the first sample."""
        return self._mean

    def stored(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON that `restore` needs."""
        arrays = {name: one.values for name, one in self._mean.items()}
        dims = {name: list(one.dims) for name, one in self._mean.items()}
        return arrays, {"samples": self.samples, "dims": dims}

    def restore(self, arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> None:
        """Go on from what `stored` returned; raises `CheckpointError` if it is not that."""
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
        self.samples = samples
        self._mean = {
            name: Sample(tuple(dims[name]), np.array(values)) for name, values in arrays.items()
        }


def _accumulator(values: np.ndarray) -> np.dtype:
    """Double precision, complex for complex samples."""
    return np.result_type(values, np.float64)


def write_statistics(dataset: xr.Dataset, folder: Path) -> Path:
    """Write `statistics.zarr` into `folder`, replacing an earlier one; returns its path."""
    path, fresh = folder / FILE, folder / f".{FILE}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        with warnings.catch_warnings():
            # Zarr warns that consolidated metadata is not in the specification yet; without it,
            # xarray warns everybody who opens the file.
            warnings.simplefilter("ignore")
            dataset.to_zarr(fresh, mode="w", zarr_format=3, consolidated=True)
        shutil.rmtree(path, ignore_errors=True)
        fresh.rename(path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return path
