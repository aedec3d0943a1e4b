"""Positions of vertices along a line."""

from __future__ import annotations

import numpy as np

from uzushio.errors import GridError


def uniform(cells: int, stretching: float = 0.0) -> np.ndarray:
    """Return positions from 0 to 1, finer at both ends (tanh) if the stretching is not 0."""
    s = np.linspace(-1.0, 1.0, cells + 1)
    if stretching:
        s = np.tanh(stretching * s) / np.tanh(stretching)
    line = 0.5 * (1.0 + s)
    line[0], line[-1] = 0.0, 1.0
    return line


def growing(length: float, cells: int, first: float, what: str) -> np.ndarray:
    """Return positions from 0 to `length` of cells that grow by a constant ratio.

    Args:
        length: length of the line.
        cells: number of cells.
        first: length of the first cell.
        what: name of the line for messages.

    Raises:
        GridError: one cell is longer than the line.
    """
    if not 0 < first < length or cells < 1:
        raise GridError(
            f"{what}: {cells} cells, the first of length {first:g}, do not fit into {length:g}."
        )
    ratio = _ratio(length / first, cells)
    steps = ratio ** np.arange(cells)
    line = np.concatenate([[0.0], np.cumsum(steps)])
    line *= length / line[-1]
    return line


def _ratio(total: float, cells: int) -> float:
    """Return r with 1 + r + … + r^(cells - 1) = total, by bisection."""
    low, high = 0.0, 2.0
    powers = np.arange(cells)
    while np.sum(high**powers) < total and cells > 1:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sum(middle**powers) < total else (low, middle)
    return high
