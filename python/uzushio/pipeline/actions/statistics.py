"""Action `statistics`: means, variances, extremes and covariances over time at each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from uzushio._base.config.section import Section
from uzushio._base.files import free_name
from uzushio._base.parallel.sync import collective
from uzushio._base.store.distribution import Distribution
from uzushio._base.store.names import stored_names
from uzushio._base.store.schema import StoreSchema, Variable, unit_attributes
from uzushio._base.store.series import write_whole
from uzushio.domain.box import Box
from uzushio.errors import OutputError, PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.need import Need
from uzushio.pipeline.selection import GridSelection, SelectionSettings
from uzushio.solvers.statistics.sample_weights import SampleWeights

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream


class StatisticsSettings(SelectionSettings):
    """Fields, pairs and interval of writing."""

    fields: list[str] = Field(min_length=1, description="names of fields of one grid")
    covariances: list[tuple[str, str]] = Field([], description="pairs of the fields")
    write_every: Annotated[int, Field(gt=0)] | None = Field(
        None, description="samples between writes; only at the end if not given"
    )


class PointMoments:
    """Moments of the samples of fields on a box of points.

    Means and products are updated by differences from the mean (B. P. Welford, Technometrics 4
    (1962), 419; with weights D. H. D. West, Commun. ACM 22 (1979), 532), so values far from 0 lose
    no digits.
    """

    def __init__(self, box: Box, fields: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
        self.box, self.weight, self._pairs = box, 0.0, list(pairs)
        self.mean = {field: np.zeros(box.count) for field in fields}
        self.low = {field: np.full(box.count, np.inf) for field in fields}
        self.high = {field: np.full(box.count, -np.inf) for field in fields}
        self.products = {pair: np.zeros(box.count) for pair in pairs}

    def add(self, values: Mapping[str, np.ndarray], weight: float) -> None:
        """Add a sample; the weight of the first one is above 0."""
        self.weight += weight
        # Values that are not finite, or too large for a square, make moments that are not finite.
        with np.errstate(all="ignore"):
            before = {name: values[name] - mean for name, mean in self.mean.items()}
            for name, mean in self.mean.items():
                mean += before[name] * (weight / self.weight)
                np.minimum(self.low[name], values[name], out=self.low[name])
                np.maximum(self.high[name], values[name], out=self.high[name])
            for one, other in self._pairs:
                after = values[other] - self.mean[other]
                self.products[one, other] += weight * before[one] * after

    def results(self) -> dict[str, np.ndarray]:
        """Return the moments by name; variances and covariances are means over time."""
        found: dict[str, np.ndarray] = {}
        for name in self.mean:
            found[f"mean_{name}"] = self.mean[name]
            found[f"variance_{name}"] = self.products[name, name] / self.weight
            found[f"min_{name}"], found[f"max_{name}"] = self.low[name], self.high[name]
        for one, other in self._pairs:
            if one != other:
                found[f"covariance_{one}_{other}"] = self.products[one, other] / self.weight
        return found


class Statistics(Action[StatisticsSettings]):
    """Statistics over time in NAME.zarr; each rank accumulates the moments of its own points.

    A sample counts for the time since the sample before.
    """

    settings_model: ClassVar[type[Section]] = StatisticsSettings
    _moments: list[PointMoments] | None = None
    _times: list[tuple[int, float]]
    _weights: SampleWeights
    _selection: GridSelection | None = None

    def files(self) -> Sequence[str]:
        """Return the store."""
        return [f"{self.name}.zarr"]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Find the points; earlier samples are kept if the points are the same."""
        settings = self.settings
        for name in settings.fields:
            stream.scalar(name)
        for pair in settings.covariances:
            for name in pair:
                if name not in settings.fields:
                    raise PipelineError(
                        f"covariances: '{name}' is not among the fields "
                        f"({', '.join(settings.fields)})"
                    )
        selection = settings.on(stream.grid_of(settings.fields[0]))
        if self._selection is None or not _same_points(self._selection, selection):
            self._moments, self._times, self._weights = None, [], SampleWeights()
        self._selection = selection
        own = [(name, name) for name in settings.fields]
        self._pairs = list(dict.fromkeys([*own, *settings.covariances]))
        units = {name: stream.quantity(name).unit for name in settings.fields}
        self._units = {"time": stream.time_unit, **dict.fromkeys("xyz", stream.length_unit)}
        self._variables = self._described(units)
        self._need = Need(tuple(settings.fields), region=selection.region)
        self._path = self.setup.folder / f"{self.name}.zarr"
        return [self._need]

    def _described(self, units: Mapping[str, str]) -> dict[str, Variable]:
        double, found = np.dtype(np.float64), {}
        for name in self.settings.fields:
            unit = units[name]
            square = f"({unit})^2" if unit else ""
            for kind, of in (("mean", unit), ("variance", square), ("min", unit), ("max", unit)):
                found[f"{kind}_{name}"] = of
        for one, other in self._pairs:
            if one != other:
                both = [f"({units[name]})" for name in (one, other) if units[name]]
                found[f"covariance_{one}_{other}"] = " ".join(both)
        try:
            self._names = stored_names(list(found))
        except OutputError as error:
            raise PipelineError(str(error)) from error
        return {
            self._names[name]: Variable(self._names[name], double, 1, unit_attributes(unit))
            for name, unit in found.items()
        }

    def truncate(self, step: int) -> None:
        """Keep the statistics of the run before a restart under another name."""
        if self._path.exists():
            self._path.rename(free_name(self._path))

    def run(self, context: Context) -> None:
        """Add a sample, and write the store if it is due."""
        assert self._selection is not None
        with collective(context.comm), context.section("statistics"):
            found = self._selection.owned(context.parts(self._need))
            boxes = [one.box for one in found]
            if self._moments is None:
                self._moments = [
                    PointMoments(box, self.settings.fields, self._pairs) for box in boxes
                ]
            if [one.box for one in self._moments] != boxes:
                raise PipelineError(
                    f"The blocks of the stream changed after {len(self._times)} samples, and "
                    "statistics need the same blocks at each step."
                )
            try:
                weight = self._weights.add(context.time)
            except ValueError as error:
                raise PipelineError(
                    f"Statistics over time: {error} (step {context.index})."
                ) from None
            for moments, one in zip(self._moments, found, strict=True):
                moments.add({name: one.values(name) for name in self.settings.fields}, weight)
            self._times.append((context.index, context.time))
        every = self.settings.write_every
        if every is not None and len(self._times) % every == 0:
            self._write()

    def finish(self) -> None:
        """Write the store if it lacks the last samples."""
        every = self.settings.write_every
        if self._times and (every is None or len(self._times) % every):
            self._write()

    def _write(self) -> None:
        """Replace the store (collective)."""
        assert self._selection is not None and self._moments is not None
        comm = self.setup.comm
        attributes = {
            "title": self.name,
            "source": "uzushio",
            "samples": len(self._times),
            "first_time": self._times[0][1],
            "last_time": self._times[-1][1],
        }
        selection = self._selection
        schema = StoreSchema(
            selection.count,
            self._variables,
            selection.lines,
            selection.dropped,
            attributes,
            once=True,
            units=self._units,
        )
        with collective(comm):
            if comm.rank == 0:
                self._check()
        distribution = Distribution(comm, [one.box for one in self._moments])
        results = [one.results() for one in self._moments]
        values = {stored: [one[name] for one in results] for name, stored in self._names.items()}
        with self.setup.sections.section("write zarr"):
            write_whole(comm, self._path, schema, distribution, values, self._times[-1])

    def _check(self) -> None:
        """Raise `OutputError` if the path exists and is not a store of this action."""
        from uzushio._base.store.series import is_extract

        if self._path.exists() and not is_extract(self._path):
            raise OutputError(
                f"{self._path} exists and was not written by a pipeline; move it away, or give "
                "the action another name."
            )

    def summary(self) -> Mapping[str, Any]:
        """Return the file and the number of samples."""
        return {"files": [self._path.name], "samples": len(self._times)}


def _same_points(one: GridSelection, other: GridSelection) -> bool:
    """Whether the selections are of the same points."""
    places = [(s.grid.name, s.start, s.count, s.stride, s.dropped) for s in (one, other)]
    if places[0] != places[1] or (one.lines is None) != (other.lines is None):
        return False
    return all(map(np.array_equal, one.lines or (), other.lines or ()))
