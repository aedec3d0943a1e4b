"""Compiled passes over vectors, against NumPy and exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpi4py import MPI

from uzushio import _core
from uzushio._base import exact_sums
from uzushio._base.exact_sums import DoubleDouble
from uzushio.assimilation.lbfgs import LbfgsMemory
from uzushio.assimilation.space import ControlSpace

#: Less than a lane, a block but for one, some blocks and a rest.
SIZES = [1, 511, 512, 5003]
LOW, HIGH = [-0.5, -2.0], [0.75, 0.25]
_layout = _core.vectors.VectorLayout


def layout(points: int, threads: int = 1, counts: bool = True) -> _core.vectors.VectorLayout:
    return _layout(points, LOW, HIGH, counts, threads)


def vectors(points: int, count: int) -> list[np.ndarray]:
    """Vectors with a third of their elements at a bound."""
    rng = np.random.default_rng(points)
    return [np.clip(rng.normal(size=points + 1), -0.5, 0.75) for _ in range(count)]


def limits(points: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.append(np.full(points, low), other) for low, other in (LOW, HIGH))  # type: ignore[return-value]


def free(point: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    low, high = limits(len(point) - 1)
    return ~(((point <= low) & (gradient > 0)) | ((point >= high) & (gradient < 0)))


def is_dot(product: DoubleDouble, a: np.ndarray, b: np.ndarray) -> bool:
    """Whether it is their dot product, with the error of twice the precision."""
    terms = [Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)]
    exact, size = sum(terms, Fraction(0)), sum(map(abs, terms), Fraction(0))
    lacks = abs(Fraction(product[0]) + Fraction(product[1]) - exact)
    return lacks <= size * len(terms) * Fraction(2) ** -100


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("points", SIZES)
def test_a_step_ends_at_the_bounds(points: int, threads: int) -> None:
    point, direction, gradient, out = vectors(points, 4)
    slope = layout(points, threads).bounded_step(point, 0.3, direction, gradient, out)
    assert np.array_equal(out, np.clip(point + 0.3 * direction, *limits(points)))
    assert is_dot(slope, gradient, out - point)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("points", SIZES)
def test_a_pair_is_made_in_place_with_its_products(points: int, threads: int) -> None:
    point, before, gradient, gradient_before, *older = vectors(points, 7)
    step, change = point - before, gradient - gradient_before
    products = layout(points, threads).correction_pair(
        point, before, gradient, gradient_before, older
    )
    assert np.array_equal(before, step) and np.array_equal(gradient_before, change)
    pairs = [
        (step, step),
        (step, change),
        (change, change),
        *((vector, change) for vector in older),
    ]
    assert all(is_dot(product, a, b) for product, (a, b) in zip(products, pairs, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("points", SIZES)
def test_a_gradient_summary_excludes_elements_at_bounds(points: int, threads: int) -> None:
    point, gradient, *pairs_of_vectors = vectors(points, 8)
    steps, changes = pairs_of_vectors[:3], pairs_of_vectors[3:]
    largest, held, slopes, curves, lengths = layout(points, threads).summarise_gradient(
        point, gradient, steps, changes
    )
    taken = free(point, gradient)
    assert largest == np.abs(gradient * taken).max()
    assert held == (~taken).sum() and (points == 1 or 0 < held < points)
    for step, slope in zip(steps, slopes, strict=True):
        assert is_dot(slope, step, gradient * taken)
    pairs = [(steps[i], changes[j]) for j in range(3) for i in range(j + 1)]
    for product, (step, change) in zip(curves, pairs, strict=True):
        assert is_dot(product, step, change * ~taken)
    for product, change in zip(lengths, changes, strict=True):
        assert is_dot(product, change, change * ~taken)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("points", SIZES)
def test_directions_are_sums_of_weighted_vectors_where_free(points: int, threads: int) -> None:
    point, gradient, out, *others = vectors(points, 7)
    weights, space = [0.5, -0.25], layout(points, threads)
    taken = free(point, gradient)
    products = space.combine(point, gradient, gradient, -2.0, weights, others[:2], others[:2], out)
    expected = -2.0 * (gradient + 0.5 * others[0] - 0.25 * others[1]) * taken
    assert np.array_equal(out, expected)  # halves and quarters are exact
    assert all(is_dot(p, out, v) for p, v in zip(products, others[:2], strict=True))
    (slope,) = space.combine(point, gradient, out, 1.0, weights, others[2:], [gradient], out)
    expected = (expected + 0.5 * others[2] - 0.25 * others[3]) * taken
    assert np.array_equal(out, expected)
    assert is_dot(slope, out, gradient)


@pytest.mark.parametrize("points", [1, 511, 5003])
def test_parameters_that_another_rank_counts_are_moved_and_not_added(points: int) -> None:
    point, direction, gradient, out = vectors(points, 4)
    slope = layout(points, counts=False).bounded_step(point, 0.3, direction, gradient, out)
    assert out[-1] == np.clip(point[-1] + 0.3 * direction[-1], LOW[1], HIGH[1])
    assert is_dot(slope, gradient[:-1], (out - point)[:-1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_null_stays_null(bad: float) -> None:
    point, gradient, out = vectors(600, 3)
    gradient[[3, 599]] = bad
    largest, *_ = layout(600).summarise_gradient(point, gradient, [], [])
    assert largest == bad or (np.isnan(bad) and np.isnan(largest))
    layout(600).bounded_step(point, 1.0, np.full(601, np.nan), gradient, out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (7, 73), (40, 129)])
def test_controls_and_gradients_are_scaled_consistently(
    shape: tuple[int, int], threads: int
) -> None:
    rng = np.random.default_rng(1)
    values, background, slopes = (rng.normal(size=shape) for _ in range(3))
    state = np.empty(shape)
    square = _core.vectors.control_to_state(values, 0.25, background, state, True, threads)
    assert np.array_equal(state, 0.25 * values)
    away = (state - background).reshape(-1)
    assert is_dot(square, away, away)
    assert _core.vectors.control_to_state(values, 0.25, background, state, False, threads) == (
        0.0,
        0.0,
    )
    for precision in (0.0, 3.0):
        left = slopes.copy()
        _core.vectors.gradient_to_control(left, 0.25, values, background, precision, threads)
        expected = (slopes + precision * (state - background)) * 0.25
        assert np.array_equal(left, expected)


def test_vectors_of_another_size_are_refused() -> None:
    point, direction, gradient, out = vectors(20, 4)
    with pytest.raises(ValueError, match="a size is not that of the layout"):
        layout(20).bounded_step(point, 1.0, direction, gradient, out[:-1])
    with pytest.raises(ValueError, match="two lists differ in length"):
        layout(20).summarise_gradient(point, gradient, [direction], [])


def test_tables_of_ranks_add_up_in_doubled_precision() -> None:
    tables = np.random.default_rng(2).normal(size=(5, 3, 2)) * np.array([1.0, 1e-17])
    tables[4, :, 0] = -tables[:4, :, 0].sum(axis=0)
    total = np.empty((3, 2))
    _core.stencil.sum_over_ranks(tables, total)
    for i in range(3):
        exact = sum((Fraction(float(value)) for value in tables[:, i].reshape(-1)), Fraction(0))
        assert abs(Fraction(total[i, 0]) + Fraction(total[i, 1]) - exact) < Fraction(2) ** -100


# ---- functions of them --------------------------------------------------------------------------


def two_loops(
    gradient: np.ndarray,
    taken: np.ndarray,
    pairs: list[tuple[np.ndarray, np.ndarray]],
    metric: np.ndarray,
) -> np.ndarray:
    """Nocedal's two loops on the free elements, as they are written in textbooks."""
    q = -gradient * taken
    used = [(s * taken, y * taken) for s, y in pairs if (s * taken) @ (y * taken) > 0.0]
    weights = []
    for s, y in reversed(used):
        weights.append((s @ q) / (s @ y))
        q -= weights[-1] * y
    if used:
        q = metric @ q * taken
        (s, y), whole = used[-1], pairs[-1][1]
        # Fixed elements are excluded from the factor only without additional cost.
        even = np.array_equal(metric, np.eye(len(q)))
        q *= (s @ y) / (y @ y if even else whole @ metric @ whole)
    for (s, y), weight in zip(used, reversed(weights), strict=True):
        q += (weight - (y @ q) / (s @ y)) * s
    return q


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_a_direction_is_that_of_the_two_loops(count: int, held: bool, uneven: bool) -> None:
    """Four pairs are kept: of nine the last four, with the products that were made before."""
    n, rng = 300, np.random.default_rng(count)
    bounds = [(-0.3, 0.4), (None, None)] if held else [(None, None)] * 2
    space = ControlSpace(MPI.COMM_SELF, (1, n), [1.0, 1.0], bounds)
    curvature = np.geomspace(1.0, 50.0, n + 1)
    matrix = np.eye(n + 1)
    if uneven:  # the second difference along the row; the parameter is left as it is
        matrix[:n, :n] = 21.0 * np.eye(n) - 10.0 * (np.eye(n, k=1) + np.eye(n, k=-1))

    def metric(state: np.ndarray) -> None:
        state[0] = matrix[:n, :n] @ state[0]

    memory, pairs = LbfgsMemory(space, 4, metric if uneven else None), []
    x = space.project(0.3 * rng.normal(size=n + 1))
    g = curvature * x - 1.0
    for _ in range(count):
        there = space.project(x + 0.1 * rng.normal(size=n + 1))
        slopes = curvature * there - 1.0
        pairs.append((there - x, slopes - g))
        assert memory.add(len(pairs), there, x.copy(), slopes, g.copy())
        x, g = there, slopes
    taken = np.ones(n + 1) if space.free(x, g) is None else space.free(x, g)
    assert taken is not None and (taken.all() != held)
    view = memory.view(x, g)
    direction, slope = memory.direction(x, g, view)
    expected = two_loops(g, taken, pairs[-4:], matrix)
    np.testing.assert_allclose(direction, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert slope == pytest.approx(g @ expected, rel=1e-12) and slope < 0.0
    assert (direction[taken == 0.0] == 0.0).all()


def test_released_memory_is_reused_and_aligned_to_cache_lines() -> None:
    space = ControlSpace(MPI.COMM_SELF, (3, 5), [1.0, 1.0], [(None, None)] * 2)
    vector, other = space.new(), space.new()
    assert vector.shape == (16,) and vector.ctypes.data % 64 == other.ctypes.data % 64 == 0
    space.release(vector)
    assert space.new() is vector and space.new() is not other


def test_a_product_that_ranks_share_is_rounded_once() -> None:
    a = np.array([1.0, 2.0**-60, -1.0])
    assert (
        exact_sums.rounded(exact_sums.over_ranks(MPI.COMM_SELF, [exact_sums.dot(a, np.ones(3))])[0])
        == 2.0**-60
    )
