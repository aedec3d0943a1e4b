"""Interpolation of a zone's stored values to another number of cells: restart on another grid.

Positions are those in index space, where a zone's cells are of one size: cell i of n is the
interval [i, i + 1] / n. A stretched mesh is interpolated in second order too if both grids have
the same mapping from index space.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Read the box [start, start + shape) of stored values.
Read = Callable[[tuple[int, ...], tuple[int, ...]], np.ndarray]


def interpolated(
    read: Read, stored: tuple[int, ...], shape: tuple[int, ...], at_vertices: tuple[bool, ...],
    start: tuple[int, ...], count: tuple[int, ...],
) -> np.ndarray:  # fmt: skip
    """Return a box of values on a grid from the values on the stored grid.

    Along an axis with values in cells the mean over each cell of a piecewise linear function with
    limited slopes is taken. Sums over the zone are conserved, and positive values remain positive.
    Along an axis with values at vertices interpolation is linear. Both are of second order.

    Args:
        read: reads stored values.
        stored: extents of the stored array along the leading axes; further axes are components.
        shape: extents of the new array along these axes.
        at_vertices: whether values are at vertices, for each of these axes.
        start: first index of the box in the new array.
        count: extents of the box.

    Returns:
        Shape `count` and the components of the stored values.
    """
    weights = [
        (_vertex_weights if vertices else _cell_weights)(old, new, first, first + n)
        for vertices, old, new, first, n in zip(
            at_vertices, stored, shape, start, count, strict=True
        )
    ]
    lower = tuple(int(axis_weights.begin.min()) for axis_weights in weights)
    upper = tuple(int(axis_weights.begin.max()) + axis_weights.terms for axis_weights in weights)
    values = read(lower, tuple(b - a for a, b in zip(lower, upper, strict=True)))
    for axis, axis_weights in enumerate(weights):
        values = np.moveaxis(axis_weights.apply(np.moveaxis(values, axis, 0), lower[axis]), 0, axis)
    return values


class _Weights:
    """New values as sums over `terms` consecutive stored values each.

    Attributes:
        begin: index of the first stored value of each sum, shape (n,).
        terms: number of stored values of a sum.
    """

    def __init__(self, begin: np.ndarray, factors: np.ndarray, offsets: np.ndarray | None) -> None:
        """Set factors of values and, with `offsets`, of slopes; both of shape (n, terms)."""
        self.begin, self.terms = begin, factors.shape[1]
        self._factors, self._offsets = factors, offsets

    def apply(self, values: np.ndarray, lower: int) -> np.ndarray:
        """Return the sums along the first axis of values, of which the first has index `lower`."""
        slopes = None if self._offsets is None else _limited_slopes(values)
        total = np.zeros((len(self.begin), *values.shape[1:]))
        column = (slice(None), *[np.newaxis] * (values.ndim - 1))
        for term in range(self.terms):  # in this order on any number of ranks
            at = self.begin - lower + term
            part = values[at]
            if slopes is not None and self._offsets is not None:
                part = part + self._offsets[:, term][column] * slopes[at]
            total += self._factors[:, term][column] * part
        return total


def _vertex_weights(stored: int, new: int, first: int, end: int) -> _Weights:
    """Return linear interpolation at vertices, for new vertices [first, end)."""
    if stored == 1:
        return _Weights(np.zeros(end - first, int), np.ones((end - first, 1)), None)
    at = np.arange(first, end) * (stored - 1) / (new - 1)
    begin = np.clip(np.floor(at).astype(int), 0, stored - 2)
    share = at - begin
    return _Weights(begin, np.stack([1 - share, share], axis=1), None)


def _cell_weights(stored: int, new: int, first: int, end: int) -> _Weights:
    """Return means over the new cells [first, end).

    The sum begins and ends with a cell of which only the slope of its neighbour makes use.
    """
    ratio = stored / new
    cells = np.arange(first, end)
    # Bounds in stored cells; integers times integers, so that equal bounds have equal bits.
    low, high = cells * stored / new, (cells + 1) * stored / new
    terms = min(int(np.ceil(ratio)) + 3, stored)
    begin = np.clip(np.floor(low).astype(int) - 1, 0, stored - terms)
    left = begin[:, np.newaxis] + np.arange(terms)
    a = np.maximum(low[:, np.newaxis], left)
    b = np.minimum(high[:, np.newaxis], left + 1)
    overlap = np.maximum(b - a, 0.0)
    return _Weights(begin, overlap / ratio, np.where(overlap > 0, 0.5 * (a + b) - left - 0.5, 0.0))


def _limited_slopes(values: np.ndarray) -> np.ndarray:
    """Return the slopes in cells along the first axis (monotonised central, van Leer 1977).

    One-sided in the first and the last cell, and there limited so that no value changes its sign.
    """
    slopes = np.zeros_like(values)
    if len(values) < 2:
        return slopes
    low, high = np.diff(values[:-1], axis=0), np.diff(values[1:], axis=0)
    size = np.minimum(0.5 * np.abs(low + high), 2 * np.minimum(np.abs(low), np.abs(high)))
    slopes[1:-1] = np.where(low * high > 0, np.copysign(size, low), 0.0)
    for end, inside in ((0, 1), (-1, -2)):
        jump = values[max(end, inside)] - values[min(end, inside)]
        slopes[end] = np.clip(jump, -2 * np.abs(values[end]), 2 * np.abs(values[end]))
    return slopes
