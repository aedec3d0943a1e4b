"""Profiles: averages over planes or lines, as functions of one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from uzushio._base.store.names import own_name
from uzushio.errors import PipelineError
from uzushio.pipeline.chart import Chart, ChartAxis, Curve, value_axis
from uzushio.pipeline.curves.subject import PlotSubject
from uzushio.pipeline.need import Need
from uzushio.pipeline.quadrature import Measure, Reducer, measure_unit
from uzushio.pipeline.selection import AXES, Axis, GridSelection, SelectionSettings, line_of

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream


class ProfileSettings(SelectionSettings):
    """Fields, points and axis of a profile."""

    fields: list[str] = Field(min_length=1, description="names of fields of one grid")
    along: Axis = Field(description="axis of the profile; the others are averaged")
    reduce: Measure = Field("mean", description="reduction of the values at each position")


class Profile(PlotSubject):
    """Profiles, one curve for each field."""

    def __init__(self, settings: ProfileSettings) -> None:
        self._settings = settings
        self._axis = AXES.index(settings.along)

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Find the points."""
        settings, self._stream = self._settings, stream
        for name in settings.fields:
            stream.scalar(name)
        grid = stream.grid_of(settings.fields[0])
        line_of(grid, settings.along)
        self._selection: GridSelection = settings.on(grid)
        if self._selection.count[self._axis] < 2:
            raise PipelineError(f"a profile along {settings.along} needs at least two points there")
        self.columns = [settings.along, *(self._name(field) for field in settings.fields)]
        self._need = Need(tuple(settings.fields), region=self._selection.region)
        return [self._need]

    def _name(self, field: str) -> str:
        measure = self._settings.reduce
        return own_name(field) if measure == "mean" else f"{measure}({field})"

    def rows(self, context: Context) -> np.ndarray:
        """Compute one row for each point along the axis."""
        fields, measure = self._settings.fields, self._settings.reduce
        reducer = Reducer(context.comm, self._selection, self._axis)
        reduced = reducer(context.parts(self._need), fields, [measure])
        lines = self._selection.lines
        assert lines is not None
        return np.column_stack([lines[self._axis], *(reduced[field, measure] for field in fields)])

    def chart(self, rows: np.ndarray) -> Chart:
        """Return one curve for each field."""
        fields, measure = self._settings.fields, self._settings.reduce
        units = [
            measure_unit(self._stream, field, measure, self._selection, self._axis)
            for field in fields
        ]
        shown = [field if measure == "mean" else f"{measure}({field})" for field in fields]
        axis, names = value_axis(shown, units)
        if len(names) == 1:
            names = [("this run", "")]
        curves = [
            Curve(name, rows[:, 2], rows[:, 3 + number], unit)
            for number, (name, unit) in enumerate(names)
        ]
        along = ChartAxis(self._settings.along, self._stream.length_unit)
        return Chart(along, axis, tuple(curves))
