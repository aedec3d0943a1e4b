"""Action `count`: number of non-finite values, and range of the others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from uzushio._base.config.section import Section
from uzushio._base.parallel.sync import collective
from uzushio._base.store.names import own_name
from uzushio.pipeline.action import Action
from uzushio.pipeline.context import Context
from uzushio.pipeline.need import Need
from uzushio.pipeline.result_files import ResultFile
from uzushio.pipeline.stream import Stream


class CountSettings(Section):
    """Fields to count, and the file."""

    fields: list[str] = Field(min_length=1, description="names of the fields")
    file: ResultFile | None = Field(
        None, description="a line of JSON for each step; the action's name with .jsonl if not given"
    )


class Count(Action[CountSettings]):
    """Numbers of points and of non-finite values, and the range, for each field."""

    settings_model: ClassVar[type[Section]] = CountSettings

    @property
    def _file(self) -> str:
        return self.settings.file or f"{self.name}.jsonl"

    def files(self) -> Sequence[str]:
        """Return the file of the lines."""
        return [self._file]

    def prepare(self, stream: Stream) -> Sequence[Need]:
        """Make one need for each field, as fields may be on different grids."""
        self._needs = [Need((stream.scalar(name).name,)) for name in self.settings.fields]
        self._steps = 0
        return self._needs

    def run(self, context: Context) -> None:
        """Add a line to the file."""
        ranges = []
        with collective(context.comm):
            for need in self._needs:
                values = [part.owned(need.fields[0]) for part in context.parts(need)]
                ranges.append([_range(part) for part in values])
        every = context.comm.gather(ranges)
        with collective(context.comm):
            if every is not None:
                line: dict[str, Any] = {"step": context.index, "time": context.time}
                for name, ranks in zip(self.settings.fields, zip(*every, strict=True), strict=True):
                    points, bad, low, high = np.array([row for rank in ranks for row in rank]).T
                    name = own_name(name)
                    line[name] = {"points": int(points.sum()), "nan": int(bad.sum())}
                    if bad.sum() < points.sum():
                        line[name] |= {"min": float(np.nanmin(low)), "max": float(np.nanmax(high))}
                with (context.folder / self._file).open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + os.linesep)
        self._steps += 1

    def summary(self) -> Mapping[str, Any]:
        """Return the file and the number of steps in it."""
        return {"files": [self._file], "steps": self._steps}


def _range(values: np.ndarray) -> tuple[int, int, float, float]:
    """Return number of values, number of non-finite ones, minimum and maximum of the others."""
    good = np.isfinite(values)
    kept = values[good]
    ends = (kept.min(), kept.max()) if kept.size else (np.nan, np.nan)
    return values.size, values.size - kept.size, float(ends[0]), float(ends[1])
