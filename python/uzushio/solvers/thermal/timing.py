"""Estimate of the computing time of a step of a thermal flow."""

from __future__ import annotations

import math
import time
from typing import Any

from uzushio.solvers.thermal.case import Decomposition, ThermalCase
from uzushio.solvers.thermal.grid import GridAxis

#: Maximum number of cells of the measured box.
_CELLS = 1 << 17
_STEPS = 4
#: Part of the stable step, as the default CFL number.
_FRACTION = 0.9


def smaller(case: ThermalCase, cells: int = _CELLS) -> ThermalCase:
    """Return the case with fewer cells, at most about `cells`, by one factor along all axes.

    Stretched axes stay stretched in the same way. The flow begins from noise, without a script.
    """
    axes = case.grid.axes
    whole = math.prod(axis.cells for axis in axes)
    factor = min(1.0, (cells / whole) ** (1 / len(axes)))
    coarse = {name: _coarsened(axis, factor) for name, axis in zip("xyz", axes, strict=False)}
    initial = case.initial.model_copy(update={"script": None, "noise": {"velocity": 1.0}})
    grid = case.grid.model_copy(update=coarse)
    return case.model_copy(
        update={"grid": grid, "initial": initial, "decomposition": Decomposition()}
    )


def _coarsened(axis: GridAxis, factor: float) -> GridAxis:
    """Return an axis with about `factor` times its cells, an even number of them.

    Transforms of numbers with large prime factors take longer: no factor is larger than those of
    the axis.
    """
    largest = max(5, _largest_factor(axis.cells))
    counts = (n for n in range(2, axis.cells, 2) if _largest_factor(n) <= largest)
    count = axis.cells
    if factor < 1.0:
        count = min(counts, key=lambda n: abs(n - factor * axis.cells), default=count)
    if axis.faces is None or count == axis.cells:
        return axis.model_copy(update={"cells": count})
    kept = [axis.faces[n * axis.cells // count] for n in range(count + 1)]
    return axis.model_copy(update={"cells": count, "faces": kept})


def _largest_factor(count: int) -> int:
    """Return the largest prime factor."""
    factor = 2
    while factor * factor <= count:
        if count % factor:
            factor += 1
        else:
            count //= factor
    return count


def minimum_step(core: Any) -> float:
    """Return the minimum time of some steps of a compiled solver after its start, in seconds."""
    took = []
    for _ in range(_STEPS):
        began = time.perf_counter()
        core.step(float("inf"), _FRACTION)
        took.append(time.perf_counter() - began)
    return min(took)
