"""Ensembles of perturbed assimilations: their spread is that of the posterior."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from uzushio.assimilation.case import Uncertainty
from uzushio.assimilation.deviations import deviations
from uzushio.assimilation.ensemble import Member, MemberFiles, ensemble_spreads, table
from uzushio.assimilation.model import Guess
from uzushio.assimilation.noise import Stream, normal
from uzushio.assimilation.perturbed import Perturber
from uzushio.assimilation.phasefield.case import PhaseFieldCase
from uzushio.assimilation.problem import Problem

SMALL = 1e-4
MEMBERS = 24


def problem() -> Problem:
    """A twin whose errors are so small that the phase field is linear within them."""
    case = PhaseFieldCase.model_validate(
        {
            "model": "phasefield",
            "grid": {"nx": 10, "ny": 12},
            "time": {"steps": 20, "dt": 0.1},
            "truth": {"m": 0.8, "side": 0.5},
            "first_guess": {"m": 0.8, "side": 0.5},
            "observations": {"first": 2, "every": 3, "sigma": SMALL},
            "controls": {"phi": {"sigma": 2 * SMALL}, "m": {"sigma": 30 * SMALL}},
            "optimiser": {"first_window": None, "tolerance": 1e-5},
            "uncertainty": {"kind": "ensemble", "iterations": 120, "tolerance": 1e-9},
        }
    )
    made = Problem(case, MPI.COMM_SELF)
    made.observe()
    return made


def test_members_of_a_linear_model_scatter_by_the_inverse_hessian(
    tmp_path: Path,
) -> None:
    posed = problem()
    steps = 20
    parts = posed.set_up_search(posed.scales(posed.guess, steps), steps)
    search, space = parts.search, parts.space
    search.begin()
    while search.ended is None:
        search.step()
    estimate = Guess(space.state(search.point), space.parameters(search.point))
    hessian = parts.cost.hessian(estimate, posed.states)
    wanted = Uncertainty(iterations=120, tolerance=1e-9)

    def newton(gradient: np.ndarray) -> tuple[float, float]:
        """The standard deviation of m, and how far the minimum of J is."""
        (deviation,) = deviations(space, hessian, search.point, gradient, wanted, lambda: None)
        assert deviation.sd is not None and deviation.to_minimum is not None
        return deviation.sd, deviation.to_minimum

    ensemble = posed.ensemble(parts)
    files = MemberFiles(tmp_path, {"of": "this test"})
    completed: list[Member] = []
    members = ensemble.run(MEMBERS, files, lambda: False, completed.append, MPI.COMM_SELF)
    assert members is not None and [member.number for member in completed] == list(
        range(1, MEMBERS + 1)
    )

    # Each member is at the minimum of its own J, computed by one Newton step from the estimate.
    sd, _ = newton(search.gradient)
    m = float(estimate.parameters[0])
    assert posed.observations is not None
    perturber = Perturber(posed.model, posed.observations, posed.guess, posed.sigmas, 0)
    cost, unit = ensemble._cost, float(space.scales[0])
    for member in members[:3]:
        cost.compare_with(
            perturber.observations(member.number), perturber.background(member.number)
        )
        cost.value(space.part(search.point), estimate.parameters, unit)
        of_state, of_m = cost.gradient(space.part(search.point), estimate.parameters, unit)
        gradient = np.concatenate([of_state.reshape(-1), of_m * space.scales[1:]])
        _, step = newton(gradient)
        assert member.parameters[0] - m == pytest.approx(step, abs=0.02 * sd)

    # Their scatter about the estimate is the posterior's.
    (spread,) = ensemble_spreads(members)
    assert spread.sampling_error == pytest.approx(1.0 / math.sqrt(2.0 * (MEMBERS - 1)))
    assert abs(spread.sd / sd - 1.0) < 3.0 * spread.sampling_error
    assert abs(spread.mean - m) < 3.0 * sd / math.sqrt(MEMBERS)

    # Completed members are not computed again in a larger ensemble.
    completed.clear()
    again = ensemble.run(MEMBERS + 1, files, lambda: False, completed.append, MPI.COMM_SELF)
    assert again is not None and again[:-1] == members
    assert [member.number for member in completed] == [MEMBERS + 1]
    assert ensemble.run(MEMBERS + 3, files, lambda: True, completed.append, MPI.COMM_SELF) is None


def test_errors_that_are_added_have_the_sigmas_of_observations_and_background() -> None:
    posed = problem()
    observations, guess = posed.observations, posed.guess
    assert observations is not None
    weight = np.full(observations.values.shape[1:], 1.0 / SMALL**2)
    weight[3] = 0.0  # not observed
    observations = replace(observations, weight=weight)
    perturber = Perturber(posed.model, observations, guess, [2 * SMALL, None], 5)
    errors, of_state = [], []
    for member in range(1, 60):
        errors.append(perturber.observations(member).values - observations.values)
        background = perturber.background(member)
        of_state.append(background.state - guess.state)
        assert background.parameters[0] == guess.parameters[0]  # m has no background
    errors, of_state = np.array(errors), np.array(of_state)  # type: ignore[assignment]
    assert not errors[:, :, 3].any()  # type: ignore[call-overload]
    kept = np.delete(errors, 3, axis=2)
    assert kept.std() == pytest.approx(SMALL, rel=0.02)
    assert np.std(of_state) == pytest.approx(2 * SMALL, rel=0.03)
    # Of one member, step and point they are independent of those of any other.
    flat = kept.reshape(len(kept), -1)
    assert abs(np.corrcoef(flat[0], flat[1])[0, 1]) < 0.15
    assert abs(np.corrcoef(kept[0, 0].reshape(-1), kept[0, 1].reshape(-1))[0, 1]) < 0.4


def test_noise_depends_on_stream_and_point_not_on_the_requested_part() -> None:
    shape, whole = (9, 14), (slice(0, 9), slice(0, 14))
    streams = [Stream(member, of) for member in (0, 1, 2) for of in ("observations", "state")]  # type: ignore[arg-type]
    noise = [normal(3, 7, shape, whole, stream) for stream in streams]
    assert len({values.tobytes() for values in noise}) == len(streams)
    part = normal(3, 7, shape, (slice(2, 5), slice(3, 11)), streams[-1])
    assert part.tobytes() == noise[-1][2:5, 3:11].tobytes()
    assert normal(3, 7, shape, whole).tobytes() == noise[0].tobytes()  # a twin's own


def test_members_of_another_estimate_and_damaged_files_are_computed_again(tmp_path: Path) -> None:
    files = MemberFiles(tmp_path, {"estimate": 1.0})
    member = Member(1, [0.25], 3.0, 4, 5, 6, "it was, at last")
    files.write(member)
    files.write(replace(member, number=2))
    assert list(files.done(9)) == [1, 2] and files.done(9)[1] == member
    assert MemberFiles(tmp_path, {"estimate": 1.5}).done(9) == {}
    (tmp_path / "members/00002.json").write_text('{"of": ')
    assert list(files.done(9)) == [1]


def test_the_table_of_members_can_be_read_back() -> None:
    member = Member(1, [0.1 + 0.2], 1e-3, 4, 5, 6, "it was")
    head, row = table([member], ["m"]).splitlines()
    assert head == "member,m,J,iterations,forward,backward,ended"
    assert float(row.split(",")[1]) == member.parameters[0]
