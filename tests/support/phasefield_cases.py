"""Small problems for the tests of the phase field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from phasefield_reference import Observed, Reference

from uzushio._base.exact_sums import dot, over_ranks, rounded
from uzushio._base.observations import Observations
from uzushio.solvers.phasefield import Blocking, Model, Parameters, Trajectory

Field = Any
STEPS = 24


def smooth(shape: tuple[int, int], seed: int = 1, amplitude: float = 0.3) -> Field:
    """Return a square phase with rounded edges and noise: values around 0 and 1."""
    rows, cols = shape
    y, x = np.mgrid[:rows, :cols]
    away = np.maximum(np.abs(y - rows / 2) / rows, np.abs(x - cols / 2) / cols)
    noise = np.random.default_rng(seed).standard_normal(shape)
    return 0.5 * (1 - np.tanh(20 * (away - 0.25))) + amplitude * 0.2 * noise


def weights(kind: str, n: int, shape: tuple[int, int], seed: int = 3) -> Any:
    """Return weights: a number, a field with zeros, or such a field for each step."""
    random = np.random.default_rng(seed)
    if kind == "number":
        return 4.0
    if kind == "field":
        field = random.uniform(1, 9, shape)
        field[random.uniform(size=shape) < 0.3] = 0
        return field
    fields = random.uniform(1, 9, (n, *shape))
    fields[random.uniform(size=fields.shape) < 0.3] = 0
    return fields


@dataclass
class Problem:
    """Model of this rank's part, reference of the whole domain, the same observations for both."""

    model: Model
    reference: Reference
    observations: Observations
    phi: Field
    m: float

    @property
    def steps(self) -> int:
        return self.reference.steps

    def part(self, field: Field) -> Field:
        """Return this rank's own part, contiguous."""
        return np.ascontiguousarray(field[..., *self.model.own])

    def gradient(
        self, phi: Field, m: float, keep: Trajectory | None = None
    ) -> tuple[float, Field, float, Trajectory]:
        """Return J, its gradient, and the trajectory."""
        model, observations = self.model, self.observations
        trajectory = model.trajectory(self.steps)
        now = phi.copy()
        misfit = rounded(model.misfit(now, 0, observations))
        misfit += rounded(model.forward(now, [m], 0, self.steps, trajectory, observations))
        lam = np.zeros_like(now)
        model.forcing(now, self.steps, observations, lam)
        (slope,) = model.adjoint(lam, [m], 0, self.steps, trajectory, observations, keep)
        return misfit, lam, rounded(slope), trajectory

    def dot(self, a: Field, b: Field) -> float:
        """Return the dot product of two fields over all ranks, rounded once."""
        return rounded(over_ranks(self.model.comm, [dot(a, b)])[0])

    def misfit(self, phi: Field, m: float) -> float:
        now = phi.copy()
        first = rounded(self.model.misfit(now, 0, self.observations))
        rest = self.model.forward(now, [m], 0, self.steps, None, self.observations)
        return first + rounded(rest)

    def hessian_product(
        self, phi: Field, m: float, dphi: Field, dm: float, full: bool = True
    ) -> tuple[Field, float]:
        """Return the Hessian of J times a direction, or its Gauss-Newton part."""
        model, observations = self.model, self.observations
        keep = model.trajectory(self.steps) if full else None
        trajectory = self.gradient(phi, m, keep)[3]
        tangents = model.trajectory(self.steps)
        moved = dphi.copy()
        model.tangent(moved, [dm], [m], 0, self.steps, trajectory, tangents)
        mu = np.zeros_like(moved)
        model.apply_inverse_covariance(moved, self.steps, observations, mu)
        (slope,) = model.second_order(
            mu, [dm], [m], 0, self.steps, trajectory, tangents, keep, observations
        )
        return mu, rounded(slope)


def problem(
    shape: tuple[int, int] = (20, 29),
    boundary: Any = "zero_flux",
    weight: str = "number",
    steps: int = STEPS,
    blocking: Blocking | None = None,
    comm: Any = None,
    dt: float = 0.15,
) -> Problem:
    """Return a problem that observes another state and m at every third step and both ends."""
    from mpi4py import MPI

    parameters = Parameters(dt=dt, spacing=1.0, tau=1.0, epsilon=0.9, boundary=boundary)
    model = Model(comm or MPI.COMM_SELF, shape, parameters, blocking)
    observed_steps = sorted({*range(0, steps + 1, 3), steps})
    plain = Reference(dt, 1.0, 1.0, 0.9, boundary, steps)
    truth = plain.forward(smooth(shape, seed=7), 0.9)
    noise = np.random.default_rng(5).standard_normal((len(observed_steps), *shape))
    values = np.stack([truth[s] for s in observed_steps]) + 0.1 * noise
    weight_field = weights(weight, len(observed_steps), shape)
    if isinstance(weight_field, np.ndarray):
        values[np.broadcast_to(weight_field == 0, values.shape)] = np.nan
    observed = Observed(observed_steps, values, weight_field)
    reference = Reference(dt, 1.0, 1.0, 0.9, boundary, steps, observed)
    part = (..., *model.own)
    mine = weight_field[part] if isinstance(weight_field, np.ndarray) else weight_field
    observations = Observations(observed_steps, values[part], mine)
    return Problem(model, reference, observations, smooth(shape), 0.7)
