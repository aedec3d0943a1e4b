"""Checked observations, which the kernels access in place."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from uzushio._base.observations import Observations
from uzushio.errors import ModelError


def check(observations: Observations, own_shape: tuple[int, int]) -> None:
    """Raise `ModelError` unless observations fit this rank's part of the grid.

    Raises:
        ModelError: shapes or types do not fit, steps do not increase, rows are not contiguous, or a
            weight is negative or not finite.
    """
    steps, values, weight = observations.steps, observations.values, observations.weight
    if any(b <= a for a, b in itertools.pairwise(steps)) or (steps and steps[0] < 0):
        raise ModelError("observations: the steps must increase and must not be negative.")
    expected = (len(steps), *own_shape)
    if values.shape != expected:
        raise ModelError(
            f"observations: values have shape {values.shape}; for {len(steps)} steps of this "
            f"rank's part of the grid it must be {expected}."
        )
    _must_be_rows("values", values)
    if isinstance(weight, np.ndarray) and weight.ndim > 0:
        if weight.shape not in (expected, own_shape):
            raise ModelError(
                f"observations: the weight has shape {weight.shape}; it may be a number, "
                f"{own_shape} or {expected}."
            )
        _must_be_rows("weight", weight)
        # One step at a time limits the memory of temporaries.
        layers = weight if weight.ndim == 3 else weight[np.newaxis]
        good = all(bool(np.isfinite(layer).all() and (layer >= 0).all()) for layer in layers)
    else:
        good = 0 <= float(weight) < np.inf
    if not observations.huber > 0.0:
        raise ModelError(f"observations: huber is {observations.huber}; it must be positive.")
    if not good:
        raise ModelError(
            "observations: a weight 1/σ² must be finite and not negative (0: missing)."
        )


def observe(core: Any, observations: Observations) -> Any:
    """Return the compiled view of checked observations; halos are exchanged (collective)."""
    weight = observations.weight
    field = weight if isinstance(weight, np.ndarray) and weight.ndim else None
    if field is not None and field.ndim == 2:
        field = field[np.newaxis]
    number = 1.0 if field is not None else float(weight)
    return core.observe(
        list(observations.steps), observations.values, field, number, observations.huber
    )


def _must_be_rows(name: str, array: np.ndarray) -> None:
    contiguous = array.strides[-1] == array.itemsize and all(
        stride % array.itemsize == 0 for stride in array.strides
    )
    if array.dtype != np.float64 or not contiguous:
        raise ModelError(f"observations: {name} must be float64 with contiguous rows.")
