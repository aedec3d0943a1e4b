"""Action `plot`: profiles, spectra and time series, as a figure and a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from uzushio._base.config.section import Section
from uzushio._base.parallel.sync import collective
from uzushio.pipeline.action import Action
from uzushio.pipeline.curves.profile import Profile, ProfileSettings
from uzushio.pipeline.curves.series import Series, SeriesSettings
from uzushio.pipeline.curves.spectrum import Spectrum, SpectrumSettings
from uzushio.pipeline.curves.subject import PlotSubject
from uzushio.pipeline.figure import FigureFile, FigureSettings, TimeBudget
from uzushio.pipeline.need import Need
from uzushio.pipeline.table import Table
from uzushio.render.typeface import mathtext

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream


SubjectKind = Literal["profile", "spectrum", "series"]

_SUBJECTS: dict[SubjectKind, Callable[[Any], PlotSubject]] = {
    "profile": Profile,
    "spectrum": Spectrum,
    "series": Series,
}


class PlotSettings(FigureSettings):
    """Subject of a plot, one of three, and appearance of the figure."""

    profile: ProfileSettings | None = None
    spectrum: SpectrumSettings | None = None
    series: SeriesSettings | None = None

    @model_validator(mode="after")
    def _require_one_subject(self) -> Self:
        if sum(getattr(self, kind) is not None for kind in _SUBJECTS) != 1:
            raise ValueError("needs exactly one of 'profile', 'spectrum' and 'series'")
        return self

    @property
    def kind(self) -> SubjectKind:
        """Kind of the subject."""
        return next(kind for kind in _SUBJECTS if getattr(self, kind) is not None)

    def subject(self) -> PlotSubject:
        """Return the subject of the plot."""
        return _SUBJECTS[self.kind](getattr(self, self.kind))


class Plot(Action[PlotSettings]):
    """NAME.png (or .pdf, .svg) of the latest step, and NAME.csv with the numbers of all steps."""

    settings_model: ClassVar[type[Section]] = PlotSettings
    _curves: list[tuple[np.ndarray, np.ndarray, str]]
    _table: Table | None = None

    def files(self) -> Sequence[str]:
        """Return the figures and the table."""
        return [f"{self.name}{suffix}" for suffix in (*self.settings.suffixes, ".csv")]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check names, positions, and files of reference curves."""
        self._subject = self.settings.subject()
        needs = self._subject.prepare(stream)
        self._time_unit = stream.time_unit
        self._curves = [curve.curve(self.setup.base) for curve in self.settings.compare]
        folder = self.setup.folder
        begun = self._table is not None and self._table.begun
        self._table = Table(folder / f"{self.name}.csv", self._subject.columns, begun)
        self._drawing = FigureFile(folder, self.name, self.settings, TimeBudget.of(self.setup))
        self._steps, self._time = 0, 0.0
        if self.setup.comm.rank == 0:
            FigureFile.load()
        return needs

    def run(self, context: Context) -> None:
        """Add rows to the table, and draw."""
        with context.section("reduce"):
            rows = self._subject.rows(context)
        assert self._table is not None
        with collective(context.comm), context.section("plot"):
            self._time = context.time
            if context.comm.rank == 0:
                self._table.add(context.index, context.time, rows)
                self._draw()
        self._steps += 1

    def _draw(self, now: bool = False) -> None:
        title = self.settings.title or self.name
        if self._subject.of_one_step:
            unit = mathtext(self._time_unit)
            title = f"{title},  t = {self._time:.4g}{f' {unit}' if unit else ''}"
        self._drawing.draw(title, self._paint, self._curves, now)

    def _paint(self, axes: Axes) -> None:
        """Draw the chart; the table is read only when a figure is due."""
        assert self._table is not None
        rows = self._table.last if self._subject.of_one_step else self._table.values
        self._subject.chart(rows).paint(axes)

    def close(self) -> None:
        """Update the figure to the last step."""
        if self.setup.comm.rank == 0 and self._steps and self._drawing.behind:
            self._draw(now=True)

    def summary(self) -> Mapping[str, Any]:
        """Return the files and counts."""
        assert self._table is not None
        return {
            "files": [*(path.name for path in self._drawing.paths), self._table.path.name],
            "steps": self._steps,
            "drawn": self._drawing.drawn,
        }
