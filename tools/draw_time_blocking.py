"""Draw the pictures of docs/theory/time-blocking.md from the plans that sweeps run.

Run as ``python tools/draw_time_blocking.py [FOLDER]``; the folder is docs/images unless given.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from mpi4py import MPI

from uzushio import _core
from uzushio._base.figure_style import AMBER, BLACK, BLUE, GREY, ORANGE, RESOLUTION, SKY, style

SCHEMES = {
    "plain": "plain: an exchange a step",
    "pa1": "PA1: one exchange, redundant slopes",
    "pa2": "PA2: exchange of slopes, half as redundant",
    "diamond": "diamond: nothing redundant, tiles move",
}
WIDTH, HEIGHT, STEPS = 16, 60, 6
MARGIN = 9  # columns that are shown on either side of the tile

NOTHING, OTHERS, BEFORE, AFTER, REDUNDANT = range(5)
COLOURS = ("white", "#dcdcdc", SKY, AMBER, ORANGE)
MEANINGS = {
    BEFORE: "computed before the messages have come, or without them",
    AFTER: "computed from them",
    REDUNDANT: "computed here and by its owner",
    OTHERS: "computed by other ranks",
}

Phases = list[Any]


def plan(scheme: str, width: int, height: int, steps: int, odd: bool = False) -> Phases:
    """Return the phases of a block: received rectangles, regions computed during and after."""
    phases: Phases = _core.stencil.plan(
        MPI.COMM_SELF.handle, width, height, scheme, steps, odd, overlap=True
    )
    return phases


def columns(rects: list[tuple[int, int, int, int]], row: int) -> list[int]:
    """Return the columns of rectangles in a row."""
    return [x for x0, x1, y0, y1 in rects if y0 <= row < y1 for x in range(x0, x1)]


def level_of(scheme: str, buffer: int, x: int) -> int:
    """Return the level of a received value, on the slopes of PA2 and the diamond."""
    if scheme in ("plain", "pa1"):
        return 0
    inside = -1 - x if x < 0 else x - WIDTH  # points from the border
    return inside if inside % 2 == buffer else inside - 1


def section(scheme: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Return levels by columns in two blocks, and received values: (column, level)."""
    shown = range(-MARGIN, WIDTH + MARGIN)
    levels = np.full((2 * STEPS, len(shown)), NOTHING)
    arrived: list[tuple[int, int]] = []
    row = HEIGHT // 2
    # The plain scheme's blocks have one step.
    blocks, steps = (2 * STEPS, 1) if scheme == "plain" else (2, STEPS)
    for block in range(blocks):
        odd = block % 2 == 1
        moved = steps if odd and scheme == "diamond" else 0
        for come, meanwhile, after in plan(scheme, WIDTH, HEIGHT, steps, odd):
            for buffer, rect in come:
                for x in columns([rect], row):
                    # Odd blocks of the diamond begin where all tiles have moved.
                    level = level_of(scheme, buffer, x + moved if moved else x)
                    arrived.append((x, block * steps + level))
            for kind, updates in ((BEFORE, meanwhile), (AFTER, after)):
                # A first phase without messages does not wait.
                if kind == AFTER and not come:
                    kind = BEFORE
                for update, rects in enumerate(updates):
                    level = block * steps + update
                    for x in columns(rects, row):
                        own = 0 <= x < WIDTH or scheme == "diamond"
                        mark(levels, level, x, kind if own else REDUNDANT)
                        for neighbour in (x - WIDTH, x + WIDTH):
                            if own:
                                mark(levels, level, neighbour, OTHERS)
    return levels, arrived


def mark(levels: np.ndarray, level: int, x: int, kind: int) -> None:
    """Set the kind of a point if it is shown; the rank's own kind has priority."""
    if 0 <= x + MARGIN < levels.shape[1]:
        levels[level, x + MARGIN] = max(kind, levels[level, x + MARGIN])


def draw_sections(path: Path) -> None:
    """Draw a row of points through a tile, level after level, with each scheme."""
    with style():
        figure = Figure(figsize=(10.0, 6.4), layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for axis, (scheme, title) in zip(axes.flat, SCHEMES.items(), strict=True):
            levels, arrived = section(scheme)
            axis.grid(False)
            axis.set_title(title)
            axis.pcolormesh(
                np.arange(-MARGIN, WIDTH + MARGIN + 1) - 0.5,
                np.arange(2 * STEPS + 1) + 0.5,
                levels,
                cmap=ListedColormap(COLOURS),
                vmin=0,
                vmax=len(COLOURS) - 1,
                edgecolors="white",
                linewidth=0.8,
            )
            seen = [(x, y) for x, y in arrived if -MARGIN <= x < WIDTH + MARGIN]
            axis.plot(*zip(*seen, strict=True), "o", color=BLACK, markersize=3.0)
            for border in (-0.5, WIDTH - 0.5):
                axis.axvline(border, color=BLUE, linewidth=1.2, linestyle="--")
            axis.axhline(STEPS + 0.5, color=GREY, linewidth=0.8)
            axis.set_ylim(-0.7, 2 * STEPS + 0.5)
            axis.set_yticks(range(0, 2 * STEPS + 1, 2))
        for axis in axes[1]:
            axis.set_xlabel("x, from the tile's first point")
        for axis in axes[:, 0]:
            axis.set_ylabel("step")
        keys: list[Any] = [Patch(color=COLOURS[k], label=MEANINGS[k]) for k in MEANINGS]
        keys.append(
            axes[0, 0].plot([], [], "o", color=BLACK, label="value that a message brings")[0]
        )
        figure.legend(handles=keys, loc="outside lower center", ncols=3)
        figure.savefig(path, dpi=RESOLUTION)


def redundant(scheme: str, width: int, height: int, steps: int, margin: int) -> np.ndarray:
    """Return how often other ranks than the owner compute each point around a tile in a block."""
    counts = np.zeros((height + 2 * margin, width + 2 * margin), dtype=int)
    for _, meanwhile, after in plan(scheme, width, height, steps):
        for updates in (meanwhile, after):
            for rects in updates:
                for x0, x1, y0, y1 in rects:
                    counts[y0 + margin : y1 + margin, x0 + margin : x1 + margin] += 1
    counts[margin : margin + height, margin : margin + width] = 0
    return counts


def draw_from_above(path: Path) -> None:
    """Draw the number of redundant updates of points, and the tiles in the cache."""
    with style():
        figure = Figure(figsize=(10.0, 3.4), layout="constrained")
        axes = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 1.1))
        width, height, steps, margin = 24, 20, 8, 9
        for axis, scheme in zip(axes, ("pa1", "pa2"), strict=False):
            counts = redundant(scheme, width, height, steps, margin)
            axis.grid(False)
            picture = axis.pcolormesh(
                np.arange(-margin, width + margin + 1) - 0.5,
                np.arange(-margin, height + margin + 1) - 0.5,
                np.where(counts > 0, counts, np.nan),
                cmap="YlOrBr",
                vmin=0,
                vmax=steps - 1,
            )
            axis.add_patch(Rectangle((-0.5, -0.5), width, height, facecolor=SKY))
            axis.text(width / 2, height / 2, "the rank's tile", ha="center", va="center")
            axis.set_aspect("equal")
            axis.set_title(f"{SCHEMES[scheme].split(':')[0]}, block of 8: {counts.sum()} redundant")
            axis.set_xlabel("x")
        axes[0].set_ylabel("y")
        figure.colorbar(picture, ax=axes[1], label="redundant updates a block", shrink=0.62)
        draw_cache_tiles(axes[2])
        figure.savefig(path, dpi=RESOLUTION)


def draw_cache_tiles(axis: Any) -> None:
    """Draw the tiles of two threads, in rows by steps, as the executor runs them."""
    rows, count, steps = 4, 48, 8
    half = count // 2
    owner = np.zeros((steps, count))
    for v in range(steps):
        for y in range(count):
            tile = (y + v) // rows
            if half - v <= y < half + v:
                owner[v, y] = 4 + tile % 2
            else:
                owner[v, y] = (0 if y < half else 2) + tile % 2
    axis.grid(False)
    axis.pcolormesh(
        np.arange(count + 1) - 0.5,
        np.arange(steps + 1) + 0.5,
        owner,
        cmap=ListedColormap([SKY, "#a9d8f5", "#7fc8b0", "#b5e0d2", AMBER, "#f3cf80"]),
        edgecolors="white",
        linewidth=0.4,
    )
    axis.set_title("tiles that stay in the cache, two threads")
    axis.set_xlabel("y (row)")
    axis.set_ylabel("step of the block")
    axis.text(8, steps + 0.9, "thread 0", ha="center")
    axis.text(40, steps + 0.9, "thread 1", ha="center")
    axis.text(half, steps + 0.9, "then", ha="center")
    axis.set_ylim(0.5, steps + 1.6)
    axis.set_yticks(range(1, steps + 1))


def main() -> None:
    """Write both pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images")
    draw_sections(folder / "time_blocking.png")
    draw_from_above(folder / "time_blocking_above.png")


if __name__ == "__main__":
    main()
