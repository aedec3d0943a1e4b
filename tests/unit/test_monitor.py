"""The progress of a run as it is printed."""

from __future__ import annotations

import errno
import io
import os

import pytest

from uzushio._base.parallel import launch
from uzushio._job import monitor
from uzushio._job.monitor import Monitor
from uzushio.solvers.contract import Reading

READINGS = {"CFL": Reading(0.51234), "U": Reading(1.5, "m/s", ".3f")}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(monitor.time, "monotonic", lambda: now[0])
    return now


def test_a_line_has_step_time_readings_pace_and_time_left(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with Monitor(5.0, enabled=True) as shown:
        shown.show_step(10, 0.1, 0.1, READINGS)
        clock[0] += 20.0
        shown.show_step(20, 0.2, 0.2, READINGS)
    line = capsys.readouterr().out.splitlines()[1]
    # 10 steps in 20 s; a tenth of the run in 20 s, so that eight tenths take 160 s.
    for part in ("20%", "step 20", "t 0.2", "CFL 0.5123", "U 1.500 m/s", "2 s/step", "2:40 left"):
        assert part in line


def test_a_line_is_due_after_some_seconds(clock: list[float]) -> None:
    shown = Monitor(5.0, enabled=True)
    assert shown.due()
    shown.show_step(1, 0.0, 0.0, {})
    assert not shown.due()
    clock[0] += 5.0
    assert shown.due()


def test_a_silent_rank_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Monitor(5.0, enabled=False) as shown:
        assert not shown.due()
        shown.show_step(1, 0.0, 0.5, READINGS)
        shown.say("hello")
    assert capsys.readouterr().out == ""


class Closed(io.StringIO):
    """A closed terminal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def write(self, text: str) -> int:
        raise OSError(self._number, os.strerror(self._number))


@pytest.mark.parametrize("number", [errno.EIO, errno.EPIPE])
@pytest.mark.parametrize("columns", ["0", "120"])
def test_output_that_cannot_be_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, number: int, columns: str
) -> None:
    monkeypatch.setenv(launch.TERMINAL, columns)
    monkeypatch.setattr("sys.stdout", Closed(number))
    with Monitor(5.0, enabled=True) as shown:
        shown.show_step(1, 0.5, 0.5, READINGS)
        shown.say("hello")


def test_a_terminal_gets_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(launch.TERMINAL, "120")
    with Monitor(5.0, enabled=True) as shown:
        shown.show_step(1, 0.5, 0.5, READINGS)
        shown.say("Wrote [a] checkpoint.")
    text = capsys.readouterr().out
    assert "━" in text
    assert "50%" in text
    assert "CFL 0.5123" in text
    assert "Wrote [a] checkpoint." in text
    assert max(len(line) for line in text.splitlines()) < 300
