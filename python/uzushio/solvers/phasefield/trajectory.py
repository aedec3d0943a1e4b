"""Stored fields of consecutive steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uzushio.errors import ModelError

if TYPE_CHECKING:
    from uzushio.solvers.phasefield.model import Model


class Trajectory:
    """A field at consecutive steps, input or output of sweeps.

    Created by `Model.trajectory` or, for adjoint sweeps, by `Model.checkpoints`. Its memory is
    allocated once: reuse it rather than creating another.
    """

    def __init__(self, core: Any, model: Model) -> None:
        self.core = core
        self.model = model  # the owner of its layout

    @property
    def bytes(self) -> int:
        """Memory on this rank."""
        return int(self.core.bytes)

    @property
    def steps(self) -> int:
        """Maximum number of steps."""
        return int(self.core.steps)

    @property
    def every(self) -> int:
        """Interval of the stored fields, in steps; the others are recomputed."""
        return int(self.core.interval)

    def append(self, state: NDArray[np.float64]) -> None:
        """Append a field, this rank's own part, after the last step. Not collective.

        Raises:
            ModelError: the trajectory is full, or the shape is wrong.
        """
        self.model.check_fields(state=state)
        try:
            self.core.append(state)
        except RuntimeError as error:
            raise ModelError(f"{error}.") from error

    def field(self, step: int) -> NDArray[np.float64]:
        """Return a copy of the field of a stored step, this rank's own part.

        Raises:
            ModelError: that step is not stored.
        """
        try:
            field: NDArray[np.float64] = self.core.field(step)
        except IndexError as error:
            raise ModelError(f"{error}.") from error
        return field


def writable(
    trajectory: Trajectory | None, model: Model, first: int, last: int, replay: bool = False
) -> Any:
    """Return the compiled trajectory for a sweep that stores steps `first` to `last` - 1.

    Args:
        trajectory: None if the sweep stores nothing.
        model: model of this sweep.
        first: first step.
        last: step after the last one.
        replay: whether the steps may be stored at an interval.

    Raises:
        ModelError: the trajectory is too short, or not for this sweep.
    """
    if trajectory is None:
        return None
    _check(trajectory, model, replay)
    if trajectory.steps < last - first:
        raise ModelError(
            f"phase field: a trajectory of {trajectory.steps} steps is too short for the "
            f"{last - first} from {first} to {last}."
        )
    return trajectory.core


def readable(
    trajectory: Trajectory, model: Model, first: int, last: int, replay: bool = False
) -> Any:
    """Return the compiled trajectory for a sweep that reads steps `first` to `last` - 1.

    Args:
        trajectory: as it was written.
        model: model of this sweep.
        first: first step.
        last: step after the last one.
        replay: whether the sweep recomputes states that are not stored.

    Raises:
        ModelError: the trajectory does not cover these steps, or is not for this sweep.
    """
    _check(trajectory, model, replay)
    if first < last and not model.can_read(trajectory, first, last):
        raise ModelError(
            f"phase field: the trajectory does not cover the steps {first} to {last - 1}; run "
            f"the sweep that writes it over them first (over exactly these, with scheme "
            f"diamond on several ranks)."
        )
    return trajectory.core


def _check(trajectory: Trajectory, model: Model, replay: bool) -> None:
    if trajectory.model is not model:
        raise ModelError("phase field: the trajectory belongs to another model.")
    if trajectory.every > 1 and not replay:
        raise ModelError(
            "phase field: this sweep needs all states; use a trajectory of Model.trajectory."
        )
