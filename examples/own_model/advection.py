"""Advection and diffusion of a concentration in a periodic box, in one to three dimensions."""

from typing import ClassVar

import numpy as np

from uzushio.assimilation import AssimilationCase, Guess, Model, Quantity


class AdvectionCase(AssimilationCase):
    """Case file: the keys of all assimilations, and these."""

    shape: tuple[int, ...] = (64,)
    true_speed: float = 1.0
    true_diffusivity: float = 0.005


class Advection(Model):
    """c_t + u (c_x + …) = kappa ∇²c in a box of sides 1: Euler steps, central differences."""

    case_model = AdvectionCase
    state = Quantity("c", "concentration")
    parameters: ClassVar = (Quantity("u", "speed"), Quantity("kappa", "diffusivity"))

    @classmethod
    def shape_of(cls, case):
        """Return the shape of the grid."""
        return case.shape

    def first_guess(self):
        """Return the start of the search."""
        return Guess(np.zeros(self.shape), np.array([0.5, 0.01]))

    def truth(self):
        """Return the truth of the twin: a wave."""
        x = np.arange(self.shape[-1]) / self.shape[-1]
        wave = np.broadcast_to(np.sin(2.0 * np.pi * x), self.shape)
        return Guess(wave, np.array([self.case.true_speed, self.case.true_diffusivity]))

    def slope(self, c):
        """Return c_x + c_y + c_z; its transpose is minus itself."""
        return sum(
            0.5 * n * (np.roll(c, -1, axis) - np.roll(c, 1, axis)) for axis, n in enumerate(c.shape)
        )

    def curvature(self, c):
        """Return ∇²c; its transpose is itself."""
        return sum(
            n**2 * (np.roll(c, -1, axis) - 2.0 * c + np.roll(c, 1, axis))
            for axis, n in enumerate(c.shape)
        )

    def step(self, state, parameters, index):
        """Return the next state."""
        u, kappa = parameters
        return state + self.case.time.dt * (kappa * self.curvature(state) - u * self.slope(state))

    def adjoint_step(self, adjoint, state, parameters, index):
        """Return the derivatives with respect to the state and to both parameters."""
        (u, kappa), weighted = parameters, self.case.time.dt * adjoint
        before = adjoint + kappa * self.curvature(weighted) + u * self.slope(weighted)
        return before, [-weighted * self.slope(state), weighted * self.curvature(state)]
