"""Reference of the phase field in NumPy, with which tests compare the compiled kernels.

All fields are on the whole grid, of shape (ny, nx). Equation numbers are those of
docs/theory/phasefield.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Observed:
    """Values at some steps, and weights 1/σ²: a number, a field, or a field for each step."""

    steps: list[int]
    values: Field
    weight: Any = 1.0

    def weight_of(self, n: int) -> Any:
        weight = np.asarray(self.weight, dtype=float)
        return weight[n] if weight.ndim == 3 else weight

    def residual(self, step: int, phi: Field) -> Field:
        """Return the forcing w (φ − y) of a step; zero where the weight is zero, for any y."""
        if step not in self.steps:
            return np.zeros_like(phi)
        n = self.steps.index(step)
        weight = np.broadcast_to(self.weight_of(n), phi.shape)
        return np.where(weight > 0, weight * (phi - self.values[n]), 0.0)

    def weighted(self, step: int, dphi: Field) -> Field:
        if step not in self.steps:
            return np.zeros_like(dphi)
        return np.asarray(self.weight_of(self.steps.index(step)) * dphi)

    def misfit(self, step: int, phi: Field) -> float:
        if step not in self.steps:
            return 0.0
        n = self.steps.index(step)
        weight = np.broadcast_to(self.weight_of(n), phi.shape)
        seen = weight > 0
        return float(0.5 * np.sum(weight[seen] * (phi - self.values[n])[seen] ** 2))


@dataclass(frozen=True)
class Reference:
    """Scheme (2), its adjoint (5), tangent (7) and second-order adjoint (8)."""

    dt: float
    spacing: float
    tau: float
    epsilon: float
    boundary: str = "zero_flux"
    steps: int = 0
    observed: Observed = field(default_factory=lambda: Observed([], np.zeros((0, 1, 1))))

    @property
    def a(self) -> float:
        return self.epsilon**2 * self.dt / (self.tau * self.spacing**2)

    @property
    def b(self) -> float:
        return self.dt / self.tau

    def laplacian(self, phi: Field) -> Field:
        """Return the sum of the four neighbours minus four times the point."""
        ghosts = np.pad(phi, 1, mode="edge" if self.boundary == "zero_flux" else "wrap")
        around = ghosts[1:-1, :-2] + ghosts[1:-1, 2:] + ghosts[:-2, 1:-1] + ghosts[2:, 1:-1]
        return np.asarray(around - 4 * phi)

    def step(self, phi: Field, m: float) -> Field:
        return phi + self.a * self.laplacian(phi) + self.b * phi * (1 - phi) * (phi + m - 1)

    def slope(self, phi: Field, m: float) -> Field:
        """Return ∂R/∂φ of the reaction R."""
        return np.asarray(-3 * phi**2 + (4 - 2 * m) * phi + m - 1)

    def linear(self, phi: Field, m: float, v: Field) -> Field:
        """Apply the step's derivative with respect to φ, which is symmetric, to v."""
        return v + self.a * self.laplacian(v) + self.b * self.slope(phi, m) * v

    def forward(self, phi: Field, m: float) -> list[Field]:
        """Return φ of all steps, the first included."""
        result = [phi]
        for _ in range(self.steps):
            result.append(self.step(result[-1], m))
        return result

    def misfit(self, phi: Field, m: float) -> float:
        return sum(self.observed.misfit(s, value) for s, value in enumerate(self.forward(phi, m)))

    def adjoints(self, trajectory: list[Field], m: float) -> tuple[list[Field], float]:
        """Return λ of all steps, and dJ/dm."""
        result = [self.observed.residual(self.steps, trajectory[-1])]
        slope = 0.0
        for s in range(self.steps - 1, -1, -1):
            phi, lam = trajectory[s], result[0]
            slope += self.b * float(np.sum(phi * (1 - phi) * lam))
            result.insert(0, self.linear(phi, m, lam) + self.observed.residual(s, phi))
        return result, slope

    def gradient(self, phi: Field, m: float) -> tuple[Field, float]:
        lam, slope = self.adjoints(self.forward(phi, m), m)
        return lam[0], slope

    def tangents(self, trajectory: list[Field], m: float, dphi: Field, dm: float) -> list[Field]:
        result = [dphi]
        for phi in trajectory[:-1]:
            result.append(self.linear(phi, m, result[-1]) + self.b * dm * phi * (1 - phi))
        return result

    def hessian_product(self, phi: Field, m: float, dphi: Field, dm: float) -> tuple[Field, float]:
        """Apply the Hessian of the misfit to (dφ₀, dm)."""
        trajectory = self.forward(phi, m)
        lam, _ = self.adjoints(trajectory, m)
        tangent = self.tangents(trajectory, m, dphi, dm)
        mu = self.observed.weighted(self.steps, tangent[-1])
        slope = 0.0
        for s in range(self.steps - 1, -1, -1):
            p, d, after = trajectory[s], tangent[s], lam[s + 1]
            slope += self.b * float(np.sum(p * (1 - p) * mu + (1 - 2 * p) * d * after))
            bend = (4 - 2 * m - 6 * p) * d + (1 - 2 * p) * dm
            mu = self.linear(p, m, mu) + self.b * bend * after + self.observed.weighted(s, d)
        return mu, slope
