"""The optimiser against scipy's L-BFGS-B, and where that one would stumble."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from scipy.optimize import minimize

from uzushio._base import exact_sums
from uzushio.assimilation.minimise import Minimiser, Settings
from uzushio.assimilation.space import ControlSpace
from uzushio.errors import ModelError

Function = Callable[[np.ndarray], float]
Slope = Callable[[np.ndarray], np.ndarray]
ANYWHERE = (None, None)


class Counted:
    """J and its gradient as functions of all elements, with counts of their evaluations."""

    def __init__(self, value: Function, slope: Slope) -> None:
        self._value, self._slope = value, slope
        self.values_asked = self.gradients_asked = 0

    def values(self, points: Sequence[np.ndarray], likely: bool = False) -> list[float]:
        self.values_asked += len(points)
        with np.errstate(all="ignore"):
            values = [self._value(point) for point in points]
        return [value if math.isfinite(value) else math.inf for value in values]

    def gradient(self, point: np.ndarray) -> np.ndarray:
        self.gradients_asked += 1
        return self._slope(point)


def space(
    state: int,
    bounds: tuple[float | None, float | None] = ANYWHERE,
    of_parameter: tuple[float | None, float | None] = ANYWHERE,
) -> ControlSpace:
    """A state of one row, and one parameter."""
    return ControlSpace(MPI.COMM_SELF, (1, state), [1.0, 1.0], [bounds, of_parameter])


def minimum(
    value: Function,
    slope: Slope,
    start: np.ndarray,
    where: ControlSpace,
    limit: int = 400,
    **more: object,
) -> tuple[Minimiser, Counted]:
    objective = Counted(value, slope)
    settings = Settings(**{"tolerance": 1e-14, **more})  # type: ignore[arg-type]
    search = Minimiser(where, objective, start, settings)
    search.begin()
    while search.ended is None and search.iteration < limit:
        search.step()
    return search, objective


def rosenbrock(x: np.ndarray) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def rosenbrock_slope(x: np.ndarray) -> np.ndarray:
    slope = np.zeros_like(x)
    slope[:-1] += -400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2.0 * (1.0 - x[:-1])
    slope[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
    return slope


@pytest.mark.parametrize("candidates", [1, 2, 4])
def test_the_minimum_of_a_curved_valley_is_found(candidates: int) -> None:
    start = np.tile([-1.2, 1.0], 5)
    search, _ = minimum(
        rosenbrock, rosenbrock_slope, start, space(len(start) - 1), candidates=candidates
    )
    np.testing.assert_allclose(search.point, 1.0, atol=1e-6)


def test_it_costs_about_as_many_values_as_scipys() -> None:
    start = np.tile([-1.2, 1.0], 10)
    search, asked = minimum(
        rosenbrock, rosenbrock_slope, start, space(len(start) - 1), tolerance=1e-9
    )
    reference = minimize(
        rosenbrock,
        start,
        jac=rosenbrock_slope,
        method="L-BFGS-B",
        options={"maxcor": 8, "ftol": 1e-12, "gtol": 1e-6},
    )
    assert search.value < 1e-9
    assert asked.values_asked <= 1.5 * reference.nfev


@pytest.mark.parametrize("method", ["lbfgs", "gradient"])
def test_with_bounds_it_is_the_minimum_that_scipy_finds(method: str) -> None:
    """A third of the elements ends at a bound, on either side, the parameter too."""
    rng = np.random.default_rng(3)
    n = 60
    root = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = root @ np.diag(np.geomspace(1.0, 30.0, n)) @ root.T
    target = rng.normal(size=n)
    value = lambda x: float(0.5 * (x - target) @ matrix @ (x - target))  # noqa: E731
    slope = lambda x: matrix @ (x - target)  # noqa: E731
    search, _ = minimum(
        value,
        slope,
        np.zeros(n),
        space(n - 1, (-0.8, 0.6), (None, -0.1)),
        method=method,
        limit=2000,
    )
    reference = minimize(
        value,
        np.zeros(n),
        jac=slope,
        method="L-BFGS-B",
        bounds=[(-0.8, 0.6)] * (n - 1) + [(None, -0.1)],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )
    at_bounds = np.isin(search.point, [-0.8, 0.6, -0.1])
    assert 15 < at_bounds.sum() < 45
    np.testing.assert_allclose(search.point, reference.x, atol=2e-6)


def test_bounds_that_hold_nothing_change_nothing() -> None:
    start = np.tile([-1.2, 1.0], 3)
    free, _ = minimum(rosenbrock, rosenbrock_slope, start, space(5))
    held, _ = minimum(rosenbrock, rosenbrock_slope, start, space(5, (-50.0, 50.0), (-9.0, None)))
    assert np.array_equal(free.point, held.point)


def test_an_ill_scaled_parameter_is_found() -> None:
    """Curvatures from 1 to 1e6, the steepest that of the parameter."""
    curvature = np.concatenate([np.linspace(1.0, 10.0, 20), [1e6]])
    search, _ = minimum(
        lambda x: float(0.5 * np.sum(curvature * (x - 1.0) ** 2)),
        lambda x: curvature * (x - 1.0),
        np.zeros(21),
        space(20),
    )
    np.testing.assert_allclose(search.point, 1.0, atol=2e-5)


def test_a_region_where_j_is_not_a_number_is_a_step_that_failed() -> None:
    """The first full step leads into the region; the minimum is close to its edge."""

    def value(x: np.ndarray) -> float:
        return float(np.sum(x**2 / 2.0 + x - 1e-3 * np.log(1.0 + x)))  # NaN below -1

    def slope(x: np.ndarray) -> np.ndarray:
        return x + 1.0 - 1e-3 / (1.0 + x)

    asked = Counted(value, slope)
    assert asked.values([np.full(4, -3.0)]) == [math.inf]
    search, _ = minimum(value, slope, np.full(4, 2.5), space(3))
    # (1 + x)² = 1e-3
    np.testing.assert_allclose(search.point, -1.0 + math.sqrt(1e-3), atol=1e-6)


def test_the_search_ends_where_less_than_the_tolerance_is_left() -> None:
    """The remaining decrease, by scipy's minimum, is of the order of the tolerance."""
    start = np.tile([-1.2, 1.0], 5)
    search, _ = minimum(rosenbrock, rosenbrock_slope, start, space(9), tolerance=1e-5)
    assert search.ended == "J is expected to fall by less than 1e-05"
    assert 0.0 < search.value < 1e-4


@pytest.mark.parametrize("at", [1, 7, 20])
def test_a_restored_search_continues_identically(at: int) -> None:
    start = np.tile([-1.2, 1.0], 4)
    whole, _ = minimum(rosenbrock, rosenbrock_slope, start, space(7), limit=30)
    first, _ = minimum(rosenbrock, rosenbrock_slope, start, space(7), limit=at)
    again = Minimiser(
        space(7), Counted(rosenbrock, rosenbrock_slope), start, Settings(tolerance=1e-14)
    )
    again.restore(*first.stored())
    while again.iteration < 30:
        again.step()
    assert again.point.tobytes() == whole.point.tobytes()
    assert again.value == whole.value


@given(
    st.lists(
        st.tuples(
            st.floats(-1e50, 1e50, allow_subnormal=False).filter(
                lambda x: x == 0 or abs(x) > 1e-50
            ),
            st.floats(-1e50, 1e50, allow_subnormal=False).filter(
                lambda x: x == 0 or abs(x) > 1e-50
            ),
        ),
        max_size=40,
    )
)
def test_a_dot_product_has_the_error_of_twice_the_precision(
    pairs: list[tuple[float, float]],
) -> None:
    a = np.array([term for term, _ in pairs])
    b = np.array([other for _, other in pairs])
    exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
    size = sum((abs(Fraction(x) * Fraction(y)) for x, y in pairs), Fraction(0))
    high, low = exact_sums.dot(a, b)
    assert abs(Fraction(high) + Fraction(low) - exact) <= size * len(pairs) * Fraction(2) ** -100


def test_a_derivative_that_is_not_finite_is_an_error() -> None:
    """It is not the end of a search that cannot make J smaller."""
    with pytest.raises(ModelError, match="derivative of J is not finite after iteration 0"):
        minimum(lambda x: float(x @ x), lambda x: np.full(3, np.nan), np.ones(3), space(2))
