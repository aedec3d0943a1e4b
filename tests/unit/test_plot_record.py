"""Record of a plot: bounded, evenly thinned, with the newest step."""

from __future__ import annotations

import numpy as np
import pytest

from uzushio.pipeline.chart import Chart, ChartAxis, Curve
from uzushio.viewer import plot_record
from uzushio.viewer.plot_record import MAX_STEPS, ChartRecord, PlotRecord


def record(*steps: int) -> PlotRecord:
    made = PlotRecord(["u"])
    for step in steps:
        made.add(step, 0.1 * step, [step**2])
    return made


def test_all_steps_are_there_until_the_record_is_full() -> None:
    steps = np.arange(MAX_STEPS)
    rows = record(*steps).rows
    np.testing.assert_array_equal(rows, np.column_stack([steps, 0.1 * steps, steps**2]))


@pytest.mark.parametrize("count", [1001, 1002, 2000, 2001, 2002, 2003, 3999, 4001, 7777])
def test_a_long_record_is_thinned_evenly_and_ends_with_the_newest_step(count: int) -> None:
    steps = record(*range(count)).rows[:, 0]
    assert MAX_STEPS // 2 <= len(steps) <= MAX_STEPS
    assert steps[0] == 0 and steps[-1] == count - 1
    (stride,) = set(np.diff(steps[:-1]))
    assert 0 < steps[-1] - steps[-2] <= stride
    assert stride == 2 ** np.log2(stride).round()


def test_a_step_that_comes_again_replaces_the_later_ones() -> None:
    plotted = record(0, 1, 2, 3)
    plotted.add(2, 0.2, [7.0])
    np.testing.assert_array_equal(plotted.rows[:, [0, 2]], [[0, 0], [1, 1], [2, 7]])
    long = record(*range(3000))
    for step in (1000, 1001, 1002):
        long.add(step, 0.0, [step])
    assert long.rows[-1, 0] == 1002 and (np.diff(long.rows[:, 0]) > 0).all()
    long.add(0, 0.0, [5.0])
    long.add(1, 0.0, [6.0])
    assert long.rows[:, 2].tolist() == [5.0, 6.0]


def test_charts_of_the_last_steps_are_kept_within_their_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def chart(points: int) -> Chart:
        line = np.zeros(points)
        return Chart(ChartAxis("x"), ChartAxis("y"), (Curve("u", line, line),))

    monkeypatch.setattr(plot_record, "MAX_BYTES", 16 * 100)
    record = ChartRecord()
    for step in range(6):
        record.add(step, 0.1 * step, chart(25))
    assert list(record.charts) == [2, 3, 4, 5]
    record.add(4, 9.0, chart(25))  # a restarted run
    assert list(record.charts) == [2, 3, 5, 4] and record.charts[4][0] == 9.0
    record.add(7, 1.0, chart(1000))  # larger than all
    assert list(record.charts) == [7]
