"""Fields of the picture of an assimilation's states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uzushio.assimilation.model import Quantity


@dataclass(frozen=True)
class Panels:
    """Fields of a picture, (rows, columns), first row at the bottom.

    A grid of one axis is one row; of three axes it is the middle plane along the first.

    Attributes:
        x: positions of the columns.
        y: positions of the rows.
        step: step of the observation.
        time: time of the observation.
        state: description of the fields.
        first_guess: first guess of the initial state.
        estimate: estimated initial state.
        observation: observation at `step`; NaN at points without one.
        run: state at `step` of the run from the estimate.
        residual: observation minus run, in standard deviations of the noise.
        truth: true initial state of a twin, or None.
        mean: mean over all times of observation minus run, in standard deviations; NaN at points
            without one; None if unknown.
        rms: root mean square of the same.
        place: sentence on the plane of a grid of three axes; else empty.
    """

    x: np.ndarray
    y: np.ndarray
    step: int
    time: float
    state: Quantity
    first_guess: np.ndarray
    estimate: np.ndarray
    observation: np.ndarray
    run: np.ndarray
    residual: np.ndarray
    truth: np.ndarray | None = None
    mean: np.ndarray | None = None
    rms: np.ndarray | None = None
    place: str = ""

    @property
    def is_line(self) -> bool:
        """Whether the grid has one axis."""
        return len(self.y) == 1
