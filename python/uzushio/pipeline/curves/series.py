"""Time series of reductions of fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from uzushio._base.config.section import ONE_OR_MANY
from uzushio.pipeline.chart import Chart, ChartAxis, Curve, value_axis
from uzushio.pipeline.curves.subject import PlotSubject
from uzushio.pipeline.need import Need
from uzushio.pipeline.quadrature import Measure, Reducer, measure_unit
from uzushio.pipeline.selection import GridSelection, SelectionSettings

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream


class SeriesSettings(SelectionSettings):
    """Fields, points and reductions of a time series."""

    fields: list[str] = Field(min_length=1, description="names of fields")
    reduce: Annotated[list[Measure], ONE_OR_MANY] = Field(
        ["mean"], min_length=1, description="mean, rms, std, min, max, integral"
    )


class Series(PlotSubject):
    """Time series, one curve for each field and reduction."""

    of_one_step = False

    def __init__(self, settings: SeriesSettings) -> None:
        self._settings = settings

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Find the points for each field, as fields may be on different grids."""
        settings, self._stream = self._settings, stream
        self._selections: dict[str, GridSelection] = {}
        self._needs: dict[str, Need] = {}
        for name in settings.fields:
            stream.scalar(name)
            selection = self._selections[name] = settings.on(stream.grid_of(name))
            self._needs[name] = Need((name,), region=selection.region)
        self.columns = [
            self._name(field, measure) for field in settings.fields for measure in self._all
        ]
        return list(self._needs.values())

    @property
    def _all(self) -> list[Measure]:
        return list(dict.fromkeys(self._settings.reduce))

    @staticmethod
    def _name(field: str, measure: Measure) -> str:
        return f"{measure}({field})"

    def rows(self, context: Context) -> np.ndarray:
        """Compute one row."""
        row: list[float] = []
        for field in self._settings.fields:
            reducer = Reducer(context.comm, self._selections[field], None)
            reduced = reducer(context.parts(self._needs[field]), [field], self._all)
            row += [float(reduced[field, measure]) for measure in self._all]
        return np.array([row])

    def chart(self, rows: np.ndarray) -> Chart:
        """Return one curve for each field and reduction, over time."""
        stream, fields = self._stream, self._settings.fields
        units = [
            measure_unit(stream, field, measure, self._selections[field])
            for field in fields
            for measure in self._all
        ]
        axis, names = value_axis(self.columns, units)
        if len(self._all) > 1:  # the legend has the reductions
            names = list(zip(self.columns, (unit for _, unit in names), strict=True))
            shown = axis.name and ", ".join(fields)
            axis = ChartAxis(shown, axis.unit)
        curves = [
            Curve(name, rows[:, 1], rows[:, 2 + number], unit)
            for number, (name, unit) in enumerate(names)
        ]
        return Chart(ChartAxis("time", self._stream.time_unit), axis, tuple(curves))
