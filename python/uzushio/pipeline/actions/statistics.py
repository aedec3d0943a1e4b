"""Action `statistics`: means, variances, extremes and covariances over time at each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from uzushio._base.config.section import Section
from uzushio._base.files import free_name
from uzushio._base.parallel.sync import collective
from uzushio._base.store.array import DistributedArray, State, StoredState
from uzushio._base.store.distribution import Distribution
from uzushio._base.store.names import stored_names
from uzushio._base.store.schema import StoreSchema, unit_attributes
from uzushio._base.store.series import default_chunk, is_extract, write_whole
from uzushio.domain import fields
from uzushio.domain.box import Box, Index, intersection
from uzushio.errors import OutputError, PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.actions.point_moments import PointMoments, move
from uzushio.pipeline.need import Need
from uzushio.pipeline.selection import GridSelection, OwnedPart, SelectionSettings
from uzushio.solvers.statistics.sample_weights import SampleWeights

if TYPE_CHECKING:
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream


_NOTHING = Box((0, 0, 0), (0, 0, 0))


class StatisticsSettings(SelectionSettings):
    """Fields, pairs and interval of writing."""

    fields: list[str] = Field(min_length=1, description="names of fields of one grid")
    covariances: list[tuple[str, str]] = Field([], description="pairs of the fields")
    write_every: Annotated[int, Field(gt=0)] | None = Field(
        None, description="samples between writes; only at the end if not given"
    )


class Statistics(Action[StatisticsSettings]):
    """Statistics over time in NAME.zarr; each rank accumulates the moments of its own points.

    A sample counts for the time since the sample before. A checkpoint of the run holds the sums.
    """

    settings_model: ClassVar[type[Section]] = StatisticsSettings
    _moments: list[PointMoments] | None = None
    _weights: SampleWeights
    _selection: GridSelection | None = None
    _weight: float = 0.0  # of all samples
    _samples: int = 0
    _written: int = 0  # samples in the store
    _moves: bool = False  # whether the moments are those of a checkpoint, on shares of the points
    _first: tuple[int, float] = (0, 0.0)  # step and time of the first sample
    _last: tuple[int, float] = (0, 0.0)

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
            self._moments, self._weights = None, SampleWeights()
            self._weight, self._samples, self._written = 0.0, 0, 0
        self._selection = selection
        own = [(name, name) for name in settings.fields]
        self._pairs = list(dict.fromkeys([*own, *settings.covariances]))
        units = {name: stream.quantity(name).unit for name in settings.fields}
        self._units = {"time": stream.time_unit, **dict.fromkeys("xyz", stream.length_unit)}
        self._variables = self._described(units)
        self._need = Need(tuple(settings.fields), region=selection.region)
        self._path = self.setup.folder / f"{self.name}.zarr"
        return [self._need]

    def _described(self, units: Mapping[str, str]) -> dict[str, fields.Field]:
        unit_of = {}
        for name in self.settings.fields:
            unit = units[name]
            square = f"({unit})^2" if unit else ""
            for kind, of in (("mean", unit), ("variance", square), ("min", unit), ("max", unit)):
                unit_of[f"{kind}_{name}"] = of
        for first, other in self._pairs:
            if first != other:
                factors = [f"({units[name]})" for name in (first, other) if units[name]]
                unit_of[f"covariance_{first}_{other}"] = " ".join(factors)
        try:
            self._names = stored_names(list(unit_of))
        except OutputError as error:
            raise PipelineError(str(error)) from error
        return {
            self._names[name]: fields.Field(self._names[name], attributes=unit_attributes(unit))
            for name, unit in unit_of.items()
        }

    def _new_moments(self, boxes: Sequence[Box]) -> list[PointMoments]:
        return [PointMoments(box, self.settings.fields, self._pairs) for box in boxes]

    def _names_of_sums(self) -> list[str]:
        return list(PointMoments(_NOTHING, self.settings.fields, self._pairs).arrays())

    def _points(self) -> dict[str, Any]:
        """Return fields and points in JSON values; with others, statistics begin anew."""
        selection = self._selection
        assert selection is not None
        return {
            "fields": self.settings.fields,
            "pairs": [list(pair) for pair in self._pairs],
            "grid": selection.grid.name,
            "points": [
                list(numbers) for numbers in (selection.start, selection.count, selection.stride)
            ],
        }

    def state(self) -> State | None:
        """Return the sums, weights and times."""
        if not self._samples:
            return None
        assert self._selection is not None and self._moments is not None
        count = self._selection.count
        held = [(moments.box.start, moments.arrays()) for moments in self._moments]
        double = np.dtype(np.float64)
        chunk = default_chunk(count, double.itemsize)
        arrays = {
            name: DistributedArray(
                count,
                double,
                [(start, arrays[name]) for start, arrays in held],
                ("z", "y", "x"),
                chunk,
            )
            for name in self._names_of_sums()
        }
        notes = self._points() | {
            "samples": self._samples,
            "first": list(self._first),
            "last": list(self._last),
            "weights": asdict(self._weights),
            "weight": self._weight,
        }
        return State(arrays, notes)

    def restore(self, stored: StoredState) -> None:
        """Continue from the sums, each rank on a share of the points until the next sample."""
        notes, comm = stored.attributes, self.setup.comm
        mine = self._points()
        if {name: notes.get(name) for name in mine} != mine:
            return
        assert self._selection is not None
        with collective(comm):
            self._moments = self._new_moments([_share(self._selection.count, comm.rank, comm.size)])
            for moments in self._moments:
                for name, values in moments.arrays().items():
                    values[...] = stored.read(name, moments.box.start, moments.box.count)
        self._samples, self._moves = notes["samples"], True
        self._first, self._last = tuple(notes["first"]), tuple(notes["last"])
        self._weight, self._weights = notes["weight"], SampleWeights(**notes["weights"])
        if comm.bcast(self._path.exists()):  # with samples that are taken again
            self._write()

    def truncate(self, step: int) -> None:
        """Keep statistics that are not continued under another name."""
        if not self._samples and self._path.exists():
            kept = free_name(self._path)
            self._path.rename(kept)
            self.setup.say(
                f"The statistics {self.name} begin anew, because the checkpoint has none of these "
                f"fields and points of the same flow; those before are {kept.name}."
            )

    def run(self, context: Context) -> None:
        """Add a sample, and write the store if it is due."""
        assert self._selection is not None
        with context.section("statistics"):
            with collective(context.comm):
                owned = self._selection.owned(context.parts(self._need))
            self._add(owned, context.index, context.time)
        every = self.settings.write_every
        if every is not None and self._samples % every == 0:
            self._write()

    def _add(self, owned: Sequence[OwnedPart], index: int, time: float) -> None:
        """Add a sample (collective)."""
        comm = self.setup.comm
        if self._moments is None or self._moves:
            before, self._moments = self._moments, self._new_moments([part.box for part in owned])
            if before is not None:
                move(comm, before, self._moments, self._names_of_sums())
            self._moves = False
        with collective(comm):
            places = self._places(owned)
            try:
                weight = self._weights.add(time)
            except ValueError as error:
                raise PipelineError(f"Statistics over time: {error} (step {index}).") from None
            self._weight += weight
            for moments, part, box in places:
                at = box.slices(part.box.start)
                values = {name: part.values(name)[at] for name in self.settings.fields}
                moments.add(box, values, weight, self._weight)
            self._last = (index, time)
            self._first = self._first if self._samples else self._last
            self._samples += 1

    def _places(self, owned: Sequence[OwnedPart]) -> list[tuple[PointMoments, OwnedPart, Box]]:
        """Return the boxes that moments and parts have in common.

        The cuts of a rank's blocks into parts depend on what other actions need at the step.
        """
        assert self._moments is not None
        places = [
            (moments, part, overlap)
            for moments in self._moments
            for part in owned
            if (overlap := intersection(moments.box, part.box)).size
        ]
        common = sum(box.size for *_, box in places)
        held, given = (sum(part.box.size for part in boxes) for boxes in (self._moments, owned))
        if not held == given == common:
            raise PipelineError(
                f"The blocks of the stream changed after {self._samples} samples, and statistics "
                "need the same blocks at each step."
            )
        return places

    def finish(self) -> None:
        """Write the store if it lacks the last samples."""
        if self._samples != self._written:
            self._write()

    def _write(self) -> None:
        """Replace the store (collective)."""
        assert self._selection is not None and self._moments is not None
        comm = self.setup.comm
        attributes = {
            "title": self.name,
            "source": "uzushio",
            "samples": self._samples,
            "first_time": self._first[1],
            "last_time": self._last[1],
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
        distribution = Distribution(comm, [moments.box for moments in self._moments])
        results = [moments.results(self._weight) for moments in self._moments]
        values = {
            stored: [result[name] for result in results] for name, stored in self._names.items()
        }
        with self.setup.sections.section("write zarr"):
            write_whole(comm, self._path, schema, distribution, values, self._last)
        self._written = self._samples

    def _check(self) -> None:
        """Raise `OutputError` if the path exists and is not a store of this action."""
        if self._path.exists() and not is_extract(self._path):
            raise OutputError(
                f"{self._path} exists and was not written by a pipeline; move it away, or give "
                "the action another name."
            )

    def summary(self) -> Mapping[str, Any]:
        """Return the file and the number of samples."""
        return {"files": [self._path.name], "samples": self._samples}


def _share(count: Index, rank: int, ranks: int) -> Box:
    """Return a rank's share of points: layers of the longest axis."""
    axis = int(np.argmax(count))
    start, stop = [0, 0, 0], [*count]
    start[axis], stop[axis] = (count[axis] * at // ranks for at in (rank, rank + 1))
    return Box.between(start, stop)


def _same_points(selection: GridSelection, other: GridSelection) -> bool:
    """Whether the selections are of the same points."""
    places = [(s.grid.name, s.start, s.count, s.stride, s.dropped) for s in (selection, other)]
    if places[0] != places[1] or (selection.lines is None) != (other.lines is None):
        return False
    return all(map(np.array_equal, selection.lines or (), other.lines or ()))
