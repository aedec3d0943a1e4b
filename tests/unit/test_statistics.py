"""Averages over time."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from uzushio.errors import CheckpointError
from uzushio.solver import Sample
from uzushio.statistics.averages import TimeAverage, write_statistics


def sample(*values: float) -> dict[str, Sample]:
    return {"u": Sample(("z",), np.array(values)), "k": Sample((), np.array(values[0]))}


def test_the_average_is_the_mean_of_the_samples() -> None:
    values = np.random.default_rng(1).normal(1e8, 1.0, (1000, 3))
    average = TimeAverage()
    for row in values:
        average.add(sample(*row))
    np.testing.assert_allclose(average.mean()["u"].values, values.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(average.mean()["k"].values, values[:, 0].mean(), rtol=1e-14)
    assert average.samples == 1000


def test_the_average_of_a_constant_is_that_constant() -> None:
    average = TimeAverage()
    for _ in range(77):
        average.add(sample(0.1, 0.2))
    assert average.mean()["u"].values.tolist() == [0.1, 0.2]


def test_a_restored_average_continues_bit_for_bit() -> None:
    values = np.random.default_rng(2).normal(size=(20, 2))
    whole, first, second = TimeAverage(), TimeAverage(), TimeAverage()
    for row in values:
        whole.add(sample(*row))
    for row in values[:7]:
        first.add(sample(*row))
    arrays, notes = first.stored()
    second.restore(arrays, json.loads(json.dumps(notes)))
    for row in values[7:]:
        second.add(sample(*row))
    for name in ("u", "k"):
        assert np.array_equal(second.mean()[name].values, whole.mean()[name].values)
        assert second.mean()[name].dims == whole.mean()[name].dims
    assert second.samples == 20


def test_the_first_sample_is_copied_and_complex_values_stay_complex() -> None:
    values = np.array([1 + 1j], np.complex64)
    average = TimeAverage()
    average.add({"c": Sample(("k",), values)})
    values[:] = 0
    assert average.mean()["c"].values.tolist() == [1 + 1j]
    assert average.mean()["c"].values.dtype == np.complex128


def test_samples_that_change_their_names_are_a_mistake() -> None:
    average = TimeAverage()
    average.add(sample(1.0))
    with pytest.raises(ValueError, match="samples changed"):
        average.add({"v": Sample((), np.array(0.0))})


def test_samples_that_change_their_shape_are_a_mistake() -> None:
    average = TimeAverage()
    average.add(sample(1.0, 2.0))
    with pytest.raises(ValueError, match="changed its shape"):
        average.add(sample(1.0))


@pytest.mark.parametrize(
    ("arrays", "notes"),
    [
        ({}, {}),
        ({}, {"samples": 2, "dims": {}}),
        ({"u": np.zeros(2)}, {"samples": 2, "dims": {"v": ["z"]}}),
        ({"u": np.zeros(2)}, {"samples": 2, "dims": {"u": ["z", "x"]}}),
    ],
)
def test_restored_arrays_are_checked(
    arrays: dict[str, np.ndarray], notes: dict[str, object]
) -> None:
    average = TimeAverage()
    with pytest.raises(CheckpointError, match="the checkpoint's average"):
        average.restore(arrays, notes)
    assert average.samples == 0


def test_the_file_opens_with_xarray_and_replaces_an_older_one(tmp_path: Path) -> None:
    for number in (1.0, 2.0):
        data = xr.Dataset({"u": (("z",), np.full(3, number))}, {"z": [0.0, 1.0, 2.0]})
        path = write_statistics(data, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = xr.open_zarr(path)
    with found:
        assert found["u"].values.tolist() == [2.0] * 3
    assert [one.name for one in tmp_path.iterdir()] == ["statistics.zarr"]
