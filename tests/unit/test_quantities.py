"""Sizes, rates and times may be written with a unit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uzushio._base.config.quantities import parse_rate, parse_size, parse_time, show_rate, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("30 GB", 30e9), ("256MB", 256e6), ("1 KiB", 1024.0), ("2.5e3", 2500.0), (" .5 kB ", 500.0)],
)
def test_a_size_is_in_bytes(text: str, size: float) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "rate"), [("12.5 GB/s", 12.5e9), ("100 Gbit/s", 12.5e9), ("1 MiB/s", 2.0**20)]
)
def test_a_rate_is_in_bytes_per_second(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(("text", "seconds"), [("10 s", 10.0), ("5 min", 300.0), ("2 ms", 2e-3)])
def test_a_time_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


def test_a_plain_number_is_si() -> None:
    assert parse_size(30_000_000_000) == 30e9
    assert parse_rate(12.5e9) == 12.5e9


@pytest.mark.parametrize("text", ["30 gb", "30 GB/s", "30 Gbit", "5 s"])
def test_an_unknown_unit_is_answered_with_those_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"not known \(allowed: B, kB, MB, GB,"):
        parse_size(text)


def test_gb_per_second_with_a_small_b_is_refused_because_it_may_mean_either() -> None:
    with pytest.raises(ValueError, match="'Gb/s' is not known"):
        parse_rate("10 Gb/s")


@pytest.mark.parametrize("value", ["", "GB", "-3 GB", "3 4 GB", "1_0 GB", True])
def test_invalid_quantities_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match='must be a number with a unit such as "30 GB"'):
        parse_size(value)


def test_a_number_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        parse_size("1e300 PB")


@settings(deadline=None)  # cores may be shared
@given(st.floats(min_value=1e-2, max_value=1e18))
def test_labels_are_exact_to_four_digits(value: float) -> None:
    assert parse_size(show_size(value)) == pytest.approx(value, rel=1e-3)
    assert parse_rate(show_rate(value)) == pytest.approx(value, rel=1e-3)
