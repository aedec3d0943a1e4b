"""Goodness of fit, Huber's norm and the background check, against theory."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio._base.observations import Observations
from uzushio.assimilation.background_check import check
from uzushio.assimilation.cost import Cost
from uzushio.assimilation.fit import Fit
from uzushio.assimilation.model import Guess
from uzushio.assimilation.phasefield.case import PhaseFieldCase
from uzushio.assimilation.phasefield.model import PhaseFieldModel
from uzushio.assimilation.problem import Problem
from uzushio.assimilation.schedule import plan
from uzushio.assimilation.summary import fit_lines, poor_fit
from uzushio.errors import CaseError

STEPS, SHAPE, K = 20, (12, 10), 1.2


def case_of(**more: object) -> PhaseFieldCase:
    values: dict[str, object] = {
        "model": "phasefield",
        "grid": {"nx": SHAPE[1], "ny": SHAPE[0]},
        "time": {"steps": STEPS, "dt": 0.1},
        "truth": {"m": 1.0, "side": 0.5},
        "first_guess": {"m": 0.6, "side": 0.4},
        "observations": {"first": 2, "every": 3, "sigma": 0.1},
    }
    return PhaseFieldCase.model_validate(values | more)


def robust(weights: str) -> tuple[PhaseFieldModel, Observations, Guess]:
    """Observations with wrong values among them, and a point whose residuals are on both sides."""
    model, rng = PhaseFieldModel(case_of(), MPI.COMM_SELF), np.random.default_rng(5)
    problem = Problem(case_of(), MPI.COMM_SELF)
    observations = problem.observe()
    values = observations.values + np.where(rng.random(observations.values.shape) < 0.1, 3.0, 0.0)
    weight: Any = 100.0
    if weights == "pointwise":
        weight = 100.0 * rng.uniform(0.3, 2.0, size=values.shape)
        weight[rng.random(values.shape) < 0.2] = 0.0
    guess = model.first_guess()
    here = Guess(guess.state + 0.1 * rng.normal(size=SHAPE), np.array([0.8]))
    return model, Observations(observations.steps, values, weight, huber=K), here


def cost_of(model: PhaseFieldModel, observations: Observations, states: int = STEPS) -> Cost:
    return Cost(model, observations, plan(STEPS, states), model.first_guess(), [0.5, 2.0])


WEIGHTS = pytest.mark.parametrize("weights", ["uniform", "pointwise"])


@WEIGHTS
def test_hubers_norm_of_a_run_is_that_of_its_definition(weights: str) -> None:
    model, observations, here = robust(weights)
    state, expected, now, linear = here.state.copy(), 0.0, 0, 0
    for index, step in enumerate(observations.steps):
        model.forward(state, here.parameters, now, step)
        now = step
        far = np.sqrt(observations.weight_of(index)) * np.abs(state - observations.values[index])
        expected += float(np.where(far <= K, 0.5 * far**2, K * far - 0.5 * K**2).sum())
        linear += int((far > K).sum())
    assert 100 < linear < 700
    cost = cost_of(model, observations)
    background = cost.background_value(here)
    values = {cost.value(here.state, here.parameters), cost.value_at(here)}
    values.add(cost.value_and_gradient(here.state, here.parameters, 1.0, np.empty(SHAPE))[0])
    assert len(values) == 1
    assert values.pop() == pytest.approx(expected + background, rel=1e-13)
    squares = cost_of(model, replace(observations, huber=math.inf)).value_at(here)
    unlimited = cost_of(model, replace(observations, huber=1e6)).value_at(here)
    assert unlimited == pytest.approx(squares, rel=1e-14) and squares > 2.0 * (
        expected + background
    )


@WEIGHTS
def test_the_gradient_and_hessian_of_hubers_norm_are_derivatives(weights: str) -> None:
    """The first one by a Taylor series, whose remainder falls with the square of the distance."""
    model, observations, here = robust(weights)
    gradients = []
    for states in (STEPS, 6, 1):
        cost = cost_of(model, observations, states)
        value = cost.value(here.state, here.parameters)
        of_state, of_m = cost.gradient(here.state, here.parameters)
        out = np.empty(SHAPE)
        _, same = cost.value_and_gradient(here.state, here.parameters, 1.0, out)
        gradients += [of_state.tobytes() + of_m.tobytes(), out.tobytes() + same.tobytes()]
    assert len(set(gradients)) == 1
    rng = np.random.default_rng(1)
    way = Guess(rng.normal(size=SHAPE), rng.normal(size=1))
    slope = float(np.sum(of_state * way.state) + of_m @ way.parameters)

    def ahead(length: float) -> Guess:
        moved = here.parameters + length * way.parameters
        return Guess(here.state + length * way.state, moved)

    rest = [abs(cost.value_at(ahead(h)) - value - h * slope) for h in (1e-3, 1e-4)]
    assert math.log10(rest[0] / rest[1]) == pytest.approx(2.0, abs=0.1)

    ends = []
    for h in (1e-7, -1e-7):  # short: no residual crosses the limit
        there = ahead(h)
        cost.value(there.state, there.parameters)
        ends.append(cost.gradient(there.state, there.parameters))
    product = cost.hessian(here, 3 * STEPS).product(way.state, way.parameters)
    for exact, plus, minus in zip(product, *ends, strict=True):
        np.testing.assert_allclose(exact, (plus - minus) / 2e-7, rtol=0, atol=2e-3)
        assert np.abs(exact).max() > 1.0


# ---- a linear Gaussian twin ---------------------------------------------------------------------

SMALL = 1e-4


def linear_fit(seed: int, background: bool, **observed: object) -> Fit:
    """The fit of a twin whose truth is drawn from the background, in which the model is linear."""
    sections = {"phi": {"sigma": 2 * SMALL}, "m": {"sigma": 30 * SMALL}} if background else {}
    case = case_of(
        time={"steps": 6, "dt": 0.02},
        first_guess={"m": 1.0, "side": 0.5},
        observations={"sigma": SMALL, "seed": seed, "every": 2} | observed,
        controls=sections,
        optimiser={"first_window": None, "tolerance": 1e-4},
    )
    problem, rng = Problem(case, MPI.COMM_SELF), np.random.default_rng(seed)
    guess = problem.guess
    problem.truth = Guess(
        guess.state + 2 * SMALL * rng.normal(size=SHAPE),
        guess.parameters + 30 * SMALL * rng.normal(size=1),
    )
    problem.observe()
    parts = problem.set_up_search(problem.scales(guess, 6), 6)
    parts.search.begin()
    while parts.search.ended is None:
        parts.search.step()
    return problem.fit(parts.cost, parts.space, parts.search.point, 6)


def mean(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def test_2j_of_a_linear_gaussian_twin_has_the_mean_and_spread_of_chi_square() -> None:
    fits = [linear_fit(seed, background=True) for seed in range(60)]
    (n,) = {fit.values for fit in fits}
    assert n == 3 * 120 and {fit.expected for fit in fits} == {1.0}
    ratio, error = mean([fit.ratio for fit in fits])
    assert abs(ratio - 1.0) < 4.0 * error < 0.05
    spread = np.std([fit.ratio for fit in fits], ddof=1)
    assert spread / fits[0].spread == pytest.approx(1.0, abs=4.0 / math.sqrt(2.0 * 59))
    # Desroziers: (o - a)(o - b) is sigma², although (o - a)² alone is less and (o - b)² more.
    consistent, error = mean([fit.desroziers for fit in fits])  # type: ignore[misc]
    assert abs(consistent - 1.0) < 4.0 * error < 0.05
    assert all(fit.chi_square < 0.9 for fit in fits)  # type: ignore[operator]
    assert all(fit.innovation_rms > 1.5 for fit in fits)  # type: ignore[operator]
    assert {fit.verdict for fit in fits} == {"good"}
    for fit in fits[:3]:
        assert sum(each.values for each in fit.times) == n
        of_times = sum(each.values * each.chi_square for each in fit.times)  # type: ignore[operator]
        assert of_times / n == pytest.approx(fit.chi_square) == pytest.approx(2.0 * fit.J_o / n)
        assert 2.0 * (fit.J_o + fit.J_b) / n == fit.ratio
        assert np.mean(fit.rms**2) == pytest.approx(fit.chi_square)


def test_each_control_without_background_takes_a_degree_of_freedom() -> None:
    fits = [linear_fit(seed, background=False, every=1) for seed in range(40)]
    (n,) = {fit.values for fit in fits}
    ratio, error = mean([fit.ratio for fit in fits])
    expected = (n - 121) / n
    assert fits[0].expected == pytest.approx(expected)
    assert fits[0].expected_at_most == pytest.approx((n - 1) / n)
    assert abs(ratio - expected) < 4.0 * error < 0.05


def test_too_small_and_too_large_sigmas_are_noticed() -> None:
    """The errors are 1.4 times or a third of the sigma that J assumes."""

    def judged(factor: float) -> Fit:
        case = case_of(
            first_guess={"m": 1.0, "side": 0.5},
            observations={"sigma": 0.1},
            controls={"phi": {"sigma": 0.01}, "m": {"sigma": 0.1}},
        )
        problem = Problem(case, MPI.COMM_SELF)
        given = problem.observe()
        problem.observations = replace(given, weight=given.weight / factor**2)
        parts = problem.set_up_search([0.01, 0.1], STEPS)
        return problem.fit(parts.cost, parts.space, parts.search.point, STEPS)

    assert judged(1.0).verdict == "good"
    small, large = judged(1.0 / 1.4), judged(3.0)
    assert (small.verdict, large.verdict) == ("poor", "too close")
    assert small.ratio == pytest.approx(1.4**2, abs=0.2)
    assert "2J/N is 1.9" in poor_fit(small)
    assert "is probably too large" in "\n".join(fit_lines(large.figures()))


def test_large_errors_at_one_time_alone_are_a_poor_fit() -> None:
    case = case_of(
        first_guess={"m": 1.0, "side": 0.5},
        observations={"sigma": 0.1},
        controls={"phi": {"sigma": 0.01}, "m": {"sigma": 0.1}},
    )
    problem = Problem(case, MPI.COMM_SELF)
    problem.observe()
    problem.observations.values[12] += 0.14 * np.random.default_rng(2).normal(size=SHAPE)
    parts = problem.set_up_search([0.01, 0.1], STEPS)
    fit = problem.fit(parts.cost, parts.space, parts.search.point, STEPS)
    assert fit.ratio < 1.0 + 5.0 * fit.spread  # over all times it is inconspicuous
    assert fit.poor_times == 1 and fit.verdict == "poor"
    assert "at 1 of 20 times chi² is too large, most at t = 1.3 (" in poor_fit(fit)


# ---- wrong values -------------------------------------------------------------------------------


def estimate(problem: Problem) -> tuple[float, Fit]:
    """The estimate of m and the fit."""
    parts = problem.set_up_search(problem.scales(problem.guess, STEPS), STEPS)
    parts.search.begin()
    while parts.search.ended is None:
        parts.search.step()
    fit = problem.fit(parts.cost, parts.space, parts.search.point, STEPS)
    return float(parts.space.parameters(parts.search.point)[0]), fit


def with_wrong_values(seed: int = 0, **observed: object) -> Problem:
    """A twin with 2 % of wrong values, all of 5."""
    case = case_of(
        observations={"sigma": 0.1, "seed": seed} | observed,
        controls={"phi": {"sigma": 0.3}, "m": {"sigma": 2.0}},
        optimiser={"first_window": None},
    )
    problem = Problem(case, MPI.COMM_SELF)
    problem.observations = given = problem.observe()
    given.values[np.random.default_rng(seed).random(given.values.shape) < 0.02] = 5.0
    return problem


def test_a_few_wrong_values_are_a_poor_fit_and_hubers_norm_is_safe_from_them() -> None:
    by_squares = [estimate(with_wrong_values(seed)) for seed in range(6)]
    by_huber = [estimate(with_wrong_values(seed, huber=1.5)) for seed in range(6)]
    errors = [
        math.sqrt(np.mean([(m - 1.0) ** 2 for m, _ in estimates]))
        for estimates in (by_squares, by_huber)
    ]
    assert errors[1] < 0.03 and errors[0] > 2.0 * errors[1]
    normal = math.erfc(1.5 / math.sqrt(2.0))
    for _, poor in by_squares:
        assert poor.is_poor and poor.ratio > 10.0 * poor.robust_chi_square
        assert "mask them, or set observations.huber" in poor_fit(poor)
    for _, fit in by_huber:
        assert fit.verdict == "good" and fit.robust_chi_square == pytest.approx(1.0, abs=0.15)
        assert fit.linear / fit.values == pytest.approx(0.02 + 0.98 * normal, abs=0.03)
        assert "Those beyond 5 sigma still pull" in "\n".join(fit_lines(fit.figures()))


def test_the_background_check_leaves_out_values_far_from_the_first_guess() -> None:
    problem = with_wrong_values(1)
    observations, model = problem.observations, problem.model
    wrong = observations.values == 5.0
    kept, result = check(model, observations, problem.guess, 30.0)
    assert np.array_equal(kept.weight == 0.0, wrong)
    assert result.rejected == wrong.sum() and result.values == wrong.size and not result.warning
    problem.observations = kept
    m, fit = estimate(problem)
    assert abs(m - 1.0) < 0.1 and fit.verdict == "good"
    _, many = check(model, observations, problem.guess, 1.0)
    assert "the first guess is too far from them" in many.warning
    with pytest.raises(CaseError, match="choose a larger limit"):
        check(model, observations, problem.guess, 1e-9)
