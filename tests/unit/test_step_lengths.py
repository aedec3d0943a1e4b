"""Lengths of steps, ends of runs and positions: nothing depends on the unit or on the origin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uzushio
from uzushio._base.store.schema import spacing
from uzushio._job.check import number_of_steps
from uzushio.case.model import Time
from uzushio.errors import CaseError
from uzushio.solvers.contract import Estimate, next_step


def steps_to(end: float, longest: float) -> np.ndarray:
    """Lengths of the steps that a run takes."""
    time, lengths, limits = 0.0, [], Time(end=end, dt=longest)
    while not limits.reached(len(lengths), time):
        length = next_step(longest, end - time)
        time += length
        lengths.append(length)
    assert time == pytest.approx(end, rel=1e-14)
    assert not limits.passed(len(lengths), time)
    return np.array(lengths)


@given(st.floats(0.3, 300.0), st.integers(-15, 15))
def test_no_step_is_shorter_than_half_of_the_one_before(steps: float, power: int) -> None:
    longest = 10.0**power
    lengths = steps_to(steps * longest, longest)
    assert (lengths[1:] > 0.5 * lengths[:-1]).all()
    assert lengths.max() <= 1.01 * longest
    assert steps - 0.02 <= 1.01 * len(lengths) < 1.01 * (steps + 1.0)


def test_steps_that_fit_into_the_time_are_as_many_as_fit() -> None:
    lengths = steps_to(1.0, 1e-5)
    assert len(lengths) == 100_000
    np.testing.assert_allclose(lengths, 1e-5, rtol=1e-6)
    case = uzushio.load_case(BOX, {"time": {"dt": 1e-5, "end": 1}})
    assert number_of_steps(case, Estimate("", 0, 0, {}, step_length=1e-5)) == 100_000


BOX: dict[str, Any] = {
    "solver": "thermal",
    "grid": {"x": {"cells": 6}, "y": {"cells": 6}},
    "fluid": {"viscosity": 0.1},
    "boundaries": {
        side: {"type": "wall", "velocity": [float(side == "y-max"), 0, 0]}
        for side in ("x-min", "x-max", "y-min", "y-max")
    },
    "time": {"dt": 1e-13, "end": 1e-12},
    "output": {"figures": False},
}


def test_a_run_of_a_picosecond_takes_its_steps() -> None:
    with uzushio.Simulation(uzushio.load_case(BOX)) as run:
        assert sum(1 for _ in run) == 10
        assert run.solver.time == pytest.approx(1e-12, rel=1e-14)


@pytest.mark.parametrize("origin", [0.0, 1.0, -1e6, 1e9])
@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
def test_points_are_equidistant_wherever_they_are(origin: float, length: float) -> None:
    steps = np.arange(9.0)
    if length / 8 < 1e6 * np.spacing(abs(origin)):
        return  # rounding moves the points
    assert spacing(origin + length / 8 * steps) == pytest.approx(length / 8, rel=1e-5)
    steps[3] += 0.01
    assert spacing(origin + length / 8 * steps) is None


def test_a_checkpoint_of_a_box_beside_it_is_refused_far_from_the_origin(tmp_path: Path) -> None:
    def box(start: float) -> Any:
        axis = {"cells": 6, "start": start, "length": 1}
        output = {"folder": str(tmp_path / "run"), "figures": False}
        return uzushio.load_case(BOX | {"grid": {"x": axis, "y": axis}, "output": output})

    uzushio.run(box(1e9))
    with uzushio.Simulation(box(1e9), restart=tmp_path / "run"):
        pass
    with pytest.raises(CaseError, match="another domain"):
        uzushio.Simulation(box(1e9 + 0.5), restart=tmp_path / "run")
