"""Pictures of a placement: the group on each node, and the loads of links."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from uzushio._base.figure_style import BLUE, ORANGE, caption, sheet, style, write
from uzushio.placement.evaluation import link_loads
from uzushio.placement.machines.machine import Floats, Indices, Machine
from uzushio.placement.machines.tofu import UNIT, TofuD
from uzushio.placement.machines.torus import Torus
from uzushio.placement.placing import Placement

#: Maximum numbers of panels of a picture, in a row, and of phases with a panel.
_MAX_PANELS, _PER_ROW, _MAX_PHASES = 8, 4, 4


def draw_placement(placement: Placement, path: Path) -> Path | None:
    """Draw which group is on each node, by default and placed; return the path.

    Args:
        placement: the placement.
        path: file, PNG, PDF or SVG.
    """
    panel, row, column, names = _positions(placement.machine)
    panels = min(int(panel.max()) + 1, _MAX_PANELS)
    group = placement.pattern.group or placement.per_node
    label = "group" if placement.pattern.group else "node by number of its first rank"
    columns = min(panels, _PER_ROW)
    rows = -(-panels // columns)
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    high = 0.5 + 2.1 * min(1.5, max(0.5, shape[0] / shape[1]))
    with style():
        figure = sheet(
            f"Groups of ranks on {placement.machine}", 2.2 * columns + 1.4, 2 * rows * high + 0.9
        )
        grid = figure.subplots(2 * rows, columns, squeeze=False)
        image = None
        for half, (title, node) in enumerate(
            (("default", placement.default), ("placed", placement.node))
        ):
            values = np.full(placement.machine.size, np.nan)
            order = np.argsort(-np.arange(len(node)), kind="stable")
            values[node[order]] = (np.arange(len(node)) // group)[order]
            for number in range(rows * columns):
                axes = grid[half * rows + number // columns, number % columns]
                if number >= panels:
                    axes.set_axis_off()
                    continue
                here = panel == number
                picture = np.full(shape, np.nan)
                picture[row[here], column[here]] = values[here]
                axes.grid(False)
                axes.set_facecolor("#d0d0d0")
                image = axes.imshow(
                    picture,
                    origin="lower",
                    cmap="turbo",
                    vmin=0,
                    aspect="auto",
                    vmax=max(1, (len(node) - 1) // group),
                    interpolation="nearest",
                )
                _mark_units(axes, placement.machine)
                axes.set_title(f"{title}, {names[2]} = {number}" if names[2] else title)
                if number % columns == 0:
                    axes.set_ylabel(names[1])
                if half == 1 and number + columns >= panels:
                    axes.set_xlabel(names[0])
        assert image is not None
        figure.colorbar(image, ax=grid, label=label, shrink=0.6)
        shown = f"Panels 0 to {panels - 1} of {int(panel.max()) + 1}. "
        caption(figure, (shown if panels <= panel.max() else "") + "Grey: no rank.")
        return write(figure, path)


def draw_loads(placement: Placement, path: Path) -> Path | None:
    """Draw how many links carry how much, by default and placed; return the path.

    Args:
        placement: the placement.
        path: file, PNG, PDF or SVG.

    Returns:
        The path; None if no message crosses a link.
    """
    before = link_loads(placement.machine, placement.pattern, placement.default)
    after = link_loads(placement.machine, placement.pattern, placement.node)
    busiest = [max(loads.max(), other.max()) for loads, other in zip(before, after, strict=True)]
    phases = [int(number) for number in np.argsort(busiest)[::-1] if busiest[number] > 0]
    phases = sorted(phases[:_MAX_PHASES])
    if not phases:
        return None
    with style():
        figure = sheet("Loads of links", 3.4 * len(phases) + 0.4, 3.3)
        for axes, phase in zip(
            figure.subplots(1, len(phases), squeeze=False)[0], phases, strict=True
        ):
            for label, loads, color in (
                ("default", before[phase], ORANGE),
                ("placed", after[phase], BLUE),
            ):
                load, links = _at_least(loads)
                axes.step(load, links, where="pre", color=color, label=label)
                axes.plot(load[-1], links[-1], "o", color=color)
            axes.set_yscale("log")
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0.7)
            axes.set_title(placement.pattern.phases[phase].name)
            axes.set_xlabel("bytes over a link in one direction")
            axes.legend()
        figure.axes[0].set_ylabel("links with at least this load")
        return write(figure, path)


def _at_least(loads: Floats) -> tuple[Floats, Indices]:
    """Return 0 and the loads of used links, ascending, and how many links have at least each."""
    values, counts = np.unique(loads[loads > 0], return_counts=True)
    if len(values) == 0:
        return np.zeros(1), np.ones(1, np.int64)
    links = np.cumsum(counts[::-1])[::-1]
    return np.concatenate([[0.0], values]), np.concatenate([links[:1], links])


def _positions(machine: Machine) -> tuple[Indices, Indices, Indices, tuple[str, str, str]]:
    """Return panel, row and column of each node, and the names of columns, rows and panels."""
    at = machine.coordinates
    if isinstance(machine, TofuD):
        row, column = (
            at[:, 1] * UNIT[1] + at[:, 4],
            at[:, 0] * UNIT[0] * UNIT[2] + (at[:, 3] * UNIT[2] + at[:, 5]),
        )
        return at[:, 2], row, column, ("x; a, c in a unit", "y; b in a unit", "z")
    if isinstance(machine, Torus):
        shape = machine.shape + (1,) * (3 - len(machine.shape))
        full = np.zeros((machine.size, len(shape)), np.int64)
        full[:, : at.shape[1]] = at
        panel = np.ravel_multi_index(tuple(full[:, 2:].T), shape[2:])
        others = ", ".join(machine.axes[2:])
        return panel, full[:, 1], full[:, 0], ("x", "y", others)
    units = machine.units(1).unit
    order = np.lexsort((np.arange(machine.size), units))
    _, first, count = np.unique(units[order], return_index=True, return_counts=True)
    place = np.empty(machine.size, np.int64)
    place[order] = np.arange(machine.size) - np.repeat(first, count)
    return np.zeros_like(place), units, place, ("node of the unit", "switch or group", "")


def _mark_units(axes: object, machine: Machine) -> None:
    """Draw lines between the units of Tofu-D, with the number of each unit as tick."""
    if not isinstance(machine, TofuD):
        return
    wide, high = UNIT[0] * UNIT[2], UNIT[1]
    for size, count, line, ticks in (
        (wide, machine.shape[0], "axvline", "set_xticks"),
        (high, machine.shape[1], "axhline", "set_yticks"),
    ):
        for number in range(1, count):
            getattr(axes, line)(number * size - 0.5, color="white", linewidth=0.8)
        middle = [(number + 0.5) * size - 0.5 for number in range(count)]
        getattr(axes, ticks)(middle, labels=[str(number) for number in range(count)], fontsize=7)
