"""Confidence intervals by batch means, compared with a process of known uncertainty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from uzushio.errors import CheckpointError
from uzushio.solvers.contract import Sample
from uzushio.solvers.statistics.averages import TimeAverage, write_statistics
from uzushio.solvers.statistics.batch_means import GROUPS, MAX_BATCHES, BatchMeans, quantile
from uzushio.solvers.statistics.uncertainty import derive, explanation, half_width, replicates

PROCESSES = 600


def autoregressive(phi: float, length: int, seed: int = 0) -> np.ndarray:
    """Draw stationary AR(1) processes of unit variance and zero mean, (length, PROCESSES).

    The integral correlation time is (1 + phi) / (1 - phi) / 2 samples.
    """
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(length, PROCESSES))
    values[1:] *= np.sqrt(1.0 - phi**2)
    for n in range(1, length):
        values[n] += phi * values[n - 1]
    return values


def averaged(values: np.ndarray, step: float = 1.0) -> TimeAverage:
    average = TimeAverage()
    for n, row in enumerate(values):
        average.add({"u": Sample(("z",), row)}, step * n)
    return average


def means(mean: Mapping[str, Sample], samples: int) -> xr.Dataset:
    u = mean["u"].values
    return xr.Dataset({"u": ("z", u)}, attrs={"samples": samples, "half": float(u[0]) / 2})


def derived(average: TimeAverage) -> xr.Dataset:
    statistics = derive(means, average)
    assert statistics is not None
    return statistics


@pytest.mark.parametrize("phi", [0.0, 0.8, 0.9])
def test_the_interval_covers_the_true_mean_at_its_confidence_level(phi: float) -> None:
    statistics = derived(averaged(autoregressive(phi, 3000)))
    covered = np.abs(statistics.u) < statistics.u_ci95
    # 600 draws: three standard deviations of a share of 0.95 are 0.027.
    assert float(covered.mean()) == pytest.approx(0.95, abs=0.03)
    exact = quantile(10**6) * np.sqrt((1 + phi) / (1 - phi) / 3000)
    assert float(np.sqrt((statistics.u_ci95**2).mean())) == pytest.approx(exact, rel=0.12)


def test_steps_that_depend_on_the_flow_do_not_shift_the_mean_over_time() -> None:
    """Ornstein–Uhlenbeck processes of zero mean, whose steps are longer where the value is low."""
    rng = np.random.default_rng(5)
    covered, biased = [], []
    for _ in range(30):
        average, time, value, values = TimeAverage(), 0.0, float(rng.normal()), []
        for _ in range(1200):
            step = 0.05 * (1.0 - 0.8 * np.tanh(value))
            value = value * np.exp(-step) + rng.normal() * np.sqrt(-np.expm1(-2.0 * step))
            time += step
            average.add({"u": Sample(("z",), np.array([value]))}, time)
            values.append(value)
        statistics = derived(average)
        covered.append(abs(float(statistics.u[0])) < float(statistics.u_ci95[0]))
        biased.append(np.mean(values))
    assert np.mean(covered) > 0.85
    assert np.mean(biased) > 0.3


def test_the_correlation_time_is_that_of_the_process() -> None:
    statistics = derived(averaged(autoregressive(0.9, 6000), step=0.5))
    assert statistics.attrs["correlation_times"]["u"] == pytest.approx(0.5 * 9.5, rel=0.1)
    assert statistics.attrs["group_time"] == 0.5 * statistics.attrs["group_samples"]
    assert "narrow" not in explanation(statistics, ("u",))
    assert statistics.attrs["averaged_times"] == [0.0, 2999.5]


def test_batches_shorter_than_the_correlation_time_are_reported() -> None:
    statistics = derived(averaged(autoregressive(0.999, 1000)))
    assert "too short for it, and the interval is too narrow" in explanation(statistics, ("u",))


def test_few_samples_give_no_interval() -> None:
    statistics = derived(averaged(autoregressive(0.0, 7)))
    assert list(statistics.data_vars) == ["u"]
    assert half_width(replicates(statistics), lambda replicate: replicate.u.values) is None
    assert "too few samples" in explanation(statistics, ("u",))


@pytest.mark.parametrize("samples", [8, 40, 64, 129, 1000])
def test_batches_are_means_of_successive_samples_in_bounded_memory(samples: int) -> None:
    values = np.random.default_rng(samples).normal(size=(samples, 3))
    batches = BatchMeans()
    for row in values:
        batches.add(row)
        assert batches.full < MAX_BATCHES
        assert batches.stored()[0].size <= 3 * (3 + MAX_BATCHES)
    group_means, weights, length = batches.groups()
    expected = values[: len(group_means) * length].reshape(len(group_means), length, 3).mean(axis=1)
    np.testing.assert_allclose(group_means, expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(weights, length)
    assert min(samples, GROUPS) <= len(group_means) < 2 * GROUPS
    # Less than a group is omitted.
    assert samples - len(group_means) * length < length + batches.length


def test_an_interval_of_anything_that_is_derived_is_found() -> None:
    """The error of a square is, to first order, that of the mean times its derivative."""
    statistics = derived(averaged(5.0 + autoregressive(0.5, 2000)))
    square = half_width(replicates(statistics), lambda replicate: replicate.u.values**2)
    assert square is not None
    np.testing.assert_allclose(square, 2 * statistics.u * statistics.u_ci95, rtol=0.05)
    halved = half_width(replicates(statistics), lambda replicate: replicate.attrs["half"])
    assert float(halved) == pytest.approx(0.5 * float(statistics.u_ci95[0]), rel=1e-9)
    assert statistics.attrs["half_ci95"] == pytest.approx(float(halved), rel=1e-12)


def test_fluctuations_common_to_both_halves_widen_the_interval() -> None:
    """The difference of halves vanishes here, and does not show their common error."""
    process = autoregressive(0.8, 3000)[:, :200]
    statistics = derived(averaged(np.hstack([process, process])))

    def half(replicate: xr.Dataset) -> np.ndarray:
        return np.asarray(replicate.u.values[:200] + replicate.u.values[200:]) / 2

    error = np.abs(statistics.u.values[:200] - statistics.u.values[200:]) / 2
    assert not error.any()
    width = half_width(replicates(statistics), half)
    assert width is not None
    assert float(np.mean(np.abs(half(statistics)) < width)) == pytest.approx(0.95, abs=0.05)


def test_intervals_continue_after_a_restart_bit_for_bit_with_complex_values() -> None:
    values = autoregressive(0.8, 500)[:, :4]

    def add(average: TimeAverage, first: int, end: int) -> None:
        for n in range(first, end):
            quantities = {
                "u": Sample(("z",), values[n]),
                "c": Sample((), values[n, :1].sum() * (1 + 2j)),
            }
            average.add(quantities, float(n))

    whole, first, second = TimeAverage(), TimeAverage(), TimeAverage()
    add(whole, 0, 500)
    add(first, 0, 173)
    arrays, notes = first.stored()
    second.restore(
        {name: np.array(values) for name, values in arrays.items()}, json.loads(json.dumps(notes))
    )
    add(second, 173, 500)
    assert second.times == whole.times == (0.0, 499.0)
    assert second.mean().keys() == whole.mean().keys() == {"u", "c"}
    for replicate, other in zip(second.leave_one_out(), whole.leave_one_out(), strict=True):
        for name in ("u", "c"):
            assert np.array_equal(replicate[name].values, other[name].values)
        assert replicate["c"].values.dtype == np.complex128
        np.testing.assert_allclose(
            replicate["c"].values, replicate["u"].values[0] * (1 + 2j), rtol=1e-12
        )


def test_averages_of_an_earlier_version_continue_with_batches_from_the_restart_on() -> None:
    values = autoregressive(0.0, 300)[:, :2]
    arrays, _ = averaged(values[:100]).stored()
    old = {"u": arrays["u"]}, {"samples": 100, "dims": {"u": ["z"]}}
    average = TimeAverage()
    average.restore(*old)
    assert average.times is None
    for n, row in enumerate(values[100:]):
        average.add({"u": Sample(("z",), row)}, float(n))
    statistics = derived(average)
    np.testing.assert_allclose(statistics.u, values.mean(axis=0), rtol=0, atol=1e-14)
    assert average.batches.samples == 200
    assert "averaged_times" not in statistics.attrs
    assert "samples." in explanation(statistics, ("u",))


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": 100, "length": 2, "full": 3},
        {"samples": 100, "length": 2},
        {"samples": -1, "length": 2, "full": 50},
    ],
)
def test_batches_that_contradict_the_manifest_are_refused(wrong: dict[str, int]) -> None:
    arrays, notes = averaged(autoregressive(0.0, 100)[:, :2]).stored()
    with pytest.raises(CheckpointError, match="batch means"):
        TimeAverage().restore(arrays, notes | {"batch_means": wrong})
    short = arrays | {"batch_means": arrays["batch_means"][:, :1]}
    with pytest.raises(CheckpointError, match="1 values"):
        TimeAverage().restore(short, notes)


def test_intervals_are_in_the_file_and_can_be_found_from_it(tmp_path: Path) -> None:
    statistics = derived(averaged(autoregressive(0.5, 400)[:, :5]))
    path = write_statistics(statistics, tmp_path)
    with xr.open_zarr(path) as stored:
        assert stored.u_ci95.values.tolist() == statistics.u_ci95.values.tolist()
        width = half_width(replicates(stored.load()), lambda replicate: replicate.u.values)
        np.testing.assert_allclose(width, stored.u_ci95, rtol=1e-12)
        assert explanation(stored, ("u",)) == explanation(statistics, ("u",))


@pytest.mark.parametrize(("degrees", "exact"), [(7, 2.36462), (15, 2.13145), (30, 2.04227)])
def test_the_quantile_is_students(degrees: int, exact: float) -> None:
    assert quantile(degrees) == pytest.approx(exact, rel=1e-3)
