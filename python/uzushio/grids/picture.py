"""Picture of a grid: its boundaries, and histograms of its quality."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from uzushio._base import figure_style
from uzushio.domain.box import Triple
from uzushio.grids.grid import Grid, GridZone
from uzushio.grids.quality import skewness_of, stretching_of
from uzushio.grids.volumes import cell_volumes

#: Maximum number of lines of a patch along each axis.
_LINES = 24
#: Cells that are drawn on each side of a wrong one.
_AROUND = 3


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


def draw_cells(zone: GridZone, cell: Triple, path: Path) -> Path:
    """Draw the cells around a cell of a zone, and those of the wrong volume among them.

    Args:
        zone: the zone.
        cell: index (i, j, k) of a cell.
        path: PNG, PDF or SVG.

    Returns:
        The path.
    """
    lower = [max(0, n - _AROUND) for n in cell]
    upper = [min(count, n + _AROUND + 1) for n, count in zip(cell, zone.cells, strict=True)]
    x = np.asarray(zone.vertices)[
        lower[2] : upper[2] + 1, lower[1] : upper[1] + 1, lower[0] : upper[0] + 1
    ]
    with figure_style.style():
        title = f"zone {zone.name}, cells around ({', '.join(map(str, cell))})"
        figure = figure_style.sheet(
            title, 7.0, 6.0, description=f"Inverted cells of a grid: {title}"
        )
        axes: Any = figure.add_subplot(projection="3d")
        lines = [line for axis in range(3) for line in _rows(x, axis)]
        axes.add_collection3d(
            Line3DCollection(lines, colors=figure_style.GREY, linewidths=0.4, label="cells")
        )
        volumes = cell_volumes(x)
        wrong = volumes <= 0 if np.count_nonzero(volumes > 0) * 2 >= volumes.size else volumes >= 0
        edges = [
            line
            for k, j, i in np.argwhere(wrong | ~np.isfinite(volumes))
            for axis in range(3)
            for line in _rows(x[k : k + 2, j : j + 2, i : i + 2], axis)
        ]
        axes.add_collection3d(
            Line3DCollection(
                edges, colors=figure_style.ORANGE, linewidths=1.2, label="inverted or flat"
            )
        )
        _frame(axes, x.reshape(-1, 3))
        axes.legend(loc="upper left")
        return figure_style.write(figure, path)


def _rows(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the lines of vertices along an axis, (line, vertex, 3)."""
    moved = np.moveaxis(x, 2 - axis, 2)
    return moved.reshape(-1, *moved.shape[2:])


def _frame(axes: Any, points: np.ndarray) -> None:
    """Set the limits of axes to those of points, with equal scales unless they are very long."""
    points = points[np.isfinite(points).all(axis=1)]
    lower, upper = points.min(axis=0), points.max(axis=0)
    for set_limits, low, high in zip(
        (axes.set_xlim, axes.set_ylim, axes.set_zlim), lower, upper, strict=True
    ):
        set_limits(low, high)
    axes.set_box_aspect(np.maximum(upper - lower, 0.2 * (upper - lower).max()))
    axes.set(xlabel="x", ylabel="y", zlabel="z")
    axes.locator_params(nbins=5)


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
    _frame(axes, corners)
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
