"""Action `probe`: time series of values at points and along lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from uzushio._base.config.section import Section
from uzushio._base.parallel.sync import collective
from uzushio._base.store.names import own_name
from uzushio.errors import PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.chart import value_axis
from uzushio.pipeline.figure import FigureFile, FigureSettings, TimeBudget, label
from uzushio.pipeline.interpolation import CellInterpolation, Interpolation
from uzushio.pipeline.need import Need
from uzushio.pipeline.table import Table
from uzushio.render.typeface import mathtext

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from uzushio.pipeline.context import Context, Setup
    from uzushio.pipeline.stream import Stream

Point = tuple[float, float, float]


def _file_name(given: str) -> str:
    if not re.fullmatch(r"[\w.+-]+", given):
        raise ValueError("must be letters, digits, _, +, - and full stops")
    return given


Name = Annotated[str, AfterValidator(_file_name)]


class ProbeLine(Section):
    """Equidistant points on a straight line."""

    begin: Point = Field(alias="from", description="first point, x, y, z")
    end: Point = Field(alias="to", description="last point")
    points: Annotated[int, Field(gt=1, le=100_000)] = Field(100, description="number of points")

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.begin == self.end:
            raise ValueError("'from' and 'to' are the same point; a line needs a length")
        return self

    @property
    def places(self) -> np.ndarray:
        """Positions, (points, 3), x, y, z."""
        return np.linspace(self.begin, self.end, self.points)

    @property
    def distances(self) -> np.ndarray:
        """Distances of the points from the first one."""
        return np.asarray(np.linalg.norm(self.places - self.places[0], axis=1))


class ProbeSettings(FigureSettings):
    """Places and fields to probe."""

    fields: list[str] = Field(
        min_length=1, description="names of fields of one grid, or of the same zones"
    )
    points: dict[Name, Point] | list[Point] = Field(
        {}, description="x, y, z of points, with names or without"
    )
    lines: dict[Name, ProbeLine] = Field({}, description="name: {from, to, points}")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.points and not self.lines:
            raise ValueError("needs 'points' or 'lines'")
        return self

    @property
    def named(self) -> dict[str, Point]:
        """Points by name."""
        if isinstance(self.points, dict):
            return dict(self.points)
        return {f"p{number}": point for number, point in enumerate(self.points)}


class Probe(Action[ProbeSettings]):
    """NAME.csv with one column for each field and point, and NAME-LINE.csv for each line."""

    settings_model: ClassVar[type[Section]] = ProbeSettings

    def __init__(self, settings: ProbeSettings, name: str, setup: Setup) -> None:
        super().__init__(settings, name, setup)
        self._tables: dict[Path, Table] = {}

    def files(self) -> Sequence[str]:
        """Return figures and tables of the points and of each line."""
        names = [
            *([""] if self.settings.named else []),
            *(f"-{line}" for line in self.settings.lines),
        ]
        suffixes = (*self.settings.suffixes, ".csv")
        return [f"{self.name}{name}{suffix}" for name in names for suffix in suffixes]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Find all positions."""
        settings, self._stream = self.settings, stream
        fields = settings.fields
        field_parts = [[stream.scalar(part).name for part in stream.parts(n)] for n in fields]
        places, names = [np.array([*settings.named.values()]).reshape(-1, 3)], [*settings.named]
        for name, line in settings.lines.items():
            places.append(line.places)
            names += [f"{name}, point {number}" for number in range(line.points)]
        grid = stream.grid_of(field_parts[0][0])
        self._interpolation: Interpolation | CellInterpolation
        if grid.coordinates is not None and len(field_parts[0]) == 1:
            self._interpolation = Interpolation(grid, np.concatenate(places), names)
            self._needs = [Need(tuple(fields), region=self._interpolation.region)]
        else:
            self._interpolation = CellInterpolation(np.concatenate(places), names)
            self._needs = [_cells_of(stream, on_mesh) for on_mesh in _by_mesh(fields, field_parts)]
        folder = self.setup.folder
        columns = [f"{field} at {name}" for field in fields for name in settings.named]
        self._points = self._table("", columns) if settings.named else None
        along = ["distance", "x", "y", "z", *map(own_name, fields)]
        self._lines = {name: self._table(f"-{name}", along) for name in settings.lines}
        budget = TimeBudget.of(self.setup)
        self._drawings = {
            name: FigureFile(folder, f"{self.name}{'-' if name else ''}{name}", settings, budget)
            for name in [*([""] if settings.named else []), *settings.lines]
        }
        self._steps, self._time = 0, 0.0
        return self._needs

    def _table(self, suffix: str, columns: Sequence[str]) -> Table:
        """Make a table; rows that this job has added to its file are kept."""
        path = self.setup.folder / f"{self.name}{suffix}.csv"
        begun = path in self._tables and self._tables[path].begun
        table = self._tables[path] = Table(path, columns, begun)
        return table

    def run(self, context: Context) -> None:
        """Add rows to the tables; figures are drawn at the end."""
        fields = self.settings.fields
        with context.section("probe"):
            if isinstance(self._interpolation, Interpolation):
                parts = context.parts(self._needs[0])
                samples = self._interpolation(context.comm, parts, fields)
            else:
                meshes = [(context.parts(need), need.fields) for need in self._needs]
                samples = self._interpolation(context.comm, meshes)
        with collective(context.comm):
            self._time = context.time
            if context.comm.rank == 0:
                self._add(context, samples)
        self._steps += 1

    def _add(self, context: Context, samples: np.ndarray) -> None:
        """Write the values, (fields, positions), of a step."""
        count = len(self.settings.named)
        if self._points is not None:
            self._points.add(context.index, context.time, samples[:, :count].reshape(1, -1))
        for name, line in self.settings.lines.items():
            values = samples[:, count : count + line.points]
            rows = np.column_stack([line.distances, line.places, values.T])
            self._lines[name].add(context.index, context.time, rows)
            count += line.points

    def close(self) -> None:
        """Draw the figures."""
        if self.setup.comm.rank != 0 or not self._steps:
            return
        title = self.settings.title or self.name
        for name, drawing in self._drawings.items():
            if not name:
                drawing.draw(title, self._paint_points, now=True)
                continue
            unit = mathtext(self._stream.time_unit)
            text = f"{title}: {name},  t = {self._time:.4g}{f' {unit}' if unit else ''}"
            drawing.draw(text, partial(self._paint_line, name), now=True)

    def _set_value_axis(self, axes: Axes) -> list[str]:
        """Label the vertical axis, and return the labels of the fields for a legend."""
        fields = self.settings.fields
        axis, names = value_axis(
            fields, [self._stream.quantity(self._stream.parts(name)[0]).unit for name in fields]
        )
        axes.set_ylabel(label(axis.name, axis.unit))
        return [label(name, unit) for name, unit in names]

    def _paint_points(self, axes: Axes) -> None:
        assert self._points is not None
        rows, points = self._points.values, [*self.settings.named]
        labels = self._set_value_axis(axes)
        for number, field in enumerate(labels):
            for place, point in enumerate(points):
                column = rows[:, 2 + number * len(points) + place]
                style = "-o" if len(rows) < 3 else "-"
                name = point if len(labels) == 1 else f"{field} at {point}"
                axes.plot(rows[:, 1], column, style, label=name)
        axes.set_xlabel(label("time", self._stream.time_unit))

    def _paint_line(self, name: str, axes: Axes) -> None:
        rows = self._lines[name].last
        for number, name in enumerate(self._set_value_axis(axes)):
            axes.plot(rows[:, 2], rows[:, 6 + number], label=name)
        axes.set_xlabel(label("distance", self._stream.length_unit))

    def summary(self) -> Mapping[str, Any]:
        """Return the files and the number of steps."""
        tables = [*([self._points] if self._points else []), *self._lines.values()]
        files = [*(table.path.name for table in tables)]
        drawn = [drawing for drawing in self._drawings.values() if drawing.drawn]
        files += [path.name for drawing in drawn for path in drawing.paths]
        return {"files": files, "steps": self._steps}


def _cells_of(stream: Stream, fields: Sequence[str]) -> Need:
    """Return the need of fields of one mesh in its cells, with values at the vertices."""
    grids = {stream.grid_of(name).name for name in fields}
    if len(grids) > 1:
        raise PipelineError(f"the fields {', '.join(fields)} are not on the same grid")
    return Need(tuple(fields), cells=True, vertices=stream.grid_of(fields[0]).of_elements)


def _by_mesh(fields: Sequence[str], parts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the names of the fields on each mesh from those of the parts of each field."""
    if len({len(names) for names in parts}) > 1:
        raise PipelineError(f"the fields {', '.join(fields)} are not on the same meshes")
    return list(zip(*parts, strict=True))
