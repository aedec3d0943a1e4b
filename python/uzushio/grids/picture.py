"""Picture of a grid: its boundaries, and histograms of its quality."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from uzushio._base import figure_style
from uzushio.grids.grid import Grid
from uzushio.grids.quality import skewness_of, stretching_of
from uzushio.grids.volumes import cell_volumes

#: Maximum number of lines of a patch along each axis.
_LINES = 24


def draw_grid(grid: Grid, path: Path) -> Path:
    """Draw the lines of the boundaries, coloured by name, and histograms of the cells.

    Args:
        grid: the grid.
        path: PNG, PDF or SVG.

    Returns:
        The path.
    """
    with figure_style.style():
        figure = figure_style.sheet(
            f"{len(grid.zones)} zones, {grid.cells:,} cells",
            10.0,
            5.6,
            description="Boundaries of a grid by name, and histograms of volumes, stretching and "
            "skewness.",
        )
        places = figure.add_gridspec(3, 2, width_ratios=(2.0, 1.0))
        _draw_boundaries(figure.add_subplot(places[:, 0], projection="3d"), grid)
        _histogram(
            figure.add_subplot(places[0, 1]),
            np.concatenate([_log_volumes(np.asarray(zone.vertices)) for zone in grid.zones]),
            "volume of a cell, log₁₀",
        )
        _histogram(
            figure.add_subplot(places[1, 1]),
            np.concatenate([stretching_of(np.asarray(zone.vertices)) for zone in grid.zones]),
            "stretching",
        )
        _histogram(
            figure.add_subplot(places[2, 1]),
            np.concatenate([skewness_of(np.asarray(zone.vertices)) for zone in grid.zones]),
            "skewness in degrees",
        )
        return figure_style.write(figure, path)


def _log_volumes(vertices: np.ndarray) -> np.ndarray:
    volumes = np.abs(cell_volumes(vertices).ravel())
    return np.asarray(np.log10(volumes[volumes > 0]))


def _draw_boundaries(axes: Any, grid: Grid) -> None:
    colors = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
    for number, name in enumerate(grid.conditions()):
        lines = [
            line
            for zone in grid.zones
            for patch, named in zone.boundaries
            if named == name
            for line in _lines(patch.vertices(zone.vertices))
        ]
        color = colors[number % len(colors)]
        axes.add_collection3d(Line3DCollection(lines, colors=color, linewidths=0.4, label=name))
    corners = np.concatenate(
        [np.asarray(zone.vertices)[:, :, [0, -1]].reshape(-1, 3) for zone in grid.zones]
    )
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    for set_limits, low, high in zip(
        (axes.set_xlim, axes.set_ylim, axes.set_zlim), lower, upper, strict=True
    ):
        set_limits(low, high)
    axes.set_box_aspect(np.maximum(upper - lower, 0.2 * (upper - lower).max()))
    axes.set(xlabel="x", ylabel="y", zlabel="z")
    axes.locator_params(nbins=5)
    if grid.conditions():
        axes.legend(loc="upper left")


def _lines(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield lines of a patch along both of its axes, with the first and the last one."""
    for rows in (x, x.swapaxes(0, 1)):
        count = min(len(rows), _LINES)
        yield from (rows[n] for n in np.linspace(0, len(rows) - 1, count).round().astype(int))


def _histogram(axes: Any, values: np.ndarray, label: str) -> None:
    finite = values[np.isfinite(values)]
    axes.hist(finite, bins=40, log=True)
    axes.set(xlabel=label, ylabel="number")
