"""Mean velocity of a turbulent wall layer."""

from __future__ import annotations

import numpy as np

KAPPA = 0.41  #: von Kármán's constant


def reichardt(distance: np.ndarray) -> np.ndarray:
    """Return the mean velocity over the friction velocity at distances from a wall, in wall units.

    Source: H. Reichardt, Z. Angew. Math. Mech. 31 (1951).
    """
    wall = 1.0 - np.exp(-distance / 11.0) - distance / 11.0 * np.exp(-distance / 3.0)
    return np.asarray(np.log1p(KAPPA * distance) / KAPPA + 7.8 * wall)
