"""What the picture of an assimilation's states is drawn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uzushio.assimilation.model import Quantity


@dataclass(frozen=True)
class Panels:
    """Fields of a picture, (rows, columns), first row at the bottom.

    Attributes:
        x: positions of the columns.
        y: positions of the rows.
        step: of the observation.
        time: of it.
        state: what the fields are.
        truth: initial state of a twin, or None.
        first_guess: initial state.
        estimate: initial state.
        observation: at `step`; NaN where nothing was seen.
        run: the estimate's state at `step`.
        residual: observation less run, in standard deviations of the noise.
    """

    x: np.ndarray
    y: np.ndarray
    step: int
    time: float
    state: Quantity
    truth: np.ndarray | None
    first_guess: np.ndarray
    estimate: np.ndarray
    observation: np.ndarray
    run: np.ndarray
    residual: np.ndarray
