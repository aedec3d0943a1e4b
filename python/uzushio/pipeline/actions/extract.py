"""Action `extract`: planes, lines, boxes and strides of fields as Zarr or VTKHDF."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from uzushio._base.config.section import ONE_OR_MANY, Section
from uzushio._base.error_text import system_sentence
from uzushio._base.store.distribution import Distribution
from uzushio._base.store.names import stored_names
from uzushio._base.store.schema import StoreSchema, unit_attributes
from uzushio._base.store.series import ZarrSeries
from uzushio.domain.box import Triple
from uzushio.errors import OutputError, PipelineError
from uzushio.pipeline.action import Action
from uzushio.pipeline.need import Need
from uzushio.pipeline.result_files import suffixed
from uzushio.pipeline.selection import GridSelection, SelectionSettings

if TYPE_CHECKING:
    from uzushio.extracts.vtkhdf_series import VtkhdfSeries
    from uzushio.pipeline.context import Context
    from uzushio.pipeline.stream import Stream

_SUFFIXES = (".zarr", ".vtkhdf", ".hdf")


class ExtractSettings(SelectionSettings):
    """Fields, points and files of an extract."""

    fields: list[str] = Field(min_length=1, description="names of fields and sources")
    to: Annotated[list[str], ONE_OR_MANY] = Field(
        [], description="files: NAME.zarr, NAME.vtkhdf; the action's name with .zarr if not given"
    )
    precision: Literal["stored", "single"] = Field(
        "stored", description="single: numbers of four bytes"
    )
    chunks: tuple[int, int, int] | None = Field(
        None, description="points of a chunk of Zarr along z, y, x"
    )
    steps_per_chunk: Annotated[int, Field(gt=0)] | None = Field(
        None, description="steps in a chunk of Zarr; as many as make 128 KiB if not given"
    )
    compression: Literal["lz4", "zstd"] | None = Field(
        None,
        description="lossless compression of Zarr after a shuffle of bits; Zarr's if not given",
    )
    tolerance: Annotated[float, Field(ge=1e-300, le=1e300)] | None = Field(
        None, description="maximum absolute error of the values in Zarr; exact if not given"
    )
    compatible: bool = Field(
        False,
        description="VTKHDF for ParaView before 6.2: an unstructured grid if it reads no other",
    )

    @field_validator("to")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        for name in value:
            if value.count(name) > 1:
                raise ValueError(f"{name} is named twice; name each file once")
            if Path(name).name in _SUFFIXES:
                raise ValueError(f"{name} has no name before its ending")
            try:
                suffixed(_SUFFIXES)(name)
            except ValueError as error:
                raise ValueError(f"{name} {error}") from None
        return value

    @model_validator(mode="after")
    def _of_zarr(self) -> ExtractSettings:
        if self.compression is None and self.tolerance is None:
            return self
        for name in self.to:
            if not name.endswith(".zarr"):
                raise ValueError(f"compression and tolerance are for Zarr only, not for {name}")
        return self

    @field_validator("chunks")
    @classmethod
    def _positive(cls, value: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
        if value is not None and min(value) < 1:
            raise ValueError("must be three numbers from 1 on")
        return value


class Extract(Action[ExtractSettings]):
    """Values of the same fields at the same points, appended to stores at each step."""

    settings_model: ClassVar[type[Section]] = ExtractSettings
    _selection: GridSelection
    _need: Need
    _coordinates: str | None  # field with the coordinates of a curvilinear mesh
    _stores: Sequence[ZarrSeries | VtkhdfSeries] = ()

    def files(self) -> Sequence[str]:
        """Return the stores."""
        return self.settings.to or [f"{self.name}.zarr"]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Find the points, and check that they can be written."""
        settings = self.settings
        for name in settings.fields:
            stream.quantity(name)
        if len(set(settings.fields)) < len(settings.fields):
            raise PipelineError("a field is named twice; name each once")
        self._selection = settings.on(stream.grid_of(settings.fields[0]))
        names = list(settings.fields)
        grid = self._selection.grid
        self._coordinates = grid.corner_field if grid.coordinates is None else None
        self._need = Need(tuple(names), region=self._selection.region, corners=True)
        if self._coordinates not in (None, *names):
            names.append(str(self._coordinates))
        try:
            self._names = stored_names(names)
        except OutputError as error:
            raise PipelineError(str(error)) from error
        schema = self._frame(stream, names)
        self._files = [self.setup.folder / path for path in settings.to or [f"{self.name}.zarr"]]
        begun = {store.path for store in self._stores if store.begun}
        self._stores = [self._store(file, schema, file in begun) for file in self._files]
        self._steps = 0
        return [self._need]

    def _frame(self, stream: Stream, names: list[str]) -> StoreSchema:
        variables = {}
        for name in names:
            quantity = stream.quantity(name)
            dtype = quantity.dtype
            if self.settings.precision == "single" and dtype == np.float64:
                dtype = np.dtype(np.float32)
            stored = self._names[name]
            called = quantity.description or (name if stored != name else "")
            attributes = {"long_name": called} if called else {}
            attributes |= unit_attributes(quantity.unit)
            variables[stored] = replace(quantity, name=stored, dtype=dtype, attributes=attributes)
        selection = self._selection
        return StoreSchema(
            selection.count,
            variables,
            selection.lines,
            selection.dropped,
            self._title(),
            units={"time": stream.time_unit, **dict.fromkeys("xyz", stream.length_unit)},
        )

    def _title(self) -> Mapping[str, Any]:
        return {"title": self.name, "source": "uzushio"}

    def _store(self, file: Path, schema: StoreSchema, begun: bool) -> ZarrSeries | VtkhdfSeries:
        if file.suffix == ".zarr":
            chunks: Triple | None = self.settings.chunks
            of = self.settings
            coordinates = set(self._names) - set(of.fields)
            return ZarrSeries(
                file,
                schema,
                chunks,
                of.steps_per_chunk,
                begun,
                of.compression,
                of.tolerance,
                {self._names[name] for name in coordinates},
            )
        from uzushio.extracts.vtkhdf_layout import kind_of
        from uzushio.extracts.vtkhdf_series import VtkhdfSeries

        try:
            return VtkhdfSeries(file, schema, kind_of(schema, self.settings.compatible), begun)
        except OutputError as error:
            raise PipelineError(str(error).removesuffix(".")) from error

    def truncate(self, step: int) -> None:
        """Remove the later steps of all stores."""
        for store in self._stores:
            store.truncate(step)

    def run(self, context: Context) -> None:
        """Append the step to all stores; a failure of one store does not affect the others."""
        owned = self._selection.owned(context.parts(self._need))
        distribution = Distribution(context.comm, [part.box for part in owned])
        positions: list[np.ndarray] = []
        if self._coordinates is not None:
            positions = [part.positions() for part in owned]
        values = {
            plain: positions if name == self._coordinates else [part.values(name) for part in owned]
            for name, plain in self._names.items()
        }
        failures = []
        for store in self._stores:
            try:
                with context.section(f"write {store.path.suffix[1:]}"):
                    if isinstance(store, ZarrSeries):
                        store.append(context.index, context.time, distribution, values)
                    else:
                        store.append(context.index, context.time, distribution, values, positions)
            except OutputError as error:
                failures.append(str(error))
        if failures:
            raise OutputError(" ".join(failures))
        self._steps += 1

    def close(self) -> None:
        """Merge each VTKHDF series to one file."""
        for store in self._stores if self.setup.comm.rank == 0 else ():
            if isinstance(store, ZarrSeries):
                continue
            try:
                store.merge()
            except OSError as error:
                self.setup.say(
                    f"{store.path} stays in pieces: keep {store.parts.name} beside it "
                    f"({system_sentence(error).removesuffix('.')})."
                )

    def summary(self) -> Mapping[str, Any]:
        """Return the files, and numbers of steps, points and bytes."""
        return {
            "files": [os.path.relpath(file, self.setup.folder) for file in self._files],
            "steps": self._steps,
            "points": int(np.prod(self._selection.count)),
            "bytes": sum(store.bytes for store in self._stores),
            **self._compressed(),
        }

    def _compressed(self) -> Mapping[str, Any]:
        """Return ratio and errors of a compression that was asked for."""
        settings = self.settings
        if (settings.compression, settings.tolerance) == (None, None) or not self._steps:
            return {}
        stores = [store for store in self._stores if isinstance(store, ZarrSeries)]
        record: dict[str, Any] = {"compression_ratio": [store.ratio() for store in stores]}
        if settings.tolerance is not None:
            record["max_error"] = stores[0].max_errors
        return record
