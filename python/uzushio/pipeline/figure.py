"""Figures of actions: drawn on rank 0, replaced atomically, with a limited share of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from uzushio._base.config.quantities import with_unit
from uzushio._base.config.section import ONE_OR_MANY, Section
from uzushio._base.files import atomic_file
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from uzushio.pipeline.context import Setup

#: Maximum share of the wall time that a pipeline spends on redrawing figures.
MAX_SHARE = 0.01

Scale = Literal["linear", "log", "symlog"]
Limits = tuple[float | None, float | None]
PlotAxis = Literal["x", "y"]
Format = Literal["png", "pdf", "svg"]


class Comparison(Section):
    """Reference curve from a CSV file."""

    file: Path = Field(description="CSV with a line of names; lines starting with # are skipped")
    x: str = Field(description="column of the horizontal axis")
    y: str = Field(description="column of the vertical axis")
    label: str | None = Field(None, description="in the legend; the file's name if not given")

    def curve(self, base: Path) -> tuple[np.ndarray, np.ndarray, str]:
        """Read x, y and the label.

        Args:
            base: folder of relative paths.

        Raises:
            PipelineError: the file or a column is missing, or holds no numbers.
        """
        path = base / self.file.expanduser()
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise PipelineError(f"compare.file: {path} cannot be read ({error})") from error
        lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        names = [name.strip().strip('"') for name in (lines or [""])[0].split(",")]
        for name in (self.x, self.y):
            if name not in names:
                raise PipelineError(
                    f"compare: {path} has the columns {', '.join(names)}, not {name}"
                )
        try:
            rows = np.array([line.split(",") for line in lines[1:]], float)
            x, y = rows[:, names.index(self.x)], rows[:, names.index(self.y)]
        except (ValueError, IndexError) as error:
            raise PipelineError(
                f"compare: {path} does not hold rows of numbers ({error})"
            ) from error
        return x, y, self.label or path.stem


class FigureSettings(Section):
    """Appearance of a figure."""

    title: str | None = Field(None, description="above it; the action's name if not given")
    scale: dict[PlotAxis, Scale] = Field({}, description="axis of the figure: linear, log, symlog")
    limits: dict[PlotAxis, Limits] = Field({}, description="axis of the figure: [from, to]")
    labels: dict[PlotAxis, str] = Field({}, description="axis of the figure: label")
    size: tuple[Annotated[float, Field(gt=0, le=40)], Annotated[float, Field(gt=0, le=40)]] = Field(
        (6.4, 4.2), description="width and height in inches"
    )
    compare: list[Comparison] = Field([], description="reference curves")
    format: Annotated[list[Format], ONE_OR_MANY] = Field(
        ["png"], min_length=1, description="of the file: png, pdf or svg; or a list of these"
    )

    @property
    def suffixes(self) -> list[str]:
        """Suffixes of the files, each once."""
        return [f".{suffix}" for suffix in dict.fromkeys(self.format)]


class TimeBudget:
    """Share of the wall time for figures, divided equally among the figures of a pipeline."""

    def __init__(self) -> None:
        self._figures: set[Path] = set()

    @staticmethod
    def of(setup: Setup) -> TimeBudget:
        """Return the budget of a pipeline."""
        budget: TimeBudget = setup.shared.setdefault(TimeBudget, TimeBudget())
        return budget

    def add_figure(self, figure: Path) -> None:
        """Count a figure; a figure that is counted already is ignored."""
        self._figures.add(figure)

    def pause_after(self, seconds: float) -> float:
        """Return the seconds to wait after a drawing that took `seconds`."""
        return seconds * len(self._figures) / MAX_SHARE


class FigureFile:
    """Figure that is redrawn repeatedly, as a file of each requested format.

    The figures of a pipeline take at most `MAX_SHARE` of the wall time, so a figure may lag behind
    its numbers. `draw(now=True)` updates it.
    """

    def __init__(
        self, folder: Path, name: str, settings: FigureSettings, budget: TimeBudget
    ) -> None:
        """Set paths and budget; nothing is drawn."""
        self.paths = [folder / f"{name}{suffix}" for suffix in settings.suffixes]
        self.settings, self._budget = settings, budget
        self._next, self.behind, self.drawn = 0.0, False, 0
        budget.add_figure(self.paths[0])

    @staticmethod
    def load() -> None:
        """Import matplotlib before the first step: the import takes longer than a figure."""
        import uzushio._base.figure_style  # noqa: F401

    def draw(
        self,
        title: str,
        paint: Callable[[Axes], object],
        curves: Sequence[tuple[np.ndarray, np.ndarray, str]] = (),
        now: bool = False,
    ) -> None:
        """Draw the figure if the budget allows it.

        Args:
            title: title of the figure.
            paint: draws into the axes.
            curves: reference curves, drawn as points.
            now: draw regardless of the budget.

        Raises:
            OSError: the file cannot be written.
        """
        began = time.monotonic()
        if began < self._next and not now:
            self.behind = True
            return
        self._draw(title, paint, curves)
        self.behind, self.drawn = False, self.drawn + 1
        ended = time.monotonic()
        self._next = ended + self._budget.pause_after(ended - began)

    def _draw(
        self,
        title: str,
        paint: Callable[[Axes], object],
        curves: Sequence[tuple[np.ndarray, np.ndarray, str]],
    ) -> None:
        from uzushio._base.figure_style import BLACK, MARKERS, sheet, style, write

        settings = self.settings
        with style(), np.errstate(all="ignore"):  # limits of values beyond half of the largest
            figure = sheet(title, *settings.size)
            axes = figure.subplots()
            paint(axes)
            for number, (x, y, label) in enumerate(curves):
                marker = MARKERS[number % len(MARKERS)]
                axes.plot(x, y, marker, mfc="none", mec=BLACK, mew=0.8, label=label, zorder=1.5)
            for axis in ("x", "y"):
                self._set_axis(axes, axis)
            handles, names = axes.get_legend_handles_labels()
            if len(handles) > 1:
                outside = len(names) > 6
                where = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {}
                axes.legend(**where)
            for path in self.paths:
                with atomic_file(path) as fresh:
                    write(figure, fresh)

    def _set_axis(self, axes: Axes, axis: PlotAxis) -> None:
        settings = self.settings
        if axis in settings.labels:
            axes.set(**{f"{axis}label": settings.labels[axis]})
        if (scale := settings.scale.get(axis)) is not None:
            axes.set(**{f"{axis}scale": scale})
        if axis in settings.limits:
            axes.set(**{f"{axis}lim": settings.limits[axis]})


def label(name: str, unit: str) -> str:
    """Return a name with its unit, for an axis or a legend."""
    from uzushio.render.typeface import mathtext

    return with_unit(name, mathtext(unit))


def to_power(unit: str, exponent: int) -> str:
    """Return a unit to a power; "" if the unit is not known."""
    single = unit.isalpha() or unit.replace("_", "", 1).isalpha()
    return f"{unit if single else f'({unit})'}^{exponent}" if unit else ""
