"""Trilinear interpolation at arbitrary positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uzushio.domain.box import Box
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from mpi4py import MPI

    from uzushio.pipeline.need import Part
    from uzushio.pipeline.stream import Grid


class Interpolation:
    """Positions on a grid, with the eight points around each and their weights.

    The values at these points are sent to rank 0 and summed there in a fixed order, so results are
    the same bits for any number of ranks.
    """

    def __init__(self, grid: Grid, places: np.ndarray, names: Sequence[str]) -> None:
        """Find the points around the positions.

        Args:
            grid: grid of the values.
            places: (n, 3), x, y, z.
            names: names of the positions, for messages.

        Raises:
            PipelineError: a position lies outside the grid, or the grid is curvilinear.
        """
        if grid.coordinates is None:
            raise PipelineError(
                f"{grid.name} is curvilinear; probe takes a grid with straight lines"
            )
        axes = [_along(grid, axis, places[:, 2 - axis], places, names) for axis in range(3)]
        corners = np.array(list(np.ndindex(2, 2, 2)))  # (8, 3)
        low = np.stack([axis[0] for axis in axes], axis=-1)
        high = np.stack([axis[1] for axis in axes], axis=-1)
        share = np.stack([axis[2] for axis in axes], axis=-1)
        start = np.array(grid.points.start)
        #: Global indices z, y, x of the points, (n, 8, 3), and their weights, (n, 8).
        self.points = start + np.where(corners[np.newaxis], high[:, np.newaxis], low[:, np.newaxis])
        parts = np.where(corners[np.newaxis], share[:, np.newaxis], 1.0 - share[:, np.newaxis])
        self.weights = parts.prod(axis=-1)

    @property
    def region(self) -> Box:
        """Bounding box of the points."""
        return Box.between(self.points.min(axis=(0, 1)), self.points.max(axis=(0, 1)) + 1)

    def __call__(self, comm: MPI.Comm, parts: Sequence[Part], fields: Sequence[str]) -> np.ndarray:
        """Return the interpolated values, (fields, positions), on rank 0 (collective)."""
        local = np.zeros((len(fields), *self.weights.shape))
        held = np.zeros(self.weights.shape, np.int32)
        for part in parts:
            start, stop = np.array(part.points.start), np.array(part.points.stop)
            here = ((self.points >= start) & (self.points < stop)).all(axis=-1)
            z, y, x = (self.points[here] - start).T
            held[here] += 1
            for number, field in enumerate(fields):
                local[number][here] = part.owned(field)[z, y, x]
        values, counts = np.empty_like(local), np.empty_like(held)
        comm.Reduce(local, values)
        comm.Reduce(held, counts)
        values[:, counts == 0] = np.nan  # no block has a value there
        # NaN at a point with weight 0 must not spread to the result.
        return np.asarray(np.where(self.weights == 0.0, 0.0, values * self.weights).sum(axis=-1))


def _along(
    grid: Grid, axis: int, positions: np.ndarray, places: np.ndarray, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the indices, from 0, of the points below and above, and the weight of the upper."""
    assert grid.coordinates is not None
    line, letter = grid.coordinates[axis], "zyx"[axis]
    count, near = len(line), 1e-9 * (float(line[-1] - line[0]) or 1.0)
    if count == 1:
        nothing = np.zeros(len(positions), int)
        return nothing, nothing, np.zeros(len(positions))
    period_points = grid.period_points(axis)
    if period_points:
        period_length = grid.period_length(axis)
        positions = (positions - line[0]) % period_length + line[0]
        line = np.append(line[:period_points], line[0] + period_length)
    else:
        outside = (positions < line[0] - near) | (positions > line[-1] + near)
        if outside.any():
            which = int(np.flatnonzero(outside)[0])
            place = ", ".join(f"{value:g}" for value in places[which])
            raise PipelineError(
                f"{names[which]} at ({place}) lies outside {grid.name}, whose {letter} reaches "
                f"from {line[0]:g} to {line[-1]:g}"
            )
    low = np.clip(np.searchsorted(line, positions, side="right") - 1, 0, len(line) - 2)
    share = np.clip((positions - line[low]) / (line[low + 1] - line[low]), 0.0, 1.0)
    return low, (low + 1) % (period_points or count), share
