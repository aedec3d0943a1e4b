"""Averages over time."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from uzushio.errors import CheckpointError
from uzushio.solvers.contract import Sample
from uzushio.solvers.statistics.averages import TimeAverage, write_statistics


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


def test_the_average_is_the_integral_over_time_for_steps_of_any_length() -> None:
    """A decay whose steps grow as it slows down: the mean of the samples is twice too large."""
    times = np.geomspace(1e-3, 10.0, 4000)
    average = TimeAverage()
    for time in times:
        average.add(sample(np.exp(-time)), time)
    exact = (np.exp(-times[0]) - np.exp(-times[-1])) / (times[-1] - times[0])
    assert float(average.mean()["k"].values) == pytest.approx(exact, rel=3e-3)
    assert np.exp(-times).mean() > 6.0 * exact


def test_equal_intervals_and_missing_times_give_equal_weights() -> None:
    values = np.random.default_rng(3).normal(size=50)
    for times in (0.1 * np.arange(50), np.zeros(50), [None] * 50):
        average = TimeAverage()
        for value, time in zip(values, times, strict=True):
            average.add(sample(value), time)
        assert float(average.mean()["k"].values) == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.parametrize("before", [1, 7])
def test_a_restored_average_continues_bit_for_bit(before: int) -> None:
    values = np.random.default_rng(2).normal(size=(20, 2))
    whole, first, second = TimeAverage(), TimeAverage(), TimeAverage()
    times = np.random.default_rng(4).uniform(0.1, 1.0, 20).cumsum()
    for row, time in zip(values, times, strict=True):
        whole.add(sample(*row), time)
    for row, time in zip(values[:before], times, strict=False):
        first.add(sample(*row), time)
    arrays, notes = first.stored()
    second.restore(arrays, json.loads(json.dumps(notes)))
    for row, time in zip(values[before:], times[before:], strict=True):
        second.add(sample(*row), time)
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
        stored = xr.open_zarr(path)
    with stored:
        assert stored["u"].values.tolist() == [2.0] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["statistics.zarr"]
