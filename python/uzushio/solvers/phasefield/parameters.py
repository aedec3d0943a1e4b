"""Known parameters of the phase field, and the maximum stable step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from uzushio._base.config.quantities import LARGEST, SMALLEST
from uzushio.errors import ModelError

Boundary = Literal["zero_flux", "periodic"]


@dataclass(frozen=True)
class Parameters:
    """Known parameters of equation (2) of docs/theory/phasefield.md.

    Attributes:
        dt: time step.
        spacing: distance of neighbouring points, equal along both axes.
        tau: unit of time τ.
        epsilon: unit of length ε; an interface is about 2√2 ε wide.
        boundary: ``zero_flux`` at all edges, or ``periodic`` along both axes.

    Raises:
        ModelError: a value is not positive or its square not finite, or the boundary is unknown.
    """

    dt: float
    spacing: float = 1.0
    tau: float = 1.0
    epsilon: float = 1.0
    boundary: Boundary = "zero_flux"

    def __post_init__(self) -> None:
        for name in ("dt", "spacing", "tau", "epsilon"):
            value = getattr(self, name)
            if not SMALLEST <= value <= LARGEST:
                raise ModelError(
                    f"phase field: {name} is {value}; give a number above 0, from {SMALLEST:g} to "
                    f"{LARGEST:g}."
                )
        if self.boundary not in get_args(Boundary):
            allowed = " or ".join(get_args(Boundary))
            raise ModelError(f"phase field: boundary is {self.boundary!r}; it may be {allowed}.")

    @property
    def diffusion_number(self) -> float:
        """The number a = ε² Δt / (τ h²)."""
        return self.epsilon**2 * self.dt / (self.tau * self.spacing**2)

    @property
    def reaction_number(self) -> float:
        """The number b = Δt / τ."""
        return self.dt / self.tau

    def max_stable_dt(self, *m: float) -> float:
        """Return the maximum stable step, equation (3), for the worst of the values of m.

        For φ between 0 and 1: values far outside can diverge with any step.

        Args:
            m: values that m may take, such as its bounds; 0 and 1 if none are given.
        """
        steepest = max(0.0, *(max(1 - value, value) for value in (m or (0.0, 1.0))))
        return 2.0 / (8.0 * self.epsilon**2 / (self.tau * self.spacing**2) + steepest / self.tau)
