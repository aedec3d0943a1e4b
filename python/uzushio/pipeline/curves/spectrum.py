"""One-dimensional power spectra along an axis with equidistant points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, field_validator

from uzushio._base.config.section import Section
from uzushio._base.store.distribution import Distribution, Transfer
from uzushio.domain.box import Box
from uzushio.errors import PipelineError
from uzushio.pipeline.chart import Chart, ChartAxis, Curve
from uzushio.pipeline.curves.subject import PlotSubject
from uzushio.pipeline.figure import to_power
from uzushio.pipeline.need import Need
from uzushio.pipeline.quadrature import weights
from uzushio.pipeline.selection import (
    AXES,
    Axis,
    GridSelection,
    SelectionSettings,
    line_of,
    nearest,
)

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream


class SpectrumSettings(Section):
    """Fields, axis and positions of a spectrum."""

    fields: list[str] = Field(min_length=1, description="names of fields of one grid")
    along: Axis = Field(description="axis that is transformed")
    at: dict[Axis, list[float]] = Field(
        {}, max_length=1, description="axis: positions, one curve for each; else one over all"
    )

    @field_validator("at", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {k: v if isinstance(v, list) else [v] for k, v in given.items()}


class Spectrum(PlotSubject):
    """Power spectra, one curve for each field and position.

    With f = Σ F exp(i k x) over a line of n points, the spectrum at k = 2 π m / L, L = n Δx, is
    E(k) = (|F(k)|² + |F(−k)|²) / Δk, averaged over lines: its sum times Δk is the mean of f².
    """

    def __init__(self, settings: SpectrumSettings) -> None:
        self._settings = settings

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Check the spacing, and find the planes."""
        settings, self._stream = self._settings, stream
        for name in settings.fields:
            stream.scalar(name)
        grid = stream.grid_of(settings.fields[0])
        self._along = AXES.index(settings.along)
        line = line_of(grid, settings.along)
        line = line[: grid.period_points(self._along) or len(line)]  # each point once
        step = np.diff(line)
        if len(line) < 2 or np.abs(step - step.mean()).max() > 1e-6 * step.mean():
            raise PipelineError(
                f"a spectrum along {settings.along} needs equidistant points, and the spacing of "
                f"{grid.name} varies; choose another axis"
            )
        if settings.along in settings.at:
            raise PipelineError(f"{settings.along} is transformed, and has no position in `at`")
        self._across = next(
            (AXES.index(axis) for axis in settings.at),
            next(axis for axis in range(3) if axis != self._along),
        )
        self._last = 3 - self._along - self._across
        positions = settings.at.get(AXES[self._across])
        self._groups, names = self._planes(grid, positions)
        once: dict[Axis, tuple[int, int]] = {settings.along: (0, len(line) - 1)}
        self._whole: GridSelection = SelectionSettings(within_index=once).on(grid)
        self._length = float(step.mean()) * len(line)
        self.columns = ["k", *(f"{field}{name}" for field in settings.fields for name in names)]
        self._labels = [f"{field}{name}" for field in settings.fields for name in names]
        return [self._need()]

    def _planes(
        self, grid: object, positions: list[float] | None
    ) -> tuple[list[list[int]], list[str]]:
        """Return the indices, from 0, of the planes of each curve, and its name."""
        from uzushio.pipeline.stream import Grid

        assert isinstance(grid, Grid)
        axis = AXES[self._across]
        if positions is None:
            return [list(range(grid.points.count[self._across]))], [""]
        indices = [nearest(grid, axis, position) for position in positions]
        indices = list(dict.fromkeys(indices))
        line = line_of(grid, axis)
        return [[index] for index in indices], [
            f" at {axis} = {line[index]:.4g}" for index in indices
        ]

    def _need(self) -> Need:
        """Return the need of all planes from the first to the last one."""
        region = self._whole.region
        every = [plane for group in self._groups for plane in group]
        start, count = list(region.start), list(region.count)
        start[self._across] += min(every)
        count[self._across] = max(every) - min(every) + 1
        self._wanted = Need(tuple(self._settings.fields), region=Box(tuple(start), tuple(count)))
        return self._wanted

    def rows(self, context: Context) -> np.ndarray:
        """Compute one row for each wave number, k = 0 first."""
        comm, fields = context.comm, self._settings.fields
        owned = self._whole.owned(context.parts(self._wanted))
        distribution = Distribution(comm, [part.box for part in owned])
        count = self._whole.count[self._along]
        power = np.zeros((len(fields), len(self._groups), count // 2 + 1))
        lines = weights(self._whole)
        last = lines[self._last] / lines[self._last].sum()
        for number, field in enumerate(fields):
            values = [part.values(field) for part in owned]
            for curve, group in enumerate(self._groups):
                across = lines[self._across][group] / lines[self._across][group].sum()
                for plane, weight in zip(group, across, strict=True):
                    boxes = self._rows_of(plane, comm.size)
                    transfer = Transfer(distribution, values, boxes, np.dtype(np.float64))
                    for box, array in transfer.run():
                        own = last[box.slices()[self._last]]
                        power[number, curve] += weight * _power(array, self._along, self._last, own)
        total = np.empty_like(power)
        comm.Allreduce(power, total)
        step = 2.0 * np.pi / self._length
        return np.column_stack(
            [step * np.arange(count // 2 + 1), total.reshape(-1, count // 2 + 1).T / step]
        )

    def _rows_of(self, plane: int, ranks: int) -> list[list[Box]]:
        """Divide the lines of a plane among the ranks, about equally."""
        cuts = np.linspace(0, self._whole.count[self._last], ranks + 1).astype(int)
        boxes = []
        for begin, end in pairwise(cuts):
            start, count = [0, 0, 0], list(self._whole.count)
            start[self._across], count[self._across] = plane, 1
            start[self._last], count[self._last] = int(begin), int(end - begin)
            box = Box(tuple(start), tuple(count))
            boxes.append([box] if box.size else [])
        return boxes

    def chart(self, rows: np.ndarray) -> Chart:
        """Return the curves over the wave numbers above 0, with logarithmic axes."""
        rows = rows[1:]
        peak = rows[:, 3:].max(initial=0.0)
        # A solver may leave the last wave number empty: a line to 0 would look like a value.
        shown = np.where(rows[:, 3:] > 1e-14 * peak, rows[:, 3:], np.nan)
        curves = [
            Curve(name, rows[:, 2], power)
            for name, power in zip(self._labels, shown.T, strict=True)
        ]
        fields, length = self._settings.fields, self._stream.length_unit
        units = {self._stream.quantity(field).unit for field in fields}
        square = to_power(units.pop(), 2) if len(units) == 1 and length else ""
        of = f"of {fields[0]} " if len(fields) == 1 else ""
        limits = (0.5 * float(np.nanmin(shown)), 3.0 * peak) if peak > 0.0 else None
        return Chart(
            ChartAxis(f"$k_{self._settings.along}$", to_power(length, -1), log=True),
            ChartAxis(
                f"power spectrum {of}per unit of $k$",
                f"{square} {length}" if square else "",
                log=limits is not None,
                limits=limits,
            ),
            tuple(curves),
        )


def _power(values: np.ndarray, along: int, last: int, weight: np.ndarray) -> np.ndarray:
    """Return |F|² of both signs of k, summed over lines with weights."""
    lines = np.moveaxis(values, (last, along), (1, 2))[0]
    count = lines.shape[1]
    square = np.abs(np.fft.rfft(lines, axis=1, norm="forward")) ** 2
    square[:, 1 : (count + 1) // 2] *= 2.0
    return np.asarray(weight @ square)
