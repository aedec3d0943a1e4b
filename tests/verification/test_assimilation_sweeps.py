"""Gradients and Hessian products of J for any stored part of the trajectory."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from uzushio._base.observations import Observations
from uzushio.assimilation.cost import Cost
from uzushio.assimilation.deviations import Deviation, deviations
from uzushio.assimilation.hessian import Hessian, hessian_plan
from uzushio.assimilation.minimise import Minimiser, Settings
from uzushio.assimilation.model import Guess, Model
from uzushio.assimilation.noise import normal
from uzushio.assimilation.phasefield.case import PhaseFieldCase
from uzushio.assimilation.phasefield.model import PhaseFieldModel
from uzushio.assimilation.problem import Problem
from uzushio.assimilation.schedule import CheckpointingPlan, ScheduleAction, plan
from uzushio.assimilation.space import ControlSpace
from uzushio.assimilation.sweeps import Counts
from uzushio.assimilation.twin import observe
from uzushio.assimilation.uncertainty import solve
from uzushio.errors import CaseError

STEPS = 20


def case_of(shape: tuple[int, int] = (12, 10), **more: object) -> PhaseFieldCase:
    rows, columns = shape
    values: dict[str, object] = {
        "model": "phasefield",
        "grid": {"nx": columns, "ny": rows},
        "time": {"steps": STEPS, "dt": 0.1},
        "truth": {"m": 1.0, "side": 0.5},
        "first_guess": {"m": 0.6, "side": 0.4},
        "observations": {"first": 2, "every": 3, "sigma": 0.1},
    }
    return PhaseFieldCase.model_validate(values | more)


@pytest.fixture(scope="module")
def model() -> Model:
    return PhaseFieldModel(case_of(), MPI.COMM_SELF)


@pytest.fixture(scope="module")
def observations(model: Model) -> Observations:
    truth = model.truth()
    assert truth is not None
    return observe(model, truth, case_of())


def cost_of(model: Model, observations: Observations, kept: CheckpointingPlan) -> Cost:
    return Cost(model, observations, kept, model.first_guess(), [0.5, 2.0])


def point(model: Model) -> Guess:
    """Somewhere between, with nothing even."""
    rng = np.random.default_rng(5)
    guess = model.first_guess()
    return Guess(guess.state + 0.1 * rng.normal(size=guess.state.shape), np.array([0.8]))


# ---- schedules ----------------------------------------------------------------------------------


def follow(kept: CheckpointingPlan) -> tuple[int, list[int], int]:
    """Go through a plan: forward steps, steps that were reversed, most slots in use at a time.

    Every step must be reversed from its own state, and every slot must hold the planned state.
    """
    at, window, held = 0, range(0), {0: 0}
    computed, reversed_steps, most = 0, list[int](), 0
    for entry in kept.actions():
        assert (
            entry.action is ScheduleAction.RESTORE
            or at == entry.first
            or entry.action is ScheduleAction.REVERSE
        )
        if entry.action in (ScheduleAction.ADVANCE, ScheduleAction.RECORD):
            window = (
                range(entry.first, entry.last) if entry.action is ScheduleAction.RECORD else window
            )
            assert len(window) <= kept.window
            saved = entry.action is ScheduleAction.RECORD and bool(reversed_steps) and kept.appends
            computed += entry.last - entry.first - saved
            at = entry.last
        elif entry.action is ScheduleAction.STORE:
            held[entry.slot] = at
            held = {slot: state for slot, state in held.items() if slot <= entry.slot}
            most = max(most, entry.slot)
        elif entry.action is ScheduleAction.RESTORE:
            assert held[entry.slot] == entry.first
            at = entry.first
        else:
            assert window == range(entry.first, entry.last)
            reversed_steps += reversed(window)
    return computed, reversed_steps, most


@pytest.mark.parametrize("appends", [True, False])
@pytest.mark.parametrize("states", [1, 2, 3, 5, 16, 40, 127, 128])
@pytest.mark.parametrize("steps", [1, 7, 128])
def test_a_schedule_reverses_every_step_once_within_its_memory(
    steps: int, states: int, appends: bool
) -> None:
    kept = plan(steps, states, appends=appends)
    computed, reversed_steps, most = follow(kept)
    assert reversed_steps == list(range(steps - 1, -1, -1))
    assert most <= kept.snapshots and kept.snapshots + kept.window <= max(states, steps)
    assert min(states, steps) >= kept.window
    assert computed == kept.forward_steps


@pytest.mark.parametrize("every", [2, 8])
@pytest.mark.parametrize("states", [1, 3, 10, 16])
def test_windows_are_longer_where_only_some_of_their_states_are_kept(
    every: int, states: int
) -> None:
    kept, dense = plan(128, states, every=every), plan(128, states)
    computed, reversed_steps, most = follow(kept)
    assert reversed_steps == list(range(127, -1, -1))
    assert most + -(-kept.window // every) <= states
    assert computed == kept.forward_steps <= dense.forward_steps
    assert (kept.window == 128) == (states * every >= 128)


def test_with_room_for_all_states_no_step_is_computed_twice() -> None:
    assert plan(128, 128) == CheckpointingPlan(128, 0, 128, 128)


def test_fewer_steps_are_computed_than_by_revolve() -> None:
    """128 steps and 16 states: 366 by Revolve, 249 by a mixed schedule (Maddison 2024)."""
    assert plan(128, 16).forward_steps <= 249
    assert plan(128, 16, appends=False).forward_steps < 366


def test_long_runs_are_planned_in_units_and_stay_within_the_memory() -> None:
    kept = plan(3000, 50)
    computed, reversed_steps, _ = follow(kept)
    assert reversed_steps == list(range(2999, -1, -1))
    assert computed == kept.forward_steps < 4 * 3000


# ---- gradients ----------------------------------------------------------------------------------


def test_every_schedule_gives_the_same_j_and_gradient_to_the_bit(
    model: Model, observations: Observations
) -> None:
    here = point(model)
    results = []
    for states in (STEPS, 19, 11, 7, 4, 2, 1):
        for appends in (True, False):
            cost = cost_of(model, observations, plan(STEPS, states, appends=appends))
            value = cost.value(here.state, here.parameters)
            of_state, of_parameters = cost.gradient(here.state, here.parameters)
            results.append((value, of_state.tobytes(), of_parameters.tobytes()))
            assert cost.counts.forward_steps == cost.sweeps.plan.forward_steps
            assert cost.counts.backward_steps == STEPS
            out = np.empty_like(here.state)
            value, of_parameters = cost.value_and_gradient(here.state, here.parameters, 1.0, out)
            results.append((value, out.tobytes(), of_parameters.tobytes()))
            if states == STEPS:
                # Of 20 steps the states 0, 8 and 16 were kept, twice.
                assert cost.counts.replayed_steps == 2 * (STEPS - 3)
    assert len(set(results)) == 1


def test_the_gradient_is_the_slope_of_j(model: Model, observations: Observations) -> None:
    """The remainder of a Taylor series with it falls with the square of the distance."""
    here, cost = point(model), cost_of(model, observations, plan(STEPS, 6))
    rng = np.random.default_rng(1)
    way = Guess(rng.normal(size=here.state.shape), rng.normal(size=1))
    value = cost.value(here.state, here.parameters)
    of_state, of_parameters = cost.gradient(here.state, here.parameters)
    slope = float(np.sum(of_state * way.state) + of_parameters @ way.parameters)
    rest = []
    for length in (1e-3, 1e-4):
        there = cost.value(
            here.state + length * way.state, here.parameters + length * way.parameters
        )
        rest.append(abs(there - value - length * slope))
    assert np.log10(rest[0] / rest[1]) == pytest.approx(2.0, abs=0.05)


def hessian(model: Model, observations: Observations, here: Guess, states: int) -> Hessian:
    kept = hessian_plan(STEPS, states, model.appends)
    return Hessian(model, observations, here, (4.0, np.array([0.25])), kept, Counts())


def test_products_with_the_hessian_are_the_slope_of_the_gradient(
    model: Model, observations: Observations
) -> None:
    here, cost = point(model), cost_of(model, observations, plan(STEPS, STEPS))
    rng = np.random.default_rng(2)
    way = Guess(rng.normal(size=here.state.shape), rng.normal(size=1))
    products = hessian(model, observations, here, 3 * STEPS).product(way.state, way.parameters)
    ends = []
    for sign in (1.0, -1.0):
        length = sign * 1e-5
        state, parameters = (
            here.state + length * way.state,
            here.parameters + length * way.parameters,
        )
        cost.value(state, parameters)
        ends.append(cost.gradient(state, parameters))
    for product, plus, minus in zip(products, *ends, strict=True):
        np.testing.assert_allclose(product, (plus - minus) / 2e-5, rtol=0, atol=2e-4)
        assert np.abs(product).max() > 1.0


def test_every_schedule_gives_the_same_products_to_the_bit(
    model: Model, observations: Observations
) -> None:
    here, rng = point(model), np.random.default_rng(3)
    ways = [(rng.normal(size=here.state.shape), rng.normal(size=1)) for _ in range(2)]
    products = []
    for states in (3 * STEPS, 31, 20, 9, 3):
        product = hessian(model, observations, here, states)
        made = [product.product(*way) for way in ways]
        products.append(b"".join(part.tobytes() for parts in made for part in parts))
    assert len(set(products)) == 1


@pytest.mark.parametrize("boundary", ["zero_flux", "periodic"])
def test_the_metric_of_the_phase_field_follows_from_diffusion(boundary: str) -> None:
    case = case_of(grid={"nx": 10, "ny": 12, "boundary": boundary})
    phase_field = PhaseFieldModel(case, MPI.COMM_SELF)
    metric = phase_field.metric(40, math.inf)
    assert metric is not None
    state = np.random.default_rng(4).normal(size=phase_field.shape)
    wide = np.pad(state, 1, mode="edge" if boundary == "zero_flux" else "wrap")
    around = wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1]
    expected = state - 2.0 * (around - 4.0 * state)  # a steps / 2 = 2: a step diffuses by a = 0.1
    metric(state)
    np.testing.assert_allclose(state, expected, rtol=0, atol=1e-13)
    # A background as precise as all observations makes the problem well conditioned.
    assert phase_field.metric(20, 1.0) is None


@pytest.mark.parametrize("controls", [{}, {"phi": {"sigma": 1.0, "bounds": [-0.5, 1.5]}}])
def test_with_the_metric_a_search_takes_a_fraction_of_the_iterations(
    controls: dict[str, object],
) -> None:
    """J is the same within its tolerance, with and without a background."""
    taken, values = [], []
    for metric in (True, False):
        case = case_of(
            (48, 40),
            time={"steps": 128, "dt": 0.1},
            first_guess={"m": 0.9, "side": 0.4},
            observations={"sigma": 0.1},
            optimiser={"metric": metric, "tolerance": 1e-3},
            controls=controls,
        )
        problem = Problem(case, MPI.COMM_SELF)
        problem.observe()
        search = problem.set_up_search(problem.scales(problem.guess, 128), 128).search
        search.begin()
        while search.ended is None and search.iteration < 1000:
            search.step()
        assert search.ended is not None and search.ended.startswith("J is expected to fall by")
        taken.append(search.iteration)
        values.append(search.value)
    assert taken[0] <= 0.5 * taken[1], taken
    assert values[0] <= values[1] + 0.01


# ---- uncertainty --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cg", "minres"])
def test_the_standard_deviation_is_that_of_the_dense_hessian(model: Model, method: str) -> None:
    """At the truth, which is the minimum of J without noise."""
    exact = observe(model, _truth(model), case_of(observations={"sigma": 1e-9}))
    observations = Observations(exact.steps, exact.values, 100.0)
    case = case_of(uncertainty={"method": method, "iterations": 200, "tolerance": 1e-8})
    space = ControlSpace(MPI.COMM_SELF, model.shape, [0.5, 0.25], [(None, None)] * 2)
    truth = _truth(model)
    product = hessian(model, observations, truth, 3 * STEPS)
    size = truth.state.size + 1
    dense = np.empty((size, size))
    for column in range(size):
        unit = np.zeros(size)
        unit[column] = 1.0
        of_state, of_parameters = product.product(unit[:-1].reshape(model.shape), unit[-1:])
        dense[:, column] = np.concatenate([of_state.reshape(-1), of_parameters])
    assert np.abs(dense - dense.T).max() <= 1e-12 * np.abs(dense).max()
    expected = np.sqrt(np.linalg.inv(dense)[-1, -1])
    at = space.vector(truth.state, truth.parameters)
    (deviation,) = deviations(space, product, at, np.zeros(size), case.uncertainty, lambda: None)
    assert deviation.sd == pytest.approx(expected, rel=1e-6)
    assert deviation.residual is not None and deviation.residual <= 1e-7
    assert deviation.note == "" and 1 < deviation.products <= 200
    once = case_of(uncertainty={"method": method, "iterations": 1}).uncertainty
    (rough,) = deviations(space, product, at, np.zeros(size), once, lambda: None)
    assert rough.sd is not None and rough.sd < 0.95 * expected
    assert "the true standard deviation is larger; raise" in rough.note


def _truth(model: Model) -> Guess:
    truth = model.truth()
    assert truth is not None
    return truth


@pytest.mark.parametrize("method", ["cg", "minres"])
def test_away_from_a_minimum_there_is_no_deviation_but_a_reason(
    model: Model, observations: Observations, method: str
) -> None:
    """At the first guess the Hessian has a negative eigenvalue, and MINRES a solution."""
    case = case_of(uncertainty={"method": method, "iterations": 200, "tolerance": 1e-8})
    space = ControlSpace(MPI.COMM_SELF, model.shape, [0.5, 0.25], [(None, None)] * 2)
    here = model.first_guess()
    at = space.vector(here.state, here.parameters)
    product = hessian(model, observations, here, 3 * STEPS)
    (deviation,) = deviations(
        space, product, at, np.zeros(space.size), case.uncertainty, lambda: None
    )
    assert deviation.sd is None and deviation.note.startswith("J has negative curvature")


def test_a_parameter_at_its_bound_has_no_deviation(
    model: Model, observations: Observations
) -> None:
    case, here = case_of(), model.first_guess()
    space = ControlSpace(MPI.COMM_SELF, model.shape, [1.0, 1.0], [(None, None), (0.6, 2.0)])
    gradient = np.ones(space.size)
    at = space.vector(here.state, here.parameters)
    product = hessian(model, observations, here, 3 * STEPS)
    (deviation,) = deviations(space, product, at, gradient, case.uncertainty, lambda: None)
    assert deviation.sd is None and deviation.note == "it is at its bound"


def test_negative_curvature_of_j_gives_no_deviation() -> None:
    matrix = np.diag([3.0, -1.0, 2.0])
    space = ControlSpace(MPI.COMM_SELF, (1, 2), [1.0, 1.0], [(None, None)] * 2)
    right = np.ones(3)
    assert solve(space, lambda v: matrix @ v, right, "cg", 20, 1e-10).indefinite
    solved = solve(space, lambda v: matrix @ v, right, "minres", 20, 1e-10)
    np.testing.assert_allclose(solved.solution, right / np.diag(matrix), atol=1e-10)
    assert solved.residual < 1e-9


def test_m_scatters_by_its_deviation_over_repeated_noise() -> None:
    """40 minima of J for as many draws of noise; the background at the truth and wide."""
    errors, reported = [], []
    for seed in range(40):
        case = case_of(
            (16, 16),
            first_guess={"m": 1.0, "side": 0.5},
            observations={"sigma": 0.05, "seed": seed},
        )
        model = PhaseFieldModel(case, MPI.COMM_SELF)
        truth = model.truth()
        assert truth is not None
        observations = observe(model, truth, case)
        cost = Cost(model, observations, plan(STEPS, STEPS), truth, [0.5, None])
        space = ControlSpace(MPI.COMM_SELF, model.shape, [0.02, 0.02], [(None, None)] * 2)
        search = Minimiser(
            space,
            _Alone(cost, space),
            space.vector(truth.state, truth.parameters),
            Settings(tolerance=1e-3),
        )
        search.begin()
        while search.ended is None and search.iteration < 200:
            search.step()
        estimate = Guess(space.state(search.point), space.parameters(search.point))
        errors.append(float(estimate.parameters[0]) - 1.0)
        if seed % 8 == 0:
            product = cost.hessian(estimate, 3 * STEPS)
            (deviation,) = deviations(
                space, product, search.point, search.gradient, case.uncertainty, lambda: None
            )
            assert deviation.sd is not None
            reported.append(deviation.sd)
    # The scatter of 40 draws is known to within 11 %; the background adds a little certainty.
    assert np.std(errors) == pytest.approx(np.mean(reported), rel=0.35)
    assert abs(np.mean(errors)) < 3.0 * np.mean(reported) / np.sqrt(40)


def test_a_search_that_stopped_early_estimates_its_distance_to_the_minimum(
    model: Model, observations: Observations
) -> None:
    case = case_of(uncertainty={"iterations": 200, "tolerance": 1e-8})
    cost = cost_of(model, observations, plan(STEPS, STEPS))
    space = ControlSpace(MPI.COMM_SELF, model.shape, [0.02, 0.02], [(None, None)] * 2)
    truth = _truth(model)
    search = Minimiser(
        space,
        _Alone(cost, space),
        space.vector(truth.state, truth.parameters),
        Settings(tolerance=1e-9),
    )
    search.begin()
    early: tuple[np.ndarray, np.ndarray] | None = None
    while search.ended is None and search.iteration < 400:
        search.step()
        if search.iteration == 25:
            early = search.point.copy(), search.gradient.copy()
    assert early is not None
    point, gradient = early
    here = Guess(space.state(point), space.parameters(point))
    product = cost.hessian(here, 3 * STEPS)
    (deviation,) = deviations(space, product, point, gradient, case.uncertainty, lambda: None)
    assert deviation.sd is not None and deviation.to_minimum is not None
    away = float(space.parameters(search.point)[0] - here.parameters[0])
    assert abs(away) > 1e-3 * deviation.sd
    assert deviation.to_minimum == pytest.approx(away, rel=0.15)


class _Diagonal:
    """Hessian of ½ Σ (k + 1) x_k², of two points and a parameter."""

    def product(self, state: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return state * [1.0, 2.0], 3.0 * parameters


def test_a_predicted_minimum_is_reported_only_if_the_cost_decreases_towards_it() -> None:
    space = ControlSpace(MPI.COMM_SELF, (1, 2), [1.0, 1.0], [(None, None)] * 2)
    curvature, point = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 2.0])
    settings = case_of().uncertainty

    def deviation_of(value: Callable[[np.ndarray], float]) -> Deviation:
        hessian: Any = _Diagonal()
        return deviations(space, hessian, point, curvature * point, settings, lambda: None, value)[
            0
        ]

    quadratic = deviation_of(lambda x: 0.5 * float(np.sum(curvature * x**2)))
    assert quadratic.to_minimum == pytest.approx(-2.0) and quadratic.note == ""
    steeper = deviation_of(lambda x: float(np.sum((x - point) ** 2)))
    assert steeper.to_minimum is None and "it does not decrease" in steeper.note
    assert steeper.sd == quadratic.sd == pytest.approx(1.0 / np.sqrt(3.0))


class _Alone:
    """J for the optimiser, without groups."""

    def __init__(self, cost: Cost, space: ControlSpace) -> None:
        self._cost, self._space = cost, space
        self._last: np.ndarray | None = None

    def values(self, points: list[np.ndarray], likely: bool = False) -> list[float]:
        values = [self._value(control) for control in points]
        self._last = points[-1]
        return values

    def gradient(self, point: np.ndarray) -> np.ndarray:
        if self._last is not point:
            self._value(point)
        self._last = None
        controls = self._space.state(point), self._space.parameters(point)
        return self._space.gradient(*self._cost.gradient(*controls))

    def _value(self, point: np.ndarray) -> float:
        return self._cost.value(self._space.state(point), self._space.parameters(point))


# ---- noise and cases ----------------------------------------------------------------------------


def test_noise_depends_on_points_and_steps_not_on_the_rank() -> None:
    whole = normal(3, 5, (50, 37), (slice(0, 50), slice(0, 37)))
    for rows, columns in ((slice(3, 9), slice(0, 37)), (slice(49, 50), slice(7, 36))):
        assert np.array_equal(normal(3, 5, (50, 37), (rows, columns)), whole[rows, columns])
    assert not np.isin(normal(3, 6, (50, 37), (slice(0, 50), slice(0, 37))), whole).any()
    assert not np.isin(normal(4, 5, (50, 37), (slice(0, 50), slice(0, 37))), whole).any()


def test_noise_is_standard_normal() -> None:
    many = normal(0, 1, (512, 512), (slice(0, 512), slice(0, 512)))
    spread = 1.0 / 512.0
    assert abs(many.mean()) < 4.0 * spread
    assert abs((many**2).mean() - 1.0) < 4.0 * np.sqrt(2.0) * spread
    assert abs((many**4).mean() - 3.0) < 4.0 * np.sqrt(96.0) * spread
    for across in (many[1:] * many[:-1], many[:, 1:] * many[:, :-1]):
        assert abs(across.mean()) < 4.0 * spread


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("time.dt=0.5", "--set time.dt: time.dt: got 0.5, must be at most 0.2: a longer step is"),
        ("truth.m=90", "must be at most 0.02041: a longer step is unstable"),
        ("truth.m=1e6", "truth.m: got 1000000.0, must be less than or equal to 100"),
        ("first_guess.m=-3", "first_guess.m: got -3"),
        ("observations.last=21", "at most time.steps = 20"),
        ("truth.side=2", "--set truth.side: truth.side: got 2, must be less than or equal to 1"),
        ("controls.n={sigma: 1}", "controls.n is not known (allowed: phi, m)"),
        ("controls.m.bounds=[2, 1]", "bounds must increase"),
        ("truth=null", "needs observations.store, or a truth"),
        ("trajectory.memory=3 parsecs", "the unit 'parsecs' is not known"),
    ],
)
def test_an_invalid_case_is_refused_with_the_allowed_values(
    tmp_path: Path, more: str, sentence: str
) -> None:
    from uzushio.assimilation.case import load_assimilation

    (tmp_path / "case.yaml").write_text(CASE)
    with pytest.raises(CaseError) as raised:
        load_assimilation(tmp_path / "case.yaml", [more])
    assert sentence in str(raised.value)
    assert "--set" in str(raised.value) or "case.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


CASE = """\
model: phasefield
grid: {nx: 16, ny: 12}
time: {steps: 20, dt: 0.1}
truth: {m: 1.0, side: 0.5}
first_guess: {m: 0.0, side: 0.4}
controls: {m: {bounds: [-1.0, 1.5]}}
"""
