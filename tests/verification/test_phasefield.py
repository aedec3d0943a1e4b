"""Sweeps of the phase field against NumPy, themselves, JAX and exact solutions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI
from phasefield_cases import Problem, problem, smooth
from phasefield_reference import Reference

from uzushio._base.exact_sums import rounded
from uzushio._base.observations import Observations
from uzushio.errors import ModelError
from uzushio.solvers.phasefield import Blocking, Model, Parameters

BOUNDARIES = ("zero_flux", "periodic")
WEIGHTS = ("number", "field", "fields")
CASES = list(itertools.product(BOUNDARIES, WEIGHTS))


def relative(a: Any, b: Any) -> float:
    """Largest difference, in units of the largest value."""
    return float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b)))


def random(shape: tuple[int, int], seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


# ---- against NumPy ------------------------------------------------------------------------------


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("shape", [(20, 29), (1, 17), (33, 1), (3, 64)])
def test_steps_are_those_of_the_scheme(boundary: str, shape: tuple[int, int]) -> None:
    p = problem(shape, boundary)
    phi = p.phi.copy()
    trajectory = p.model.trajectory(p.steps)
    p.model.forward(phi, [p.m], 0, p.steps, trajectory)
    expected = p.reference.forward(p.phi, p.m)
    assert relative(phi, expected[-1]) < 1e-13
    for step in range(p.steps):
        assert relative(trajectory.field(step), expected[step]) < 1e-13


@pytest.mark.parametrize(("boundary", "weight"), CASES)
def test_misfit_and_gradient_are_those_of_the_reference(boundary: str, weight: str) -> None:
    p = problem(boundary=boundary, weight=weight)
    misfit, lam, slope, _ = p.gradient(p.phi, p.m)
    expected, expected_slope = p.reference.gradient(p.phi, p.m)
    assert misfit == pytest.approx(p.reference.misfit(p.phi, p.m), rel=1e-13)
    assert relative(lam, expected) < 1e-13
    assert slope == pytest.approx(expected_slope, rel=1e-12)


@pytest.mark.parametrize(("boundary", "weight"), CASES)
def test_hessian_products_are_those_of_the_reference(boundary: str, weight: str) -> None:
    p = problem(boundary=boundary, weight=weight)
    dphi, dm = random(p.phi.shape, 11), 0.4
    mu, slope = p.hessian_product(p.phi, p.m, dphi, dm)
    expected, expected_slope = p.reference.hessian_product(p.phi, p.m, dphi, dm)
    assert relative(mu, expected) < 1e-12
    assert slope == pytest.approx(expected_slope, rel=1e-12)


def test_unobserved_values_have_no_effect() -> None:
    p = problem(weight="fields")
    other = p.observations.values.copy()
    other[np.isnan(other)] = 1e300
    misfit, lam, slope, _ = p.gradient(p.phi, p.m)
    p.observations = Observations(p.observations.steps, other, p.observations.weight)
    again = p.gradient(p.phi, p.m)
    assert (misfit, slope) == (again[0], again[2])
    assert np.array_equal(lam, again[1])


# ---- against themselves -------------------------------------------------------------------------


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_adjoint_is_the_transpose_of_the_tangent_model(boundary: str) -> None:
    """The scalar product of the tangent's result with v is that of the input with the adjoint's."""
    p = problem(boundary=boundary)
    trajectory = p.gradient(p.phi, p.m)[3]
    for seed in range(5):
        dphi, dm = random(p.phi.shape, seed), float(random((1, 1), seed)[0, 0])
        v = random(p.phi.shape, 100 + seed)
        moved, lam = dphi.copy(), v.copy()
        p.model.tangent(moved, [dm], [p.m], 0, p.steps, trajectory)
        slope = rounded(p.model.adjoint(lam, [p.m], 0, p.steps, trajectory)[0])
        left = p.dot(moved, v)
        right = p.dot(dphi, lam) + dm * slope
        scale = np.linalg.norm(moved) * np.linalg.norm(v)
        assert abs(left - right) <= 1e-12 * min(scale, abs(left) * 1e3)
        assert abs(left - right) <= 1e-12 * abs(left)


@pytest.mark.parametrize(("boundary", "weight"), CASES)
@pytest.mark.parametrize("full", [True, False])
def test_hessian_is_symmetric(boundary: str, weight: str, full: bool) -> None:
    p = problem(boundary=boundary, weight=weight)
    u, du, v, dv = random(p.phi.shape, 1), 0.3, random(p.phi.shape, 2), -0.8
    hu, hdu = p.hessian_product(p.phi, p.m, u, du, full)
    hv, hdv = p.hessian_product(p.phi, p.m, v, dv, full)
    left = p.dot(hu, v) + hdu * dv
    right = p.dot(hv, u) + hdv * du
    assert abs(left - right) <= 1e-12 * np.linalg.norm(hu) * np.linalg.norm(v)


def test_gauss_newton_part_is_never_negative() -> None:
    p = problem(weight="fields")
    for seed in range(8):
        u, du = random(p.phi.shape, seed), float(seed - 4)
        hu, hdu = p.hessian_product(p.phi, p.m, u, du, full=False)
        assert p.dot(hu, u) + hdu * du >= 0


def orders(remainder: Callable[[float], float], sizes: Any) -> list[float]:
    values = [remainder(h) for h in sizes]
    return [float(np.log2(a / b)) for a, b in itertools.pairwise(values)]


@pytest.mark.parametrize(("boundary", "weight"), CASES)
def test_taylor_remainders_have_orders_two_and_three(boundary: str, weight: str) -> None:
    p = problem(boundary=boundary, weight=weight)
    misfit, lam, slope, _ = p.gradient(p.phi, p.m)
    u, du = smooth(p.phi.shape, seed=21), 0.5
    hu, hdu = p.hessian_product(p.phi, p.m, u, du)
    first = p.dot(lam, u) + slope * du
    second = 0.5 * (p.dot(hu, u) + hdu * du)

    def off(h: float) -> float:
        return p.misfit(p.phi + h * u, p.m + h * du) - misfit - h * first

    assert orders(lambda h: abs(off(h)), 2.0 ** -np.arange(8, 13)) == pytest.approx(
        [2] * 4, abs=0.05
    )
    assert orders(
        lambda h: abs(off(h) - h * h * second), 2.0 ** -np.arange(7, 11)
    ) == pytest.approx([3] * 3, abs=0.05)


def test_parts_of_a_trajectory_give_the_gradient_of_all_steps() -> None:
    p = problem()
    misfit, lam, slope, _ = p.gradient(p.phi, p.m)
    cuts = [0, 5, 6, 17, p.steps]
    phi, pieces, total = p.phi.copy(), [], rounded(p.model.misfit(p.phi, 0, p.observations))
    for first, last in itertools.pairwise(cuts):
        pieces.append(p.model.trajectory(last - first))
        total += rounded(p.model.forward(phi, [p.m], first, last, pieces[-1], p.observations))
    assert total == pytest.approx(misfit, rel=1e-14)
    joined = np.zeros_like(phi)
    p.model.forcing(phi, p.steps, p.observations, joined)
    part = 0.0
    for (first, last), piece in reversed(list(zip(itertools.pairwise(cuts), pieces, strict=True))):
        part += rounded(p.model.adjoint(joined, [p.m], first, last, piece, p.observations)[0])
    assert np.array_equal(joined, lam)
    assert part == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize(("boundary", "weight"), CASES)
@pytest.mark.parametrize(("shape", "block"), [((37, 29), 7), ((5, 64), 5), ((64, 3), 2)])
def test_states_computed_again_give_the_gradient_of_those_kept(
    boundary: str, weight: str, shape: tuple[int, int], block: int
) -> None:
    p = problem(shape, boundary, weight, blocking=Blocking(scheme="pa1", fblt=2, bblt=block))
    misfit, lam, slope, _ = p.gradient(p.phi, p.m)
    kept = p.model.checkpoints(p.steps)
    assert 1 < kept.every <= block and kept.bytes < p.model.trajectory(p.steps).bytes
    phi, again = p.phi.copy(), np.zeros_like(p.phi)
    p.model.forward(phi, [p.m], 0, p.steps, kept)
    total = rounded(p.model.misfit(phi, p.steps, p.observations))
    p.model.forcing(phi, p.steps, p.observations, again)
    # In two parts, of which the second begins within a block.
    cut = p.steps // 2 + 1
    of_m = 0.0
    for first, last in ((cut, p.steps), (0, cut)):
        part, (of_part,) = p.model.misfit_and_adjoint(
            again, [p.m], first, last, kept, p.observations
        )
        total, of_m = total + rounded(part), of_m + rounded(of_part)
    assert np.array_equal(again, lam)
    assert of_m == pytest.approx(slope, rel=1e-14)
    assert total == pytest.approx(misfit, rel=1e-14)


def test_blocks_that_exceed_the_cache_are_recomputed_in_shorter_ones() -> None:
    """Rows of a replay grow with the square of its steps: a thousand of them took 30 GB."""
    long = problem(blocking=Blocking(scheme="pa1", fblt=2, bblt=1000)).model
    assert long.every == 64 and long.bytes < 50e6


def test_states_that_are_computed_again_serve_adjoints_alone() -> None:
    p = problem(blocking=Blocking(scheme="pa1", fblt=2, bblt=5))
    kept, phi = p.model.checkpoints(p.steps), p.phi.copy()
    p.model.forward(phi, [p.m], 0, p.steps, kept)
    assert np.array_equal(kept.field(0), p.phi)
    with pytest.raises(ModelError, match="at an interval of 5, not 3"):
        kept.field(3)
    with pytest.raises(ModelError, match="needs all states"):
        p.model.tangent(phi, [1.0], [p.m], 0, p.steps, kept)
    with pytest.raises(ModelError, match="needs all states"):
        p.model.adjoint(phi, [p.m], 0, 5, kept, keep=p.model.trajectory(5))


def test_misfit_is_the_rounded_sum_in_any_order() -> None:
    """Sums in doubled precision: the same number as from exact fractions."""
    from fractions import Fraction

    p = problem((7, 9), steps=3, weight="fields")
    trajectory = p.model.trajectory(3)
    phi = p.phi.copy()
    misfit = rounded(p.model.forward(phi, [p.m], 0, 3, trajectory, p.observations))
    fields = {1: trajectory.field(1), 2: trajectory.field(2), 3: phi}
    total = Fraction(0)
    for n, step in enumerate(p.observations.steps):
        if step == 0:
            continue
        weight = np.asarray(p.observations.weight_of(n))
        off = fields[step] - p.observations.values[n]
        for value in np.where(weight > 0, weight * (off * off), 0.0).ravel():
            total += Fraction(float(value))
    assert misfit == float(total / 2)


# ---- against JAX --------------------------------------------------------------------------------


def jax_gradient(p: Problem) -> tuple[float, Any, float]:
    """J and its gradient by automatic differentiation of the scheme, written once more."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    import jax.numpy as jnp

    r, observations = p.reference, p.observations
    mode = "edge" if r.boundary == "zero_flux" else "wrap"
    a, b = r.a, r.b
    values, weights = np.zeros((r.steps + 1, *p.phi.shape)), np.zeros((r.steps + 1, *p.phi.shape))
    for n, step in enumerate(observations.steps):
        weights[step] = observations.weight_of(n)
        values[step] = np.where(weights[step] > 0, observations.values[n], 0.0)

    def misfit(control: tuple[Any, Any]) -> Any:
        phi, m = control

        def step(phi: Any, observations: tuple[Any, Any]) -> tuple[Any, Any]:
            g = jnp.pad(phi, 1, mode=mode)
            around = g[1:-1, :-2] + g[1:-1, 2:] + g[:-2, 1:-1] + g[2:, 1:-1]
            new = phi + a * (around - 4 * phi) + b * phi * (1 - phi) * (phi + m - 1)
            return new, 0.5 * jnp.sum(observations[1] * (new - observations[0]) ** 2)

        first = 0.5 * jnp.sum(weights[0] * (phi - values[0]) ** 2)
        _, rest = jax.lax.scan(step, phi, (jnp.asarray(values[1:]), jnp.asarray(weights[1:])))
        return first + jnp.sum(rest)

    value, (dphi, dm) = jax.jit(jax.value_and_grad(misfit))((jnp.asarray(p.phi), p.m))
    return float(value), np.asarray(dphi), float(dm)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_misfit_and_gradient_agree_with_automatic_differentiation(boundary: str) -> None:
    p = problem((64, 64), boundary, weight="fields", steps=40)
    misfit, lam, slope, _ = p.gradient(p.phi, p.m)
    by_jax = jax_gradient(p)
    assert misfit == pytest.approx(by_jax[0], rel=1e-10)
    assert relative(lam, by_jax[1]) < 1e-10
    assert slope == pytest.approx(by_jax[2], rel=1e-10)


# ---- against solutions --------------------------------------------------------------------------


def front(x: Any, t: float, m: float, tau: float, epsilon: float) -> Any:
    """Equation (10): a front that travels along x."""
    width, speed = np.sqrt(2) * epsilon, np.sqrt(2) * epsilon * (m - 0.5) / tau
    return 0.5 * (1 - np.tanh((x - speed * t) / (2 * width)))


def error_of_front(h: float, dt: float, time: float, m: float = 0.9) -> float:
    """Root mean square of the error of a front along x, the same in each row."""
    tau, epsilon, length = 0.8, 0.7, 24.0
    points = round(length / h)
    x = (np.arange(points) + 0.5) * h - length / 2
    model = Model(MPI.COMM_SELF, (3, points), Parameters(dt, h, tau, epsilon))
    phi = np.ascontiguousarray(np.broadcast_to(front(x, 0, m, tau, epsilon), (3, points)))
    model.forward(phi, [m], 0, round(time / dt))
    assert np.ptp(phi, axis=0).max() == 0
    return float(np.sqrt(np.mean((phi[1] - front(x, time, m, tau, epsilon)) ** 2)))


def test_travelling_front_is_of_second_order_in_space() -> None:
    errors = [error_of_front(h, 0.05 * h * h, 1.2) for h in (0.4, 0.2, 0.1)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.05)


def test_travelling_front_is_of_first_order_in_time() -> None:
    """Differences of solutions with different steps: the error in space is the same in both."""
    tau, epsilon, h, m, time = 0.8, 0.7, 0.1, 0.9, 1.2
    x = (np.arange(200) + 0.5) * h - 10
    results = []
    for steps in (512, 1024, 2048, 4096):
        model = Model(MPI.COMM_SELF, (1, 200), Parameters(time / steps, h, tau, epsilon))
        phi = np.ascontiguousarray(front(x, 0, m, tau, epsilon)[np.newaxis])
        model.forward(phi, [m], 0, steps)
        results.append(phi)
    gaps = [float(np.abs(a - b).max()) for a, b in itertools.pairwise(results)]
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(1, abs=0.1)
    assert np.log2(gaps[1] / gaps[2]) == pytest.approx(1, abs=0.05)


def test_front_moves_at_the_speed_of_m_and_rests_at_one_half() -> None:
    tau, epsilon, h, time = 0.8, 0.7, 0.1, 4.0
    x = (np.arange(300) + 0.5) * h - 15
    for m in (0.5, 0.8, 0.2):
        model = Model(MPI.COMM_SELF, (1, 300), Parameters(0.002, h, tau, epsilon))
        phi = np.ascontiguousarray(front(x, 0, m, tau, epsilon)[np.newaxis])
        area = phi.sum() * h
        model.forward(phi, [m], 0, round(time / 0.002))
        speed = (phi.sum() * h - area) / time
        assert speed == pytest.approx(np.sqrt(2) * epsilon * (m - 0.5) / tau, abs=2e-3)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_modes_of_diffusion_change_by_the_factor_of_the_scheme(boundary: str) -> None:
    """A small wave about φ = 1 is multiplied by the same factor in each step."""
    rows, cols, steps, m, size = 24, 36, 50, 0.6, 1e-6
    parameters = Parameters(0.1, 1.0, 1.0, 0.8, boundary)  # type: ignore[arg-type]
    y, x = np.mgrid[:rows, :cols] + (0.5 if boundary == "zero_flux" else 0.0)
    ky, kx = (np.pi * 3 / rows, np.pi * 5 / cols)
    if boundary == "periodic":
        ky, kx = 2 * ky, 2 * kx
    wave = size * np.cos(ky * y) * np.cos(kx * x)
    phi = 1 + wave
    Model(MPI.COMM_SELF, (rows, cols), parameters).forward(phi, [m], 0, steps)
    a, b = parameters.diffusion_number, parameters.reaction_number
    factor = 1 + a * (2 * np.cos(kx) + 2 * np.cos(ky) - 4) - b * m
    assert np.abs(phi - 1 - factor**steps * wave).max() < 20 * size**2


@pytest.mark.parametrize("m", [-1.0, 0.5, 2.0])
def test_the_maximum_stable_step_is_where_perturbations_begin_to_grow(m: float) -> None:
    limit = Parameters(1.0, 0.5, 2.0, 0.7).max_stable_dt(m)
    chequers = np.indices((16, 16)).sum(0) % 2 * 2.0 - 1
    rest = 0.0 if 1 - m > m else 1.0  # the phase in which the reaction is the steeper
    for factor, grows in ((0.98, False), (1.02, True)):
        model = Model(
            MPI.COMM_SELF, (16, 16), Parameters(factor * limit, 0.5, 2.0, 0.7, "periodic")
        )
        dphi = chequers.copy()
        trajectory = model.trajectory(20)
        model.forward(np.full((16, 16), rest), [m], 0, 20, trajectory)
        model.tangent(dphi, [0.0], [m], 0, 20, trajectory)
        assert (np.abs(dphi).max() > 1) == grows


# ---- invalid arguments --------------------------------------------------------------------------


def test_wrong_use_is_one_sentence() -> None:
    p = problem()
    wrong = np.zeros((3, 3))
    with pytest.raises(ModelError, match=r"state has shape \(3, 3\)"):
        p.model.forward(wrong, [p.m], 0, 1)
    with pytest.raises(ModelError, match="too short for the 5 from 0 to 5"):
        p.model.forward(p.phi.copy(), [p.m], 0, 5, p.model.trajectory(4))
    with pytest.raises(ModelError, match="does not cover the steps 0 to 3"):
        p.model.adjoint(p.phi.copy(), [p.m], 0, 4, p.model.trajectory(4))
    with pytest.raises(ModelError, match="another model"):
        p.model.adjoint(p.phi.copy(), [p.m], 0, 4, problem().model.trajectory(4))
    with pytest.raises(ModelError, match="give 0 <= first <= last"):
        p.model.forward(p.phi.copy(), [p.m], 3, 2)
    with pytest.raises(ModelError, match=r"2 parameters; give one, \[m\]"):
        p.model.forward(p.phi.copy(), [0.5, 1.0], 0, 2)
    values = np.zeros((1, *p.phi.shape))
    for observations, message in (
        (Observations([2, 1], np.zeros((2, *p.phi.shape)), 1.0), "steps must increase"),
        (Observations([1], np.zeros((2, *p.phi.shape)), 1.0), "values have shape"),
        (Observations([1], values, -1.0), "not negative"),
        (Observations([1], values, np.full(p.phi.shape, np.nan)), "finite"),
        (Observations([1], values, np.zeros((2, 2))), "the weight has shape"),
        (Observations([1], values.astype(np.float32), 1.0), "float64"),
    ):
        with pytest.raises(ModelError, match=message):
            p.model.misfit(p.phi, 1, observations)
    with pytest.raises(ModelError, match="'magic'"):
        Model(MPI.COMM_SELF, (8, 8), Parameters(0.1), Blocking(scheme="magic"))
    with pytest.raises(ModelError, match="1 ranks of the job"):
        Model(MPI.COMM_SELF, (8, 8), Parameters(0.1), Blocking(x_tile=2))
    for name in ("threads", "fblt", "cache_rows", "cache_columns", "cache_steps"):
        blocking = Blocking(**{"scheme": "pa1", name: 2**30})  # type: ignore[arg-type]
        with pytest.raises(ModelError, match=f"is {2**30}; it must be at most"):
            Model(MPI.COMM_SELF, (8, 8), Parameters(0.1), blocking)
    with pytest.raises(ModelError, match=r"dt is -1"):
        Parameters(-1)


def test_a_step_that_blows_up_gives_a_misfit_that_is_not_finite() -> None:
    p = problem(dt=0.15)
    assert not np.isfinite(p.misfit(1e3 * p.phi, p.m))


def test_reference_hessian_is_the_derivative_of_its_gradient() -> None:
    """The reference itself, by central differences."""
    p = problem((6, 7), weight="fields", steps=6)
    r: Reference = p.reference
    u, du, h = random((6, 7), 4), 0.7, 1e-5
    up, down = r.gradient(p.phi + h * u, p.m + h * du), r.gradient(p.phi - h * u, p.m - h * du)
    product, slope = r.hessian_product(p.phi, p.m, u, du)
    assert relative((up[0] - down[0]) / (2 * h), product) < 1e-8
    assert (up[1] - down[1]) / (2 * h) == pytest.approx(slope, rel=1e-7)
