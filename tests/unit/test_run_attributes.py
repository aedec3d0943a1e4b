"""Figures, limits and pace of a run as attributes of its published steps."""

from __future__ import annotations

import pytest

from uzushio._job import run_attributes
from uzushio._job.run_attributes import PaceMeter, RunPace, monitor_attributes, monitor_readings
from uzushio.case.model import Time
from uzushio.solvers.contract import Reading


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(run_attributes.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_that_of_the_limit_that_is_reached_first(clock: list[float]) -> None:
    paces = {}
    for name, limits in {
        "steps": Time(steps=50, dt=0.1),
        "end": Time(end=4.0, dt=0.1),
        "both": Time(steps=50, end=4.0, dt=0.1),
    }.items():
        clock[0] = 100.0
        meter = PaceMeter(limits, 10, 1.0)
        clock[0] += 20.0
        paces[name] = meter.add(20, 2.0, 5.0)
    # 10 steps in 20 s, of which 5 s are waiting: 2 s and 0.5 s a step, 20 s for a time of 1.
    for pace in paces.values():
        assert (pace.seconds_per_step, pace.seconds_waited) == (2.0, 0.5)
    assert {name: pace.seconds_left for name, pace in paces.items()} == {
        "steps": pytest.approx(60.0),
        "end": pytest.approx(40.0),
        "both": pytest.approx(40.0),
    }


def test_the_pace_is_that_of_the_last_steps(clock: list[float]) -> None:
    meter = PaceMeter(Time(steps=1000, dt=0.1), 0, 0.0)
    for step in range(1, 41):
        clock[0] += 1.0 if step <= 20 else 3.0
        pace = meter.add(step, 0.1 * step, 0.0)
    assert pace.seconds_per_step == pytest.approx(3.0)
    assert pace.seconds_left == pytest.approx(960 * 3.0)


def test_a_repeated_first_step_has_limits_and_no_pace(clock: list[float]) -> None:
    pace = PaceMeter(Time(steps=5, dt=0.1), 3, 0.3).add(3, 0.3, 0.0)
    assert pace == RunPace(end_step=5)


def test_the_pace_returns_from_attributes_and_unknown_ones_are_ignored() -> None:
    pace = RunPace(5, None, 2.0, 0.0, 6.0)
    assert pace.attributes().keys() == {
        "run/end_step", "run/seconds_per_step", "run/seconds_waited", "run/seconds_left"
    }  # fmt: skip
    assert RunPace.of(pace.attributes() | {"run/end_time": "never", "dt": 0.1}) == pace
    assert RunPace.of({"dt": 0.1}) == RunPace()


def test_the_solvers_figures_return_from_attributes_with_their_units() -> None:
    readings = {"CFL": Reading(0.5), "bulk velocity": Reading(1.5, "m/s")}
    assert monitor_readings(monitor_attributes(readings) | {"dt": 0.1, "title": "x"}) == readings
