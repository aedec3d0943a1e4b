"""Figures of an action: drawn on rank 0, replaced whole, and never for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from uzushio.config.section import Section
from uzushio.errors import PipelineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from uzushio.pipeline.context import Setup

#: The share of the time that goes by which a pipeline spends with drawing figures again, at most.
SHARE = 0.01

Scale = Literal["linear", "log", "symlog"]
Limits = tuple[float | None, float | None]
PlotAxis = Literal["x", "y"]
Format = Literal["png", "pdf", "svg"]


class Comparison(Section):
    """A curve of somebody else's."""

    file: Path = Field(description="CSV with a line of names; lines that begin with # are skipped")
    x: str = Field(description="column of the horizontal axis")
    y: str = Field(description="column of the vertical axis")
    label: str | None = Field(None, description="in the legend; the file's name if not given")

    def curve(self, base: Path) -> tuple[np.ndarray, np.ndarray, str]:
        """Read it.

        Args:
            base: folder from which the path counts.

        Raises:
            PipelineError: there is no such file or column, or it holds no numbers.
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
    """How a figure looks."""

    title: str | None = Field(None, description="above it; the action's name if not given")
    scale: dict[PlotAxis, Scale] = Field({}, description="axis of the figure: linear, log, symlog")
    limits: dict[PlotAxis, Limits] = Field({}, description="axis of the figure: [from, to]")
    labels: dict[PlotAxis, str] = Field({}, description="axis of the figure: what stands at it")
    size: tuple[Annotated[float, Field(gt=0, le=40)], Annotated[float, Field(gt=0, le=40)]] = Field(
        (6.4, 4.2), description="width and height in inches"
    )
    compare: list[Comparison] = Field([], description="curves of others")
    format: list[Format] = Field(
        ["png"], min_length=1, description="of the file: png, pdf or svg; or a list of these"
    )

    @field_validator("format", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        return [given] if isinstance(given, str) else given

    @property
    def suffixes(self) -> list[str]:
        """Of the files, each once."""
        return [f".{one}" for one in dict.fromkeys(self.format)]


class Pace:
    """Divides the time that may go into figures among those of a pipeline.

    Each has its own part: one that is asked for often does not take the others' turns.
    """

    def __init__(self) -> None:
        self._figures: set[Path] = set()

    @staticmethod
    def of(setup: Setup) -> Pace:
        """That of a pipeline."""
        pace: Pace = setup.shared.setdefault(Pace, Pace())
        return pace

    def join(self, figure: Path) -> None:
        """Count a figure, once."""
        self._figures.add(figure)

    def rest(self, seconds: float) -> float:
        """Seconds until a figure that took so many may be drawn again."""
        return seconds * len(self._figures) / SHARE


class FigureFile:
    """A figure that is drawn again and again, into a file of each format that is asked for.

    Drawing costs what it costs; so that the figures of a pipeline take no more than `SHARE` of the
    time that goes by, the picture may stay behind the numbers. `draw(now=True)` brings it up to
    date.
    """

    def __init__(self, folder: Path, name: str, settings: FigureSettings, pace: Pace) -> None:
        """Know what to draw; nothing is touched yet."""
        self.paths = [folder / f"{name}{suffix}" for suffix in settings.suffixes]
        self.settings, self._pace = settings, pace
        self._again, self.behind, self.drawn = 0.0, False, 0
        pace.join(self.paths[0])

    @staticmethod
    def load() -> None:
        """Import what drawing takes, which costs more than a figure does; before the first step."""
        import uzushio.figure_style  # noqa: F401

    def draw(
        self,
        title: str,
        paint: Callable[[Axes], object],
        curves: Sequence[tuple[np.ndarray, np.ndarray, str]] = (),
        now: bool = False,
    ) -> None:
        """Draw, if it is time.

        Args:
            title: above the figure.
            paint: puts everything into the axes.
            curves: of others, drawn as points.
            now: in any case.

        Raises:
            OSError: it cannot be written.
        """
        began = time.monotonic()
        if began < self._again and not now:
            self.behind = True
            return
        self._draw(title, paint, curves)
        self.behind, self.drawn = False, self.drawn + 1
        ended = time.monotonic()
        self._again = ended + self._pace.rest(ended - began)

    def _draw(
        self,
        title: str,
        paint: Callable[[Axes], object],
        curves: Sequence[tuple[np.ndarray, np.ndarray, str]],
    ) -> None:
        from uzushio.figure_style import BLACK, MARKERS, sheet, style, write

        settings = self.settings
        with style():
            figure = sheet(title, *settings.size)
            axes = figure.subplots()
            paint(axes)
            for number, (x, y, label) in enumerate(curves):
                marker = MARKERS[number % len(MARKERS)]
                axes.plot(x, y, marker, mfc="none", mec=BLACK, mew=0.8, label=label, zorder=1.5)
            for axis in ("x", "y"):
                self._dress(axes, axis)
            handles, names = axes.get_legend_handles_labels()
            if len(handles) > 1:
                outside = len(names) > 6
                where = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {}
                axes.legend(**where)
            for path in self.paths:
                fresh = path.with_name(f".{path.stem}.new{path.suffix}")
                try:
                    write(figure, fresh)
                    fresh.rename(path)
                except OSError as error:
                    raise OSError(error.errno, error.strerror, str(path)) from error
                finally:
                    with suppress(OSError):
                        fresh.unlink(missing_ok=True)

    def _dress(self, axes: Axes, axis: PlotAxis) -> None:
        settings = self.settings
        if axis in settings.labels:
            axes.set(**{f"{axis}label": settings.labels[axis]})
        if (scale := settings.scale.get(axis)) is not None:
            axes.set(**{f"{axis}scale": scale})
        if axis in settings.limits:
            axes.set(**{f"{axis}lim": settings.limits[axis]})


def label(name: str, unit: str) -> str:
    """A quantity with its unit, for an axis or a legend."""
    from uzushio.render.typeface import mathtext

    return f"{name} ({mathtext(unit)})" if unit else name


def to_power(unit: str, exponent: int) -> str:
    """A unit to a power; "" if the unit is not known."""
    single = unit.isalpha() or unit.replace("_", "", 1).isalpha()
    return f"{unit if single else f'({unit})'}^{exponent}" if unit else ""
